"""TF-IDF of words and pairs of neighbours with logistic regression: a scikit-learn pipeline as people make it."""

from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from mase.arrays import Floats

__all__ = ["MASK_TOKEN", "arrays", "fit", "restored"]

# A word that the vectorizer reads and does not know: it replaces a masked word, and parts the words around it.
MASK_TOKEN = "maskedword"
_LENGTHS, _MIN_COUNT = (1, 2), 5


def fit(texts: Sequence[str], labels: Sequence[str]) -> Pipeline:
    """Return the pipeline, trained on n texts; all but the pairs of words and `min_df` are scikit-learn's defaults."""
    vectorizer = TfidfVectorizer(ngram_range=_LENGTHS, min_df=_MIN_COUNT)
    return make_pipeline(vectorizer, LogisticRegression(max_iter=1000)).fit(texts, labels)


def arrays(pipeline: Pipeline) -> tuple[list[str], dict[str, Floats]]:
    """Return the terms of a trained pipeline, and what else restores it."""
    vectorizer, head = (step for _, step in pipeline.steps)
    return vectorizer.get_feature_names_out().tolist(), {
        "idf": vectorizer.idf_,
        "coefficients": head.coef_,
        "intercepts": head.intercept_,
    }


def restored(terms: Sequence[str], result: Mapping[str, Floats], labels: Sequence[str]) -> Pipeline:
    """Return the pipeline of these terms, arrays and labels; the inverse of `arrays`."""
    vectorizer = TfidfVectorizer(ngram_range=_LENGTHS, vocabulary=list(terms))
    vectorizer.idf_ = result["idf"]
    head = LogisticRegression()
    head.coef_, head.intercept_, head.classes_ = result["coefficients"], result["intercepts"], np.array(labels)
    return make_pipeline(vectorizer, head)
