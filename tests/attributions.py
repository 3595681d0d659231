"""Attributions made by hand, for the tests of files and renderers."""

from dataclasses import fields

from mase.attribution import Attribution, Field, Fit, Note, Prediction, Response, Token, Unit, ranking
from mase.text import find_words

PLAIN = "The cast is superb, but the plot is dull."
SCORES = {"superb": 0.25, "dull": -0.125, "plot": -0.04, "cast": 0.03}


def attribution(
    text=PLAIN,
    scores=None,
    *,
    spans=None,
    se=0.01,
    label="pos",
    other="neg",
    model_name="lstm-imdb",
    notes=(),
    target=None,
    **changed,
):
    """Return an attribution whose units are the words of `find_words` or have other spans.

    Scores are given by text, 0 if there is none, or in order. `changed` are fields of the response or the attribution.
    """
    spans = find_words(text) if spans is None else spans
    if scores is None or isinstance(scores, dict):
        by_text = SCORES if scores is None else scores
        scores = [by_text.get(text[start:end], 0.0) for start, end in spans]
    units = tuple(Unit("text", start, end, text[start:end]) for start, end in spans)
    explained = {
        "name": label if target is None else target,
        "link": "probability",
        "value": 0.8,
        "scores": tuple(scores),
        "standard_errors": (se,) * len(scores),
        "order": tuple(ranking(scores).tolist()),
        "r2": 0.98,
    }
    explained |= {one.name: changed.pop(one.name) for one in fields(Response) if one.name in changed}
    settings = {
        "document": (Field("text", text),),
        "units": units,
        "responses": (Response(**explained),),
        "tokens": (
            Token("[CLS]", None, None, None, None),
            *(Token(unit.text, "text", unit.start, unit.end, index) for index, unit in enumerate(units)),
        ),
        "prediction": Prediction(label, 1, 0.8, {other: 0.2, label: 0.8}, multilabel=False),
        "fit": Fit(None, 1.25, 1001, 0, 0.2),
        "notes": tuple(Note(*note) for note in notes),
        "method": {
            "name": "mase",
            "sigma": 0.1,
            "space": {"name": "token-scale", "reference": "zero"},
            "n_samples": 1000,
        },
        "model": {"name": model_name, "sha256": "ab" * 32},
        "seed": 0,
        "versions": {"mase-xai": "0.1.0", "python": "3.11.2"},
        "truncation": None,
    }
    return Attribution(**(settings | changed))


def changed(place, value, made=None):
    """Return an attribution as plain JSON with another value at a place, a path of keys."""
    plain = inner = (attribution() if made is None else made).to_dict()
    *parents, key = place
    for parent in parents:
        inner = inner[parent]
    inner[key] = value
    return plain


def two_fields():
    """Return an attribution of two fields for two responses; the second orders words by another effect."""
    shared = {"link": "margin", "standard_errors": (0.1, None, 0.2), "r2": None}
    first = Response("pos", value=1.5, scores=(1.0, 0.0, -0.5), order=(0, 1, 2), **shared)
    effects = {"leave_one_out": (0.25, -1.0, 0.5)}
    second = Response("neg", value=-1.5, scores=(-1.0, 0.25, 0.5), order=(1, 2, 0), effects=effects, **shared)
    return attribution(
        document=(Field("premise", "Great film"), Field("hypothesis", "Dull"), Field("rule", "be brief", fixed=True)),
        units=(Unit("premise", 0, 5, "Great"), Unit("premise", 6, 10, "film"), Unit("hypothesis", 0, 4, "Dull")),
        responses=(first, second),
        tokens=(Token("great", "premise", 0, 5, 0), Token("be", "rule", 0, 2, None)),
    )
