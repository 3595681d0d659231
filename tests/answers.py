"""Attributions of answers made by hand, for the tests of citations and their screens."""

import numpy as np

from mase.attribution import Answer, Field, Part, Prediction, Response, Unit, ranking
from mase.text import Span
from tests.attributions import attribution

ANSWER = "The capital of France is Paris. It lies on the Seine. It is lovely."
PARTS = ((0, 31), (32, 53), (54, 67))
SOURCES = {
    "source 1": "Paris is the capital of France. It has two million inhabitants.",
    "source 2": "The Seine flows through Paris. Berlin lies on the Spree.",
}
# Per response the scores of the four sentences.
SCORES = ((6.0, 0.2, 3.0, -1.0), (7.5, 0.1, 0.4, 0.0), (2.5, 0.3, 4.5, -1.5), (0.1, 0.2, -0.2, 0.1))


def sentences(text: str) -> list[Span]:
    """Return the spans of sentences that end with a full stop."""
    ends = [at + 1 for at, letter in enumerate(text) if letter == "."]
    return list(zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True))


def cited(
    text=ANSWER, parts=PARTS, scores=SCORES, *, sources=None, se=0.2, query="Where is Paris?", generated=True, **changed
):
    """Return the attribution of an answer to the sentences of some sources, with one response and one per part."""
    sources = SOURCES if sources is None else sources
    units = tuple(
        Unit(name, start, end, content[start:end])
        for name, content in sources.items()
        for start, end in sentences(content)
    )
    names = ["answer", *(text[start:end] for start, end in parts)][: 1 if len(parts) == 1 else None]
    responses = tuple(
        Response(
            name,
            "logit",
            2.0 - number,
            tuple(row),
            (se,) * len(units),
            tuple(ranking(row).tolist()),
            0.97 - number / 100,
        )
        for number, (name, row) in enumerate(zip(names, scores, strict=True))
    )
    given = tuple(
        Part(start, end, name)
        for (start, end), name in zip(parts, names if len(parts) == 1 else names[1:], strict=True)
    )
    settings = {
        "document": (*(Field(name, content) for name, content in sources.items()), Field("query", query, fixed=True)),
        "units": units,
        "responses": responses,
        "tokens": (),
        "prediction": Prediction.of_values(names, -np.arange(1.0, len(names) + 1)),
        "method": {"name": "mase-cite", "units": "sentence", "space": {"name": "token-mask"}, "design": {"name": "a"}},
        "model": {"name": "smol"},
        "answer": Answer(text, given, generated=generated),
    }
    return attribution("x", [0.0], **(settings | changed))
