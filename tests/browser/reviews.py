"""A small run of made-up reviews, in which one word has an effect."""

from pathlib import Path

from tests.attributions import attribution
from tests.hostile.payloads import PAYLOADS
from tests.runs import run_of

__all__ = ["N_TEXTS", "SPECIAL", "write_reviews"]

N_TEXTS = 40
# Of one review: what a link has to quote, a character that is shown otherwise, and markup.
SPECIAL = f"& # + % 100 \u202e {PAYLOADS[0]}"


def write_reviews(folder: Path) -> Path:
    """Write the run, of which every other review has the word "wonderful" and every tenth a wrong prediction."""
    texts = []
    for number in range(N_TEXTS):
        word = "wonderful" if number % 2 else "dull"
        text = f"A {word} film, number {number}. {SPECIAL if number == 3 else ''}"
        scores = {"wonderful": 1 + number / 100, "dull": -1.0, "film": 0.01 * (number % 3)}
        made = attribution(text, scores, label="pos" if number % 2 else "neg", other="neg" if number % 2 else "pos")
        texts.append((made, ("pos" if number % 2 or number % 10 == 0 else "neg",)))
    run_of(folder, texts, kept=["label"], part_size=16)
    return folder
