"""Draw how one text is explained: rows of masks, the model's answers, and the scores: `make pictures`.

Writes docs/images/one-text.svg.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import mase
from mase.arrays import Floats
from mase.methods import resolve
from mase.solve.regression import Regression
from mase.solve.strategy import Solution

TEXT = "A dull start, but the last hour is wonderful."
ROUNDS, SHOWN, SAMPLES = 4, 6, 64  # rounds of the default, rows of each that are drawn, and few of all 512 subsets
PLACE = Path(__file__).resolve().parents[1] / "docs" / "images" / "one-text.svg"
LEFT, TOP, WORD, ROW, ANSWERS, SCORES = 84, 64, 72, 14, 180, 170  # pixels
BLUE, ORANGE, GREY, INK = "#2b6cb0", "#b7500b", "#d9dde2", "#1a202c"


@dataclass(frozen=True)
class Kept(Regression):
    """A regression that keeps its solutions."""

    solutions: list[Solution] = field(default_factory=list)

    def run(self, *given: Any, **options: Any) -> Solution:
        """Return the solution, and keep it."""
        self.solutions.append(super().run(*given, **options))
        return self.solutions[-1]


def solved() -> tuple[mase.Attribution, Floats, Floats]:
    """Return an explanation with its rows `(n, p)`, of which 1 is kept, and the responses `(n,)`."""
    method = resolve("mase")
    assert isinstance(method.strategy, Regression)
    kept = Kept(method.strategy.design, method.strategy.estimator)
    found = mase.Explainer("lstm-imdb", method=replace(method, strategy=kept), n_samples=SAMPLES)(TEXT)
    problem = kept.solutions[0].problem
    assert problem is not None
    return found, (problem.z > 0).astype(float), problem.y


def text(x: float, y: float, said: str, *, anchor: str = "middle", size: int = 13, colour: str = INK) -> str:
    """Return a line of text."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{escape(said)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str = INK, width: float = 1) -> str:
    """Return a line."""
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def box(x: float, y: float, width: float, height: float, colour: str) -> str:
    """Return a filled box."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def rows(words: tuple[str, ...], kept: Floats, answers: Floats) -> Iterator[str]:
    """Yield some rows of each round: which words are kept, and the answers beside them."""
    each, right = len(kept) // ROUNDS, LEFT + WORD * len(words) + 24
    middle, scale = right + ANSWERS / 2, ANSWERS / 2 / abs(answers).max()
    yield from (text(LEFT + WORD * (j + 0.5), TOP - 12, word) for j, word in enumerate(words))
    yield text(middle, TOP - 30, "the model's answer:")
    yield text(middle - 6, TOP - 12, "neg", anchor="end", colour=ORANGE)
    yield text(middle + 6, TOP - 12, "pos", anchor="start", colour=BLUE)
    for number in range(ROUNDS):
        top = TOP + number * (SHOWN * ROW + 10)
        yield text(LEFT - 10, top + SHOWN * ROW / 2 + 4, f"round {number + 1}", anchor="end")
        for place in range(SHOWN):
            one, y = number * each + place * each // SHOWN, top + place * ROW
            for j, is_kept in enumerate(kept[one]):
                yield box(LEFT + WORD * j + 2, y + 1, WORD - 4, ROW - 2, "#718096" if is_kept else "#eef0f3")
            length = answers[one] * scale
            yield box(middle + min(length, 0), y + 2, abs(length), ROW - 4, BLUE if length > 0 else ORANGE)
        yield line(middle, top, middle, top + SHOWN * ROW)


def scores(found: mase.Attribution, top: float) -> Iterator[str]:
    """Yield the score of each word below its column, with its 95 % interval."""
    values, errors = found.scores, 1.96 * found.total_errors
    zero, scale = top + SCORES * 0.62, SCORES * 0.55 / (abs(values) + errors).max()
    yield line(LEFT, zero, LEFT + WORD * len(values), zero, GREY, 2)
    yield text(LEFT - 10, zero + 4, "score", anchor="end")
    for j, (value, error) in enumerate(zip(values, errors, strict=True)):
        x, y = LEFT + WORD * (j + 0.5), zero - value * scale
        colour = BLUE if value > 0 else ORANGE
        yield box(x - 14, min(y, zero), 28, abs(y - zero), colour)
        for end in (-1, 1):
            yield line(x - 5, y + end * error * scale, x + 5, y + end * error * scale)
        yield line(x, y - error * scale, x, y + error * scale)
        low, high = zero - max(value + error, 0) * scale, zero - min(value - error, 0) * scale
        yield text(x, low - 6 if value > 0 else high + 15, f"{value:+.1f}".replace("-", "−"), size=12)


def main() -> None:
    """Explain the text, and draw it."""
    found, kept, answers = solved()
    words = found.words
    bottom = TOP + ROUNDS * (SHOWN * ROW + 10)
    width, height = LEFT + WORD * len(words) + 24 + ANSWERS + 16, bottom + 40 + SCORES
    right = LEFT + WORD * len(words) + 24
    said = [
        "Kernel ridge regression",
        f"of all {len(kept)} rows",
        "gives the scores, with",
        "95 % intervals.",
    ]
    shapes = [
        box(0, 0, width, height, "#ffffff"),
        text(
            LEFT,
            22,
            f"Rows are copies of the text: dark words are kept, light ones masked ({SHOWN} of each round)",
            anchor="start",
        ),
        *rows(words, kept, answers),
        *scores(found, bottom + 8),
        *(text(right, bottom + 70 + 19 * number, one, anchor="start") for number, one in enumerate(said)),
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    PLACE.write_text(
        f'{head} font-family="sans-serif" role="img">\n<title>One text, explained</title>\n'
        + "\n".join(shapes)
        + "\n</svg>\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
