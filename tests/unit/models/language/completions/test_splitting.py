"""The spans of tokens in an answer, for tokenizers that keep, drop or join spaces."""

import copy

import pytest
from tests.completion_server import engine
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

from mase.errors import EmptyTextError, ServiceError
from mase.models.language.completions.coder import VllmCoder
from mase.models.language.completions.dialect import Output
from mase.models.language.completions.echo import EchoText
from mase.models.language.completions.local import LocalCoder
from mase.models.language.completions.splitting import ByIds, ByText


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
    found = ByIds(VllmCoder(Coded(tokenizer), "m")).continuation(answer)
    assert [answer[start:end] for start, end in found.spans] == pieces
    assert found.ids == local(tokenizer).continuation(answer).ids


def local(tokenizer):
    return ByIds(LocalCoder.of(tokenizer, "m"))


def test_a_server_that_takes_text_puts_the_first_token_before_it():
    tokenizer = copy.deepcopy(engine(True).tokenizer)
    tokenizer.chat_template = "{{ bos_token }}" + tokenizer.chat_template
    by_text = ByText(EchoText("m"), None, LocalCoder.of(tokenizer, "m"))
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
