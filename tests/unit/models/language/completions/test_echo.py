"""Echoed prompts: where the answer begins in them, and what a server must not leave out."""

import pytest

from mase.errors import ServiceError
from mase.models.language.completions.dialect import Row
from mase.models.language.completions.echo import Echo, Echoed, EchoText
from mase.models.language.protocol import Continuation

PROMPT, TEXT = "It is in", " Paris."
ANSWER = Continuation(TEXT, (7, 8), ((0, 6), (6, 7)))
TOKENS = ["It", " is", " in", " Paris", ".", " So"]
SCORES = [None, -1.0, -2.0, -3.0, -4.0, -5.0]


def echoed(tokens=TOKENS, scores=SCORES, text=None, offsets=None):
    """Return the answer to one row, with the offsets that the lengths of the tokens add up to."""
    begins = [len("".join(tokens[:end])) for end in range(len(tokens))] if offsets is None else offsets
    held = {"tokens": tokens, "token_logprobs": scores, "text_offset": begins}
    return {"choices": [{"index": 0, "text": "".join(tokens) if text is None else text, "logprobs": held}]}


def test_ids_are_counted():
    row = Row((1, 2, 3), ANSWER)
    assert Echo("m").score_body([row])["prompt"] == [[1, 2, 3, 7, 8]]
    assert Echo("m").scores(echoed(), [row]) == [[-3.0, -4.0]]
    assert Echo("m").scores(echoed(TOKENS[:-1], SCORES[:-1]), [row]) == [[-3.0, -4.0]]


@pytest.mark.parametrize("length", [0, 4])
def test_ids_that_are_missing_are_refused(length):
    with pytest.raises(ServiceError, match="the 5 that were asked"):
        Echo("m").scores(echoed(TOKENS[:length], SCORES[:length]), [Row((1, 2, 3), ANSWER)])


def test_a_text_is_found_by_its_offsets():
    row = Row(PROMPT, ANSWER)
    body = EchoText("m").score_body([row])
    assert (body["prompt"], body["echo"], body["max_tokens"]) == ("It is in Paris.", True, 1)
    assert EchoText("m").scores(echoed(), [row]) == [[-3.0, -4.0]]
    assert EchoText("m").scores(echoed(TOKENS[:-1], SCORES[:-1]), [row]) == [[-3.0, -4.0]]
    assert EchoText("m").scores(echoed(TOKENS[:-1], SCORES[:-1], "".join(TOKENS)), [row]) == [[-3.0, -4.0]]
    assert EchoText("m", batch_size=2).score_body([row, row])["prompt"] == ["It is in Paris."] * 2


def test_a_first_token_that_is_no_part_of_the_text_moves_the_offsets():
    answer = echoed(["<s>", *TOKENS], [None, -0.5, *SCORES[1:]], text="".join(TOKENS))
    assert EchoText("m").scores(answer, [Row(PROMPT, ANSWER)]) == [[-3.0, -4.0]]


def test_a_character_of_several_tokens():
    tokens, offsets = ["It", " ca", "", "", "é", "."], [0, 2, 5, 5, 5, 6]
    found = Echoed("It caé.", tuple(tokens), tuple(offsets), tuple(SCORES))
    assert found.split("It", " caé.") == (range(1, 6), ((0, 3), (3, 4), (3, 4), (3, 4), (4, 5)))


def test_pieces_of_a_character_may_be_written_as_bytes():
    tokens = ["It", " ca", "bytes:\\xc3", "bytes:\\xa9", "."]
    found = Echoed("It caé.", tuple(tokens), (0, 2, 5, 5, 6), tuple(SCORES[:5]))
    assert found.split("It", " caé.") == (range(1, 5), ((0, 3), (3, 4), (3, 4), (4, 5)))


@pytest.mark.parametrize("piece", ["\ufffd", "bytes:\\xc3", ""])
def test_a_text_may_begin_with_pieces_of_a_character(piece):
    found = Echoed("é is it.", (piece, piece, " is", " it", "."), (0, 0, 1, 4, 7), tuple(SCORES[:5]))
    assert found.split("é is", " it.") == (range(3, 5), ((0, 3), (3, 4)))


def test_offsets_in_bytes_are_refused():
    prompt, tokens = "éé in Rome", ["éé", " in", " Ro", "me", " y", "es"]
    answer = Continuation(" y", (7,), ((0, 2),))
    assert EchoText("m").scores(echoed(tokens), [Row(prompt, answer)]) == [[-4.0]]
    in_bytes = [len("".join(tokens[:end]).encode()) for end in range(len(tokens))]
    assert in_bytes[3] == len(prompt)  # so that "me" seems to be the answer
    with pytest.raises(ServiceError, match="count characters, not bytes"):
        EchoText("m").scores(echoed(tokens, offsets=in_bytes), [Row(prompt, answer)])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (echoed(["It", " is", " in Paris", "."], SCORES[:4]), "reach over an end of the answer"),
        (echoed(["It", " is", " in", " Paris", "?", " So"]), "as the end of the text"),
        (echoed(["It", " is", " in", " Paris", ". So"], SCORES[:5]), "reach over an end of the answer"),
        (echoed(["It", " is", " in", " Par", "is", "."]), "as after other prompts"),
        (echoed(TOKENS[1:], SCORES[1:]), "as the end of the text"),  # truncated
        (echoed([], [], "".join(TOKENS)), "as the end of the text"),
        (echoed(scores=[None] * 6), "the log-probability None for the token ' Paris'"),
        (echoed(scores=SCORES[:5]), "as many of each"),
        (echoed(offsets=[None] * 6), "as many of each"),
        ({"choices": [{"index": 0, "text": "x", "logprobs": {"content": []}}]}, r"\['content'\].*ask a server"),
        ({"choices": [{"index": 0, "text": "x", "logprobs": None}]}, "None.*ask a server"),
        ({"choices": [{"index": 0, "text": "x"}]}, "None.*ask a server"),
    ],
)
def test_anything_else_is_refused(answer, said):
    with pytest.raises(ServiceError, match=said):
        EchoText("m").scores(answer, [Row(PROMPT, ANSWER)])
