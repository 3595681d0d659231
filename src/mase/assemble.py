"""The parts of an attribution, put together from tokens, words and coefficients."""

from collections.abc import Sequence
from math import isnan

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Prediction, Token, Word
from mase.regression.problem import Estimate
from mase.text import Tokens, Words

__all__ = ["prediction", "token_scores", "word_scores", "word_sums"]


def word_sums(estimate: Estimate, of_token: Ints, words: Words) -> tuple[Floats, Floats]:
    """Return scores `(w,)` and standard errors `(w,)` of the words: sums over their coordinates; NaN where there are none."""
    inside = of_token >= 0
    pairs = np.unique(np.stack([np.array(words.of_token)[inside], of_token[inside]], axis=1), axis=0)
    cuts = np.flatnonzero(np.diff(pairs[:, 0])) + 1
    scores, variances = np.zeros(len(words)), np.zeros(len(words))
    for word, members in zip(pairs[np.concatenate([[0], cuts]), 0], np.split(pairs[:, 1], cuts), strict=True):
        scores[word] = estimate.gamma[members].sum()
        variances[word] = estimate.covariances(members, members).sum()
    return scores, np.sqrt(np.maximum(variances, 0.0))


def word_scores(words: Words, scored: tuple[Floats, Floats], text: str) -> tuple[Word, ...]:
    """Return the words with their scores `(w,)` and standard errors `(w,)`."""
    rows = zip(words.spans, scored[0].tolist(), scored[1].tolist(), strict=True)
    return tuple(
        Word(text[start:end], start, end, score, None if isnan(error) else error) for (start, end), score, error in rows
    )


def token_scores(tokens: Tokens, words: Words, gamma: Floats | None, of_token: Ints) -> tuple[Token, ...]:
    """Return the tokens; `gamma` `(p,)` are their scores, None where words were moved as one."""
    found = []
    for piece, span, word, coordinate in zip(
        tokens.pieces, tokens.spans, words.of_token, of_token.tolist(), strict=True
    ):
        score = 0.0 if coordinate < 0 else None if gamma is None else float(gamma[coordinate])
        start, end = (None, None) if span is None else span
        found.append(Token(piece, start, end, word if word >= 0 else None, score))
    return tuple(found)


def prediction(labels: Sequence[str], chance: Floats) -> Prediction:
    """Return the most probable class and all probabilities `(k,)` by label."""
    index = int(np.argmax(chance))
    return Prediction(labels[index], index, float(chance[index]), dict(zip(labels, chance.tolist(), strict=True)))
