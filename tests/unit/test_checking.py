"""Tests of `mase.check`: what a model is taken for."""

import itertools
import json

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.completion_server import engine, llama_cpp_python
from tests.language_models import ANSWER, Parrot
from tests.servers import served
from tests.unit.models.language.folders import causal_folder, seq2seq_folder, tokenizer

import mase
from mase.errors import ModelError, ShapeError
from mase.models import Callable, CausalLM, CompletionServer, TorchModule, ZeroShot, load
from mase.models.language.open import load_language_model
from mase.testing import SmallLSTM, whitespace_ids


def half(texts):
    return [[0.5, 0.5] for _ in texts]


def test_a_function_without_names_of_classes():
    found = mase.check(half)
    assert (found.name, found.labels, found.output, found.multilabel) == ("half", ("0", "1"), "probabilities", False)
    assert found.kind == "function half"
    assert "texts" in found.inputs
    assert found.agreement.is_deterministic
    assert not found.agreement.is_batch_dependent
    assert found.defaults.references == ("delete",)
    (guess,) = found.guesses
    assert ("'0', '1'" in guess.what, "labels=[" in guess.remedy) == (True, True)
    assert mase.check(Callable(half, ["neg", "pos"])).guesses == ()


@pytest.mark.parametrize("share", [0.2, [0.2]])
def test_one_number_per_text_is_taken_for_a_probability(share):
    def box(texts):
        return [share for _ in texts]

    found = mase.check(box)
    assert (found.labels, found.output) == (("0", "1"), "probabilities")
    (guess,) = found.guesses
    assert ("second of two classes" in guess.what, "outputs='values'" in guess.remedy) == (True, True)
    assert mase.check(Callable(box, ["no", "yes"])).guesses == ()
    assert mase.check(Callable(box, ["yes"])).labels == ("not yes", "yes")
    assert not any("probability" in guess.what for guess in mase.check(Callable(box, outputs="values")).guesses)


def test_an_estimator_names_its_classes():
    estimator = make_pipeline(CountVectorizer(), LogisticRegression()).fit(["good", "bad"], ["pos", "neg"])
    found = mase.check(estimator)
    assert (found.labels, found.kind, found.guesses) == (("neg", "pos"), "sklearn Pipeline", ())
    assert "classes_" in found.labels_from
    estimator.fit(["good", "bad"], [1, 0])
    assert [guess.what for guess in mase.check(estimator).guesses] == ["the classes are called '0', '1'"]


@pytest.mark.slow
def test_what_is_guessed_of_a_torch_module():
    found = mase.check(SmallLSTM(), whitespace_ids)
    assert (found.kind, found.device, found.precision, found.output) == (
        "torch module SmallLSTM",
        "cpu",
        "float32",
        "logits",
    )
    assert ["labels=[" in guess.remedy or "outputs=" in guess.remedy for guess in found.guesses] == [True, True]
    known = TorchModule(
        SmallLSTM(), tokenize=whitespace_ids, labels=["neg", "pos"], outputs="logits", max_length=20, keep="end"
    )
    assert mase.check(known).guesses == ()
    assert (mase.check(known).cut_off.n_kept, mase.check(known).cut_off.kept) == (20, "end")


@pytest.mark.slow
def test_a_hugging_face_folder_and_a_bundled_model(good):
    found = mase.check(str(good))
    assert (found.kind, found.inputs) == ("Hugging Face BertForSequenceClassification", ("texts", "pairs"))
    assert (found.cut_off.n_kept, found.cut_off.kept, found.defaults.references[0]) == (512, "start", "mask")
    assert [guess.what for guess in found.guesses] == ["the classes are called 'LABEL_0', 'LABEL_1'"]
    bundled = mase.check("lstm-imdb")
    assert (bundled.name, bundled.labels, bundled.guesses) == ("lstm-imdb", ("neg", "pos"), ())
    assert (bundled.cut_off.n_kept, bundled.cut_off.kept) == (80, "end")
    assert [speed.n_units for speed in bundled.speeds][1] == 80


def test_a_model_without_a_description_is_described_by_its_class():
    from mase.models.base import Wrapper

    class Own(Wrapper):
        def bind(self, binding):
            return self.model.bind(binding)

    found = mase.check(Own(load("lstm-imdb")))
    assert (found.kind, found.labels, found.device) == ("Own", ("neg", "pos"), None)


class Centred(SmallLSTM):
    """A module whose answers depend on the batch."""

    def forward(self, *inputs):
        logits = super().forward(*inputs)
        return logits - logits.mean(0) / 2


class Random(SmallLSTM):
    """A module that draws random numbers."""

    def forward(self, *inputs):
        return super().forward(*inputs) * (1 + torch.rand(1))


@pytest.mark.parametrize(("kind", "told"), [(Centred, "in a batch"), (Random, "asked twice"), (SmallLSTM, "the same")])
def test_modules_are_compared_as_they_are_explained(kind, told):
    torch.manual_seed(0)
    model = TorchModule(kind(), tokenize=whitespace_ids, outputs="logits")
    assert mase.check(model).facts["answers"].startswith(told)


def test_noise_and_dependence_on_the_batch_are_told():
    answers = itertools.cycle([[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]])
    noisy = mase.check(lambda texts: [next(answers) for _ in texts])
    assert not noisy.agreement.is_deterministic
    assert not noisy.agreement.is_batch_dependent
    by_size = mase.check(lambda texts: [[0.5 + 0.1 / len(texts), 0.5 - 0.1 / len(texts)] for _ in texts])
    assert by_size.agreement.is_deterministic
    assert by_size.agreement.is_batch_dependent
    assert (by_size.agreement.in_batch, "0.067" in by_size.facts["answers"]) == (pytest.approx(0.1 * 2 / 3), True)


def test_the_time_of_an_explanation_is_that_of_its_evaluations(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def slow(texts):
        now[0] += 0.002 * len(texts)
        return half(texts)

    text = "a slow but steady one, for all that it is worth, and it is worth a lot"
    (speed,) = mase.check(slow, text=text).speeds
    assert (speed.seconds, speed.n_units, speed.batch_size) == (pytest.approx(0.002), 17, 64)
    explained = mase.explain(text, slow, n_samples=350 + 2 * 17, evidence=0).fit  # one that no place ends
    assert explained.n_queries == pytest.approx(speed.n_evaluations, rel=0.05)
    assert explained.seconds == pytest.approx(speed.of_an_explanation, rel=0.05)


def test_a_call_that_takes_as_long_for_many_inputs_as_for_one(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def slow(texts):
        now[0] += 0.02
        return half(texts)

    (speed,) = mase.check(slow, text="a slow but steady one").speeds
    assert (speed.batch_size, speed.seconds) == (256, pytest.approx(0.02 / 256))


def test_scores_of_classes_are_told_from_values():
    scores = Callable(lambda texts: [[1.0, 2.0]] * len(texts), ["no", "yes"], outputs="scores")
    values = Callable(lambda texts: [[1.0, 2.0]] * len(texts), outputs="values")
    assert mase.check(scores).facts["output"] == "scores of classes, which are no probabilities"
    assert mase.check(values).facts["output"] == "values, without classes"


def test_a_model_that_fails_for_long_texts_is_told_with_the_rest():
    def short_only(texts):
        if any(len(text.split()) > 50 for text in texts):
            raise RuntimeError("index 50 is out of range")
        return half(texts)

    found = mase.check(Callable(short_only, ["neg", "pos"]))
    (guess,) = found.guesses
    assert ("index 50 is out of range" in guess.what, "max_length" in guess.remedy) == (True, True)
    assert len(found.speeds) == 1


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (lambda texts: 1 / 0, ModelError, "ZeroDivisionError"),
        (lambda texts: [[1.0, 0.0]] * 3, ShapeError, "one row per text"),
        (lambda texts: [[3.0, 4.0] for _ in texts], ModelError, "probabilities"),
        (lambda texts: [{"rain": 1}[text] for text in texts], ModelError, "text="),
    ],
)
def test_a_broken_model_has_the_error_of_an_explanation(model, error, message):
    with pytest.raises(error, match=message):
        mase.check(model)


def test_a_model_that_reads_something_else_is_checked_with_an_example():
    def smiles(texts):
        if not all(set(text) <= set("CON()= ") for text in texts):
            raise ValueError("no molecule")
        return half(texts)

    with pytest.raises(ModelError, match="pass an example as text="):
        mase.check(Callable(smiles, ["no", "yes"]))
    found = mase.check(Callable(smiles, ["no", "yes"]), text="CCO CC")
    assert (found.inputs, len(found.speeds), found.speeds[0].n_units) == (("texts",), 1, 2)


def test_a_black_box_may_cut_off_texts_itself():
    def short(texts):
        if any(len(text.split()) > 512 for text in texts):
            raise ValueError("it is too long")
        return half(texts)

    whole, found = mase.check(Callable(half, ["no", "yes"])), mase.check(Callable(short, ["no", "yes"]))
    assert (whole.cut_off, whole.longest, whole.guesses) == (None, 0, ())
    assert "none up to" not in str(whole)
    assert [("1,024 words" in guess.what, "it is too long" in guess.what) for guess in found.guesses] == [(True, True)]
    assert len(found.speeds) == 2


def test_it_prints_and_is_plain_json():
    found = mase.check("lstm-imdb")
    assert str(found).splitlines()[0] == "lstm-imdb"
    assert "after 80 tokens; of a longer text the end is read" in str(found)
    plain = json.loads(json.dumps(found.to_dict()))
    assert (plain["labels"], plain["cut_off"]["n_kept"], plain["device"]) == (["neg", "pos"], 80, "cpu")
    assert plain["speeds"][0]["of_an_explanation"] == pytest.approx(found.speeds[0].of_an_explanation)
    assert "␛" in str(mase.check(Callable(half, ["a\x1b[31m", "b"])))


def test_a_function_of_records_is_checked_with_an_example():
    def judge(records):
        return [[0.5, 0.5] if record["age"] > 30 else [0.9, 0.1] for record in records]

    with pytest.raises(ModelError, match="pass an example as text="):
        mase.check(judge)
    record = {"title": "Rain", "body": "It is wet.", "age": 40}
    found = mase.check(judge, text=record, background={"age": 20}, fixed=["title"])
    assert (found.inputs, found.speeds[0].n_units, found.speeds[0].n_evaluations) == (("records",), 4, 16)
    anything = mase.check(half)
    assert anything.inputs == ("texts", "pairs", "records")


@pytest.mark.slow
def test_models_of_token_ids_and_zero_shot_say_what_they_are():
    pytest.importorskip("onnxruntime")
    from tests.unit.models.test_onnx_onnx import onnx_model
    from tests.unit.models.tiny import family

    found = mase.check(onnx_model())
    assert (found.kind, found.labels_from, found.guesses) == ("OnnxModel", "given", ())
    names = {0: "contradiction", 1: "neutral", 2: "entailment"}
    parts = family("bert", id2label=names, label2id={name: index for index, name in names.items()})
    found = mase.check(ZeroShot(*parts, labels=["w4", "w7"]))
    assert (found.kind, found.labels) == ("zero-shot classifier BertForSequenceClassification", ("w4", "w7"))
    assert (found.guesses, found.cut_off.kept) == ((), "start")


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_model_without_chat_template_says_what_to_pass(tmp_path):
    model = load_language_model(causal_folder(tmp_path))
    found = mase.check(CausalLM(model.module, tokenizer()))
    assert found.messages == "as plain text"
    assert "{query}" in found.guesses[0].remedy
    assert "guessed" in repr(found)


@pytest.mark.slow
def test_label_words_say_how_much_the_language_model_reads(tmp_path):
    model = load_language_model(causal_folder(tmp_path))
    found = mase.check(CausalLM(model.module, tokenizer(), labels=["cat", "dog"]))
    assert (found.labels, found.cut_off, found.context_length) == (("cat", "dog"), None, 128)
    assert "128 tokens at most" in repr(found)
    assert "none up to" not in repr(found)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_server_that_takes_texts_alone_is_asked_with_a_text():
    with served(llama_cpp_python(engine(True))) as (url, _):
        found = mase.check(CompletionServer(url))
    assert found.messages == "as plain text"
    assert found.answer


@pytest.mark.parametrize(("scale", "noise", "said"), [(1e6, 1e-9, "the same"), (1e-8, 0.5, "asked twice, they differ")])
def test_differences_of_values_are_relative(scale, noise, said):
    rng = np.random.default_rng(0)

    def value(texts):
        return scale * np.array([[(1 + len(text)) * (1 + noise * rng.normal())] for text in texts])

    assert mase.check(Callable(value, labels=["y"], outputs="values")).facts["answers"].startswith(said)


def test_a_function_that_refuses_batches_is_told():
    def alone(texts):
        assert len(texts) == 1
        return [[0.9, 0.1] if "good" in texts[0] else [0.2, 0.8]]

    assert mase.check(Callable(alone)).facts["answers"].endswith("refused more than 1 input at a time")
