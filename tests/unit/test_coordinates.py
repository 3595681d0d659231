"""Tests of `mase.coordinates`."""

from mase.coordinates import coordinates, members
from mase.text import Words

# A special token, a word of two tokens, one of one, white space, and a word of which no token is left.
WORDS = Words(((0, 8), (9, 12), (13, 14)), (-1, 0, 0, 1, -1))


def test_tokens_of_a_word_share_its_coordinate():
    found = coordinates(WORDS, per_token=False)
    assert found.tolist() == [-1, 0, 0, 1, -1]
    assert [one.tolist() for one in members(WORDS, found)] == [[0], [1], []]


def test_tokens_have_coordinates_of_their_own():
    found = coordinates(WORDS, per_token=True)
    assert found.tolist() == [-1, 0, 1, 2, -1]
    assert [one.tolist() for one in members(WORDS, found)] == [[0, 1], [2], []]
