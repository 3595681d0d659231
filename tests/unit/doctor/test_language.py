"""Tests of `mase.doctor.language`: what a language model is taken for."""

import json

import pytest
from tests.completion_server import engine, llama_cpp_python
from tests.language_models import ANSWER, Parrot
from tests.servers import served
from tests.unit.models.language.folders import causal_folder, seq2seq_folder, tokenizer

import mase
from mase.errors import ModelError
from mase.models import CausalLM, CompletionServer
from mase.models.language.loading import load_language_model


def test_a_causal_language_model_says_how_it_is_asked(tmp_path):
    found = mase.check(load_language_model(causal_folder(tmp_path)))
    assert (found.kind, found.context_length) == ("causal language model LlamaForCausalLM", 128)
    assert (found.stops, found.device, found.precision, found.guesses) == (("</s>",), "cpu", "float32", ())
    assert "chat template" in found.messages
    assert found.is_deterministic
    assert (found.method, found.units, found.link) == ("mase-cite", "sentence", "logit")
    assert [speed.n_units for speed in found.speeds] == [3, 11]
    assert all(speed.seconds > 0 for speed in found.speeds)
    shown = repr(found)
    assert "128 tokens at most" in shown
    assert "the same when asked twice" in shown
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["speeds"][0]["of_an_explanation"] == found.speeds[0].of_an_explanation


def test_a_model_without_chat_template_says_what_to_pass(tmp_path):
    model = load_language_model(causal_folder(tmp_path))
    found = mase.check(CausalLM(model.module, tokenizer()))
    assert found.messages == "as plain text"
    assert "{query}" in found.guesses[0].remedy
    assert "guessed" in repr(found)


def test_label_words_say_how_much_the_language_model_reads(tmp_path):
    model = load_language_model(causal_folder(tmp_path))
    found = mase.check(CausalLM(model.module, tokenizer(), labels=["cat", "dog"]))
    assert (found.labels, found.cut_off, found.context_length) == (("cat", "dog"), None, 128)
    assert "128 tokens at most" in repr(found)
    assert "none up to" not in repr(found)


def test_an_encoder_decoder_model_has_no_chats_to_miss(tmp_path):
    found = mase.check(seq2seq_folder(tmp_path))
    assert (found.kind, found.guesses) == ("encoder-decoder language model T5ForConditionalGeneration", ())


def test_any_language_model_can_be_checked_about_a_document_of_ones_own():
    text = {"context": "The cat sat.", "query": "Who sat?"}
    found = mase.check(Parrot(), text=text, fixed=["query"])
    assert (found.kind, found.question, found.answer, found.context_length) == ("Parrot", "Who sat?", ANSWER, None)
    assert len(found.speeds) == 1


class Silent(Parrot):
    """Never answers, and is of two minds about what others say."""

    calls = 0

    def generate(self, prompt, max_new_tokens):
        raise ModelError("it ends its answer with the first token")

    def log_probabilities(self, prompts, answers):
        self.calls += 1
        return [table - self.calls % 2 for table in super().log_probabilities(prompts, answers)]


def test_a_model_that_answers_nothing_and_is_not_deterministic_says_so():
    found = mase.check(Silent())
    assert found.answer is None
    assert found.again == pytest.approx(1)
    assert "asked twice" in repr(found)


def test_a_server_that_takes_texts_alone_is_asked_with_a_text():
    with served(llama_cpp_python(engine(True))) as (url, _):
        found = mase.check(CompletionServer(url))
    assert found.messages == "as plain text"
    assert found.answer
