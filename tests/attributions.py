"""Attributions made by hand, for the tests of files and renderers."""

from mase.attribution import Attribution, Fit, Note, Prediction, Token, Word
from mase.text import find_words

PLAIN = "The cast is superb, but the plot is dull."
SCORES = {"superb": 0.25, "dull": -0.125, "plot": -0.04, "cast": 0.03}


def attribution(
    text=PLAIN,
    scores=None,
    *,
    se=0.01,
    label="pos",
    other="neg",
    name="lstm-imdb",
    truncation=None,
    notes=(),
    **changed,
):
    """Return an attribution whose words are those of `find_words`, with scores by text or in order, 0 if there is none."""
    spans = find_words(text)
    if scores is None or isinstance(scores, dict):
        by_text = SCORES if scores is None else scores
        scores = [by_text.get(text[start:end], 0.0) for start, end in spans]
    words = tuple(Word(text[a:b], a, b, score, se) for (a, b), score in zip(spans, scores, strict=True))
    settings = {
        "text": text,
        "prediction": Prediction(label, 1, 0.8, {other: 0.2, label: 0.8}),
        "target": label,
        "target_probability": 0.8,
        "link": "probability",
        "response": 0.8,
        "word_scores": words,
        "tokens": (
            Token("[CLS]", None, None, None, 0.0),
            *(Token(w.text, w.start, w.end, i, None) for i, w in enumerate(words)),
        ),
        "fit": Fit(0.98, None, 1.25, 1001, 0, 0.2, tuple(Note(*note) for note in notes)),
        "method": {
            "name": "mase",
            "sigma": 0.1,
            "space": {"name": "token-scale", "reference": "zero"},
            "n_samples": 1000,
        },
        "model": {"name": name, "sha256": "ab" * 32},
        "seed": 0,
        "versions": {"mase-xai": "0.1.0", "python": "3.11.2"},
        "truncation": truncation,
    }
    return Attribution(**(settings | changed))
