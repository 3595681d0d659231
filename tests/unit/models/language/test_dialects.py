"""Echoed prompts: where the answer begins in them, and what a server must not leave out."""

import copy

import pytest
from tests.completion_server import engine
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

from mase.errors import EmptyTextError, ServiceError
from mase.models.language.base import Continuation
from mase.models.language.dialects import ByIds, ByText, Echo, Echoed, EchoText, LlamaCpp, Vllm
from mase.models.language.server_tokens import LocalTokenClient, Output, Row, VllmTokenClient

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


ROW = Row((1, 2, 3), Continuation(" Paris.", (7, 8), ((0, 6), (6, 7))))


DIALECT = LlamaCpp("m")


def good(**changes):
    entries = [{"id": 7, "token": " Paris", "logprob": -1.5}, {"id": 8, "token": ".", "logprob": -0.25}]
    return {
        "content": " Paris.",
        "tokens_evaluated": 3,
        "truncated": False,
        "completion_probabilities": entries,
    } | changes


def test_the_answer_is_forced_and_its_scores_are_read():
    body = DIALECT.score_body([ROW])
    assert (body["prompt"], body["n_predict"], body["grammar"]) == ([1, 2, 3], 2, "root ::= <[7]> <[8]>")
    assert not body["cache_prompt"]
    assert DIALECT.scores(good(), [ROW]) == [[-1.5, -0.25]]


@pytest.mark.parametrize(
    "changes",
    [
        {"completion_probabilities": None},
        {"completion_probabilities": good()["completion_probabilities"][:1]},
        {"completion_probabilities": good()["completion_probabilities"][::-1]},
        {"completion_probabilities": [{"content": " Paris", "probs": [{"tok_str": " Paris", "prob": 0.2}]}] * 2},
        {"completion_probabilities": [{"id": 7, "token": " Paris", "prob": 0.2}, {"id": 8, "token": ".", "prob": 0.7}]},
        {"completion_probabilities": [{"id": 7, "token": " Paris", "logprob": -3.4e38}] * 2},
        {"truncated": True},
        {"tokens_evaluated": 2},
    ],
)
def test_llama_cpp_anything_else_is_refused(changes):
    with pytest.raises(ServiceError, match=r"the server answered .*, expected "):
        DIALECT.scores(good(**changes), [ROW])


@pytest.mark.parametrize("answer", [None, [], "text", {"error": {"code": 400}}])
def test_no_answer_is_refused(answer):
    with pytest.raises(ServiceError):
        DIALECT.scores(answer, [ROW])


def sentence_piece(*, prepends=True):
    """Return a tokenizer whose words begin with a mark, and which reads a text without its first space.

    Llama 2 puts a mark before every text, others only where it has a space.
    """
    vocabulary = {"<unk>": 0, "▁Paris": 1, "▁is": 2, "▁": 3, ".": 4, "<0xF0>": 5, "<0x9F>": 6, "<0x97>": 7, "<0xBC>": 8}
    raw = Tokenizer(models.Unigram([(piece, -1.0) for piece in vocabulary], unk_id=0, byte_fallback=True))
    marks = [normalizers.Prepend("▁")] if prepends else []
    raw.normalizer = normalizers.Sequence([*marks, normalizers.Replace(" ", "▁")])
    raw.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0),
    ])  # fmt: skip
    return PreTrainedTokenizerFast(tokenizer_object=raw)


class Coded:
    """Turns text into ids as a server does, by a tokenizer of its own."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def post(self, path, bodies):
        if path == "/tokenize":
            return [
                {"tokens": self.tokenizer(body["prompt"], add_special_tokens=False)["input_ids"]} for body in bodies
            ]
        return [{"prompt": self.tokenizer.decode(body["tokens"])} for body in bodies]


@pytest.mark.parametrize(
    ("tokenizer", "answer", "pieces"),
    [
        (engine().tokenizer, " Paris is", [" Paris", " is"]),
        (engine().tokenizer, "🗼 is", ["🗼", "🗼", "🗼", "🗼", " is"]),
        (sentence_piece(), "Paris is.", ["Paris", " is", "."]),
        (sentence_piece(), " Paris is.", [" Paris", " Paris", " is", "."]),
        (sentence_piece(prepends=False), " Paris is.", [" Paris", " is", "."]),
        (sentence_piece(), "Paris 🗼.", ["Paris", " ", "🗼", "🗼", "🗼", "🗼", "."]),
    ],
)
def test_spans_cover_the_answer(tokenizer, answer, pieces):
    found = ByIds(VllmTokenClient(Coded(tokenizer), "m")).continuation(answer)
    assert [answer[start:end] for start, end in found.spans] == pieces
    assert found.ids == local(tokenizer).continuation(answer).ids


def local(tokenizer):
    return ByIds(LocalTokenClient.of(tokenizer, "m"))


def test_a_server_that_takes_text_puts_the_first_token_before_it():
    tokenizer = copy.deepcopy(engine(True).tokenizer)
    tokenizer.chat_template = "{{ bos_token }}" + tokenizer.chat_template
    by_text = ByText(EchoText("m"), None, LocalTokenClient.of(tokenizer, "m"))
    messages = [{"role": "user", "content": "Who?"}]
    assert by_text.prompts([messages, "<s>Who?"]) == [engine().chat(messages), "<s>Who?"]


def test_an_answer_without_tokens():
    with pytest.raises(EmptyTextError):
        local(engine().tokenizer).continuation("")


def test_generated_ids_are_taken_as_they_are():
    of, by_ids = engine(), local(engine().tokenizer)
    apart = tuple(of.ids(" Par", special=False) + of.ids("is", special=False) + [of.tokenizer.eos_token_id])
    found = by_ids.generated(Output(" Paris", ("",) * len(apart), apart, (-1.0,) * len(apart)))
    assert (found.text, found.ids) == (" Paris", apart[:-1])
    assert found.ids != by_ids.continuation(" Paris").ids


def test_ids_that_stand_for_another_text_are_refused():
    ids = tuple(engine().ids(" Paris", special=False))
    with pytest.raises(ServiceError, match="pass the tokenizer of the served model"):
        local(engine().tokenizer).generated(Output(" London", (" London",), ids, (-1.0,)))


VLLM_ANSWER = Continuation(" Paris.", (7, 8), ((0, 6), (6, 7)))


ROWS = [Row((1, 2, 3), VLLM_ANSWER), Row((4,), VLLM_ANSWER)]


VLLM_DIALECT = Vllm("m")


def entry(token, score):
    """One token of a prompt: beside its own score stands that of the most probable one."""
    return {"99": {"logprob": -0.1, "rank": 1}, str(token): {"logprob": score, "rank": 5, "decoded_token": "x"}}


def vllm_good():
    """Return an answer to both rows, in the order in which a server may finish them."""
    first = [None, entry(2, -9.0), entry(3, -8.0), entry(7, -1.5), entry(8, 0.0)]
    second = [None, entry(7, -2.5), entry(8, -0.25)]
    return {"choices": [{"index": 1, "prompt_logprobs": second}, {"index": 0, "prompt_logprobs": first}]}


def test_scores_are_those_of_the_tokens_of_the_answer_by_the_index_of_the_prompt():
    assert VLLM_DIALECT.scores(vllm_good(), ROWS) == [[-1.5, 0.0], [-2.5, -0.25]]
    body = VLLM_DIALECT.score_body(ROWS)
    assert body["prompt"] == [[1, 2, 3, 7, 8], [4, 7, 8]]
    assert (body["prompt_logprobs"], body["max_tokens"], body["temperature"]) == (1, 1, 0)


def second(answer):
    return answer["choices"][0]


def replaced(entry):
    return lambda answer: second(answer)["prompt_logprobs"].__setitem__(1, entry)


FAULTS = {
    "no choices": lambda answer: answer.pop("choices"),
    "a row is lost": lambda answer: answer["choices"].pop(),
    "a row comes twice": lambda answer: second(answer).update(index=0),
    "a row too many": lambda answer: answer["choices"].append({"prompt_logprobs": []}),
    "no index": lambda answer: second(answer).pop("index"),
    "an index that is no number": lambda answer: second(answer).update(index="1"),
    "no scores": lambda answer: second(answer).update(prompt_logprobs=None),
    "too few tokens": lambda answer: second(answer)["prompt_logprobs"].pop(),
    "a truncated prompt": lambda answer: second(answer)["prompt_logprobs"].pop(0),
    "too many tokens": lambda answer: second(answer)["prompt_logprobs"].append(entry(5, -1.0)),
    "another token": replaced(entry(6, -1.0)),
    "no score of a token": replaced(None),
    "null": replaced(entry(7, None)),
    "NaN": replaced(entry(7, float("nan"))),
    "minus infinity": replaced(entry(7, float("-inf"))),
    "minus infinity as vLLM writes it": replaced(entry(7, -9999.0)),
    "a probability": replaced(entry(7, 0.3)),
    "true": replaced(entry(7, True)),
    "text": replaced(entry(7, "-1.0")),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_vllm_anything_else_is_refused(fault):
    answer = vllm_good()
    FAULTS[fault](answer)
    with pytest.raises(ServiceError, match=r"the server answered .*, expected "):
        VLLM_DIALECT.scores(answer, ROWS)


def test_an_empty_prompt_has_no_score_of_the_first_token():
    answer = {"choices": [{"index": 0, "prompt_logprobs": [None, entry(8, -1.0)]}]}
    with pytest.raises(ServiceError, match="expected a prompt that is not empty"):
        VLLM_DIALECT.scores(answer, [Row((), VLLM_ANSWER)])


def test_what_is_generated_has_as_many_ids_as_scores():
    logprobs = {"tokens": [" Paris", "."], "token_logprobs": [-0.5, -0.25], "text_offset": [0, 6]}
    answer = {"choices": [{"index": 0, "text": " Paris.", "token_ids": [7, 8], "logprobs": logprobs}]}
    output = VLLM_DIALECT.generated(answer)
    assert (output.text, output.ids, output.log_probabilities) == (" Paris.", (7, 8), (-0.5, -0.25))
    older = copy.deepcopy(answer)
    del older["choices"][0]["token_ids"]
    assert VLLM_DIALECT.generated(older).ids is None
    answer["choices"][0]["token_ids"] = [7]
    with pytest.raises(ServiceError, match="as many of each"):
        VLLM_DIALECT.generated(answer)
    answer["choices"][0]["logprobs"] = None
    with pytest.raises(ServiceError, match="the list 'tokens'"):
        VLLM_DIALECT.generated(answer)
