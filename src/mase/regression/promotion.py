"""The first place: of the highest words, the one whose absence alone does most."""

from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Ints
from mase.attribution import Note
from mase.regression.oracle import Oracle
from mase.regression.problem import Estimate
from mase.text import Tokens, Words

__all__ = ["Lead", "led"]

# How far a raised score stands above the one that was the highest; by how much of the spread of all answers an effect
# must exceed that word's, since less is rounding; and what share of that word's score it must have: where no word alone
# does anything to speak of, none leads.
_STEP, _CLEARLY, _LEAST = 1e-6, 1e-3, 0.1
# Characters of a word in a message.
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Lead:
    """A coordinate of the probe whose score was raised: what its absence alone does, and the `score` that it had."""

    coordinate: int
    alone: float
    score: float

    def note(self, tokens: Tokens, words: Words, of_token: Ints) -> Note:
        """Return the note about its word; a token that was moved by itself is named before its word."""
        moved = np.flatnonzero(of_token == self.coordinate).tolist()
        word = words.of_token[moved[0]]
        start, end = words.spans[word]
        name = tokens.text[start:end]
        name = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        part = "" if len(moved) == words.of_token.count(word) else f'token "{tokens.pieces[moved[0]]}" of '
        message = (
            f'{part}"{name}" leads because it does most alone ({self.alone:+.3g}); among absent companions '
            f"its score is {self.score:+.3g}, and its standard error is that of this score"
        )
        return Note("led", message, word)


def led(oracle: Oracle, estimate: Estimate, n: int, spread: float) -> tuple[Estimate, Lead | None]:
    """Return the estimate with the leader's score raised just above the highest, and the lead if that changed the order.

    The leader is the one of the n highest coordinates, of those with a score above 0, whose absence alone lowers the
    response most, and by a tenth of the highest score at least. `spread` is the standard deviation of the responses so
    far; where they are all the same there is nothing to lead.
    """
    if n < 2 or spread == 0:
        return estimate, None
    gamma = estimate.gamma.copy()
    highest = np.argsort(-gamma, kind="stable")[:n]
    rows = np.ones((n, oracle.size))
    rows[np.arange(n), highest] = 0
    effects = np.where(gamma[highest] > 0, oracle.text - oracle.responses(rows), 0.0)
    leader = highest[np.argmax(effects)]
    effect, top = effects.max(), gamma[highest[0]]
    if effect - max(effects[0], 0.0) <= _CLEARLY * spread or effect < _LEAST * top:
        return estimate, None
    lead = Lead(int(oracle.active[leader]), float(effect), float(gamma[leader]))
    gamma[leader] = top * (1 + _STEP)
    return replace(estimate, gamma=gamma), lead
