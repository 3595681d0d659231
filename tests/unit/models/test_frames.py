"""Tests of `mase.models.frames`: estimators that were fitted on data frames."""

import pickle

import numpy as np
import pytest

import mase
from mase.errors import InvalidTextError
from mase.models import Callable, adapt
from mase.models.frames import OfFrames, columns_of

ROWS = [
    {"review": "a good film", "age": 20, "country": "FR"},
    {"review": "a dull film", "age": 60, "country": "DE"},
    {"review": "good good", "age": 35, "country": "DE"},
    {"review": "dull , dull", "age": 41, "country": "FR"},
]
BACKGROUND = {"age": 40, "country": "FR"}


@pytest.fixture(scope="module")
def pipeline():
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    columns = make_column_transformer(
        (CountVectorizer(), "review"), (OneHotEncoder(), ["country"]), ("passthrough", ["age"])
    )
    return make_pipeline(columns, LogisticRegression(C=10, max_iter=5000)).fit(
        pd.DataFrame(ROWS), ["pos", "neg", "pos", "neg"]
    )


def test_a_pipeline_on_columns_gets_a_data_frame_and_its_coefficients_come_back(pipeline):
    record = {"id": "left out", "country": "DE", "review": "a good , dull film", "age": 50}
    assert columns_of(pipeline) == ("review", "age", "country")
    model = adapt(pipeline)
    assert (model.labels, model.package) == (("neg", "pos"), "sklearn")
    import pandas as pd

    assert model.predict(ROWS).tolist() == pipeline.predict_proba(pd.DataFrame(ROWS)).tolist()
    found = mase.Explainer(pipeline, background=BACKGROUND, fixed=["id"], n_samples=64)(record, target="pos")
    weights = dict(zip(pipeline[0].get_feature_names_out(), pipeline[1].coef_[0], strict=True))
    expected = {
        "DE": weights["onehotencoder__country_DE"] - weights["onehotencoder__country_FR"],
        "50": 10 * weights["passthrough__age"],
        **{word: weights[f"countvectorizer__{word}"] for word in ("good", "dull", "film")},
        "a": 0.0,  # the vectorizer leaves out words of one letter
        ",": 0.0,
    }
    assert dict(found.as_list()) == pytest.approx(expected, abs=1e-3)


def test_numbers_stay_numbers_and_masked_ones_are_their_background():
    seen = []

    def function(frame):
        assert frame["age"].dtype.kind in "iuf"
        seen.append(frame)
        return np.full((len(frame), 2), 0.5)

    mase.Explainer(OfFrames(function, ("age", "country")), background=BACKGROUND, n_samples=16)(ROWS[1])
    assert {(age, country) for frame in seen for age, country in frame.itertuples(index=False)} == {
        (age, country) for age in (60, 40) for country in ("DE", "FR")
    }


@pytest.mark.parametrize(("text", "lacking"), [("a good film", "review, age"), ({"review": "good", "age": 1}, "count")])
def test_a_text_without_the_columns_is_refused(pipeline, text, lacking):
    with pytest.raises(InvalidTextError, match=f"add {lacking}"):
        mase.Explainer(pipeline, background={"age": 40} if isinstance(text, dict) else None)(text)


def test_estimators_on_texts_are_left_as_they_are_and_both_can_be_pickled(pipeline):
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    records = make_pipeline(DictVectorizer(), LogisticRegression()).fit(ROWS, ["pos", "neg", "pos", "neg"])
    assert columns_of(records) is None
    assert mase.Explainer(records, background=BACKGROUND)(ROWS[0], target="pos").words == (
        "a",
        "good",
        "film",
        "20",
        "FR",
    )
    again = pickle.loads(pickle.dumps(adapt(pipeline)))
    assert again.predict(ROWS).tolist() == adapt(pipeline).predict(ROWS).tolist()


def test_a_frame_of_one_column_called_text_reads_mappings_and_texts():
    found = OfFrames(lambda frame: frame["text"].str.len().tolist(), ("text",))
    assert found([{"text": "good"}, "good film"]) == [4, 9]
    explainer = mase.Explainer(Callable(found, outputs="values"))
    assert explainer({"text": "good film"}).as_list() == explainer("good film").as_list()
