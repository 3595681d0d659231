"""Which token stands where when words exchange their places."""

import numpy as np

from mase.arrays import Ints

__all__ = ["token_sources"]


def token_sources(coordinate_of_token: Ints, sources: Ints) -> Ints:
    """Return `(b, t)`: the token whose content each token gets, where words i get those of words `sources[:, i]`, `(b, p)`.

    The k-th token of a word gets the k-th of the other's, counted round; fixed tokens (coordinate -1) keep theirs.
    """
    tokens = np.arange(len(coordinate_of_token))
    members = [tokens[coordinate_of_token == word] for word in range(sources.shape[1])]
    found = np.tile(tokens, (len(sources), 1))
    for row, word in np.argwhere(sources != np.arange(sources.shape[1])):
        other, own = members[sources[row, word]], members[word]
        found[row, own] = other[np.arange(len(own)) % len(other)]
    return found
