"""Adapters: what users' models return, and that they are handed back as they were found."""

import copy
import ctypes
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import transformers
from tests.conftest import SmallLSTM, whitespace_ids

import mase
from mase.errors import (
    CapabilityError,
    DataError,
    EmptyTextError,
    ModelError,
    NonFiniteError,
    OptionError,
    ShapeError,
    UnknownNameError,
)
from mase.models import Callable, HuggingFace, TorchModule, load
from mase.models.runtime import settle
from mase.testing import check_model

TEXT = "this is a rather good film , though slow"


class Wrapped(torch.nn.Module):
    """Returns what `wrap` makes of the logits."""

    def __init__(self, wrap, classes=2):
        super().__init__()
        torch.manual_seed(3)
        self.inner, self.wrap = SmallLSTM(classes), wrap

    def forward(self, ids):
        return self.wrap(self.inner(ids))


def explain(module, n_samples=60, **options):
    model = TorchModule(module, tokenize=whitespace_ids, **options)
    return mase.Explainer(model, n_samples=n_samples)(TEXT), model


@pytest.mark.parametrize(
    "wrap",
    [
        lambda z: z,
        lambda z: (z, "more"),
        lambda z: [z],
        lambda z: {"loss": None, "logits": z},
        lambda z: transformers.modeling_outputs.SequenceClassifierOutput(logits=z),
        lambda z: z.softmax(dim=1),
        lambda z: {"probs": z.softmax(dim=1)},
    ],
)
def test_returns_of_two_columns(wrap):
    plain, _ = explain(Wrapped(lambda z: z))
    wrapped, _ = explain(Wrapped(wrap))
    assert wrapped.scores == pytest.approx(plain.scores, abs=1e-6)
    assert wrapped.prediction.probability == pytest.approx(plain.prediction.probability, abs=1e-6)


@pytest.mark.parametrize(
    "wrap", [lambda z: z[:, :1], lambda z: z[:, 0], lambda z: z[:, :1].sigmoid(), lambda z: z[:, 0].sigmoid()]
)
def test_one_column_is_the_second_of_two_classes(wrap):
    found, model = explain(Wrapped(wrap), labels=["no", "yes"])
    assert model.labels == ("no", "yes")
    expected = float(Wrapped(lambda z: z[:, 0]).eval()(torch.tensor([whitespace_ids(TEXT)])).sigmoid().detach())
    assert model.predict([TEXT])[0] == pytest.approx([1 - expected, expected])
    assert found.prediction.probability == pytest.approx(max(expected, 1 - expected), abs=1e-6)


@pytest.mark.parametrize("wrap", [lambda z: z, lambda z: z.sigmoid()])
def test_multilabel_classes_are_separate_questions(wrap):
    found, model = explain(Wrapped(wrap, classes=3), multilabel=True, labels=["a", "b", "c"])
    logits = Wrapped(lambda z: z, classes=3).eval()(torch.tensor([whitespace_ids(TEXT)]))
    assert model.predict([TEXT])[0] == pytest.approx(logits.sigmoid().detach().numpy()[0])
    assert sum(found.prediction.probabilities.values()) != pytest.approx(1)


@pytest.mark.parametrize(
    ("wrap", "error"),
    [
        (lambda z: "nothing", ModelError),
        (lambda z: {"other": z}, ModelError),
        (lambda z: z[:-1], ModelError),
        (lambda z: z[:, None], ModelError),
        (lambda z: 1 / 0, ModelError),
        (lambda z: z * float("nan"), NonFiniteError),
        (lambda z: z + float("inf"), NonFiniteError),
    ],
)
def test_unusable_returns(wrap, error):
    with pytest.raises(error):
        explain(Wrapped(wrap))


def test_constant_model_scores_zero_and_says_so():
    found, _ = explain(Wrapped(lambda z: z * 0 + 2))
    assert not found.scores.any()
    assert not found.standard_errors.any()
    assert [note.code for note in found.fit.warnings] == ["constant"]


def state(module):
    return {
        "modes": [part.training for part in module.modules()],
        "hooks": [len(part._forward_hooks) for part in module.modules()],
        "parameters": copy.deepcopy(module.state_dict()),
        "grads": [None if p.grad is None else p.grad.clone() for p in module.parameters()],
        "requires": [p.requires_grad for p in module.parameters()],
        "dtype": next(module.parameters()).dtype,
        "random": torch.get_rng_state(),
        "numpy": np.random.get_state()[1].tolist(),  # noqa: NPY002
        "enabled": torch.is_grad_enabled(),
        "attributes": [sorted(part.__dict__) for part in module.modules()],
    }


def assert_same(before, after):
    for key in before:
        assert str(before[key]) == str(after[key]), key


@pytest.mark.parametrize("method", ["mase", "mase-gradient", "mase-mask", "standard-gaussian"])
@pytest.mark.parametrize("fails", [False, True])
def test_module_is_handed_back_as_it_was_found(method, fails):
    calls = []

    def wrap(logits):
        calls.append(len(logits))
        if fails and len(calls) == 4:
            raise ZeroDivisionError("at the k-th forward")
        return logits + 0 * torch.rand(1)  # uses global random numbers

    module = Wrapped(wrap).train()
    module.inner.head.eval()  # a mixture of modes
    module.inner.lstm.weight_hh_l0.requires_grad_(False)
    module(torch.tensor([[11, 12]])).sum().backward()
    calls.clear()
    before = state(module)
    explainer = mase.Explainer(
        TorchModule(module, tokenize=whitespace_ids, unk_id=1), method=method, n_samples=40, batch_size=8
    )
    if fails:
        with pytest.raises(ModelError, match="ZeroDivisionError: at the k-th forward"):
            explainer(TEXT)
    else:
        explainer(TEXT)
    assert_same(before, state(module))


def test_interrupt_passes_and_leaves_the_module_as_it_was():
    def wrap(logits):
        if len(logits) == 8:
            raise KeyboardInterrupt
        return logits

    module = Wrapped(wrap).train()
    before = state(module)
    with pytest.raises(KeyboardInterrupt):
        mase.Explainer(TorchModule(module, tokenize=whitespace_ids), batch_size=8)(TEXT)
    assert_same(before, state(module))


def test_out_of_memory_of_torch_halves_the_batch():
    seen = []

    def wrap(logits):
        seen.append(len(logits))
        if len(logits) > 8 and len(logits) != 32:
            raise torch.OutOfMemoryError("out of memory")
        return logits

    found, _ = explain(Wrapped(wrap), n_samples=200)
    assert max(seen) > 32
    assert found.scores == pytest.approx(explain(Wrapped(lambda z: z), n_samples=200)[0].scores, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_precisions(dtype):
    found, _ = explain(Wrapped(lambda z: z).to(dtype), n_samples=200)
    plain, _ = explain(Wrapped(lambda z: z), n_samples=200)
    assert np.isfinite(found.scores).all()
    tolerance = 1e-6 if dtype == torch.float64 else 0.05
    assert found.scores == pytest.approx(plain.scores, abs=tolerance)


def test_small_noise_survives_a_module_in_half_precision():
    """Near 1 a bfloat16 coordinate has steps of 0.8 %: rounded to them, sigma = 0.01 would be mostly lost."""
    found = mase.Explainer(
        TorchModule(Wrapped(lambda z: z).to(torch.bfloat16), tokenize=whitespace_ids), method="mase-nlgp", sigma=0.02
    )(TEXT)
    plain = mase.Explainer(TorchModule(Wrapped(lambda z: z), tokenize=whitespace_ids), method="mase-nlgp", sigma=0.02)(
        TEXT
    )
    assert found.scores == pytest.approx(plain.scores, abs=0.1 * float(np.abs(plain.scores).max()))


def test_least_squares_recovers_a_linear_torch_model_in_double_precision():
    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(500, 8, dtype=torch.float64)
            self.weight = torch.nn.Parameter(torch.randn(8, dtype=torch.float64))

        def forward(self, ids):
            return torch.stack(
                [(self.embed(ids) @ self.weight).sum(dim=1), torch.zeros(len(ids), dtype=torch.float64)], dim=1
            )

    torch.manual_seed(0)
    module = Linear()
    found = mase.Explainer(TorchModule(module, tokenize=whitespace_ids), link="logit")(TEXT, target=0)
    expected = (module.embed(torch.tensor(whitespace_ids(TEXT))) @ module.weight).tolist()
    assert found.scores == pytest.approx(expected, abs=1e-6)


def test_embedding_layer_is_found_or_asked_for():
    two = torch.nn.Sequential(torch.nn.Embedding(5, 2), torch.nn.Embedding(5, 2))
    with pytest.raises(CapabilityError, match=r"2 embedding layers \(0, 1\)"):
        TorchModule(two, tokenize=whitespace_ids)
    with pytest.raises(CapabilityError, match="0 embedding layers"):
        TorchModule(torch.nn.Linear(2, 2), tokenize=whitespace_ids)
    with pytest.raises(CapabilityError, match="no layer 'wrong'"):
        TorchModule(SmallLSTM(), tokenize=whitespace_ids, embedding="wrong")
    assert TorchModule(Wrapped(lambda z: z), tokenize=whitespace_ids, embedding="inner.words").predict(
        [TEXT]
    ).shape == (1, 2)


def test_layer_used_twice_or_sequence_first_is_refused():
    class Twice(SmallLSTM):
        def forward(self, ids):
            return super().forward(ids) + super().forward(ids)

    class SequenceFirst(SmallLSTM):
        def forward(self, ids):
            return self.head(self.lstm(self.words(ids.T))[0][-1][: len(ids)]).repeat(len(ids), 1)[: len(ids)]

    with pytest.raises(CapabilityError, match="ran 2 times"):
        explain(Twice())
    with pytest.raises(CapabilityError, match="batch first"):
        explain(SequenceFirst())


def test_tokenizers():
    def with_spans(text):
        return [11, 12], [(0, 4), (5, 7)]

    model = TorchModule(SmallLSTM(), tokenize=with_spans)
    assert mase.Explainer(model, n_samples=40)("some thing").words == ("some", "thing")
    assert TorchModule(SmallLSTM(), tokenize=lambda text: torch.tensor([11, 12])).encode("a b").spans == (
        (0, 1),
        (2, 3),
    )
    with_special = TorchModule(SmallLSTM(), tokenize=lambda text: [5, *whitespace_ids(text), 6], special_ids=[5, 6])
    tokens = with_special.encode("a b")
    assert tokens.fixed == (True, False, False, True)
    found = mase.Explainer(with_special, n_samples=40)("a b")
    assert [token.score for token in found.tokens] == [0.0, None, None, 0.0]
    with pytest.raises(ShapeError, match="3 ids for a text of 2 whitespace words"):
        TorchModule(SmallLSTM(), tokenize=lambda text: [11, 12, 13]).encode("a b")
    with pytest.raises(ShapeError, match="1 spans"):
        TorchModule(SmallLSTM(), tokenize=lambda text: ([11, 12], [(0, 1)])).encode("a b")
    without = TorchModule(SmallLSTM(), tokenize=lambda text: [])
    with pytest.raises(EmptyTextError):
        without.encode(" ")


@pytest.mark.parametrize(("keep", "expected"), [("start", ("this", "is", "a")), ("end", (",", "though", "slow"))])
def test_truncation_is_reported(keep, expected):
    found, _ = explain(SmallLSTM(), max_length=3, keep=keep)
    assert found.words == expected
    assert (found.truncation.n_kept, found.truncation.n_total, found.truncation.kept) == (3, 9, keep)


def test_padding_is_no_coordinate():
    model = TorchModule(SmallLSTM(), tokenize=lambda text: [0, 0, *whitespace_ids(text)], pad_id=0)
    found = mase.Explainer(model, n_samples=40, granularity="token")(TEXT)
    assert [token.score for token in found.tokens[:2]] == [0.0, 0.0]
    assert len(found.words) == len(TEXT.split())


def test_a_word_that_is_the_reference_scores_exactly_zero():
    module = SmallLSTM()
    model = TorchModule(
        module,
        tokenize=lambda text: [
            2 if w == "good" else i for w, i in zip(text.split(), whitespace_ids(text), strict=True)
        ],
        mask_id=2,
    )
    found = mase.Explainer(model, reference="mask", n_samples=100)(TEXT)
    scores = dict(found.as_list())
    assert scores["good"] == 0.0
    assert scores["film"] != 0.0


def test_labels():
    assert TorchModule(SmallLSTM(), tokenize=whitespace_ids).labels == ("0", "1")
    with pytest.raises(ShapeError, match="2 classes, expected 3"):
        TorchModule(SmallLSTM(), tokenize=whitespace_ids, labels=["a", "b", "c"]).predict([TEXT])
    with pytest.raises(OptionError, match="unique"):
        TorchModule(SmallLSTM(), tokenize=whitespace_ids, labels=["a", "a"])


def test_plain_and_contract(lstm_model):
    check_model(lstm_model, TEXT)
    check_model(Callable(lambda texts: [[len(t) / 100, 1 - len(t) / 100] for t in texts]), TEXT)


def test_hugging_face_contract(minilm):
    check_model(HuggingFace(*minilm), "An unbelievably good film, isn't it?")


def test_hugging_face_words_and_special_tokens(small_bert):
    found = mase.Explainer(*small_bert, n_samples=40)("An unbelievably overcooked film, isn't it?")
    assert found.words == ("An", "unbelievably", "overcooked", "film", ",", "isn't", "it", "?")
    assert found.tokens[0].text == "[CLS]"
    assert found.tokens[0].score == found.tokens[-1].score == 0.0
    assert len(found.tokens) > len(found.words) + 2


def test_token_coordinates_sum_to_word_coordinates(small_bert):
    text = "An unbelievably overcooked film, isn't it?"
    words = mase.Explainer(*small_bert, method="mase-nlgp", n_samples=600, sigma=0.01)(text)
    tokens = mase.Explainer(*small_bert, method="mase-nlgp", n_samples=600, sigma=0.01, granularity="token")(text)
    assert tokens.scores == pytest.approx(words.scores, abs=0.02 * np.abs(words.scores).max())
    assert sum(token.score for token in tokens.tokens) == pytest.approx(tokens.scores.sum())


def test_entering_before_the_layer_norm_would_explain_nothing(small_bert):
    """The trap of R4: a scale of the whole input of a LayerNorm is undone by it; the two entries that we offer are not."""
    module, tokenizer = small_bert
    ids = torch.tensor([tokenizer("A good film")["input_ids"]])
    norm = module.bert.embeddings.LayerNorm
    with torch.no_grad():
        plain = module(ids).logits
        handle = norm.register_forward_pre_hook(lambda _m, args: (args[0] * 1.3,))
        scaled = module(ids).logits
        handle.remove()
    assert scaled == pytest.approx(plain.numpy(), abs=1e-5)
    block, words = (
        mase.Explainer(HuggingFace(*small_bert, enter=enter), method="mase-nlgp", n_samples=200)("A good film").scores
        for enter in ("block", "words")
    )
    assert np.abs(block).max() > 1e-4
    assert np.abs(words).max() > 1e-4
    assert np.abs(block - words).max() > 1e-4


def test_mask_reference_equals_the_mask_token(small_bert):
    module, tokenizer = small_bert
    model = HuggingFace(module, tokenizer)
    from mase.methods import resolve
    from mase.models.protocol import Binding

    tokens = model.encode("A good film")
    method = resolve("mase-mask", reference="mask")
    probe = model.bind(Binding(tokens, method.space, np.array([-1, 0, 1, 2, -1]), 3, (0,), 0.0))
    found = probe.scores(np.array([[1.0, 0.0, 1.0]]), np.arange(1))
    with torch.no_grad():
        expected = module(**tokenizer("A [MASK] film", return_tensors="pt")).logits
    assert found == pytest.approx(expected.numpy(), abs=1e-5)


def test_long_text_is_cut_at_the_models_limit(small_bert):
    text = "good film " * 400
    found = mase.Explainer(HuggingFace(*small_bert, max_length=32), n_samples=80)(text)
    assert len(found.tokens) == 32
    assert found.tokens[-1].text == "[SEP]"
    assert found.truncation.n_total == 802
    assert HuggingFace(*small_bert).encode(text).truncation.n_kept == 512
    last = HuggingFace(*small_bert, max_length=8, keep="end").encode("one two three four five six seven eight")
    assert last.pieces == ("[CLS]", "three", "four", "five", "six", "seven", "eight", "[SEP]")


@pytest.mark.parametrize("family", ["gpt2", "roberta", "distilbert"])
def test_other_families(family, small_bert):
    """Tiny random models of other architectures, with the WordPiece tokenizer of MiniLM."""
    tokenizer = small_bert[1]
    shared = {"vocab_size": len(tokenizer), "num_labels": 3}
    torch.manual_seed(0)
    config = {
        "gpt2": lambda: transformers.GPT2Config(
            n_embd=32, n_layer=2, n_head=2, n_positions=64, pad_token_id=None, **shared
        ),
        "roberta": lambda: transformers.RobertaConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=66,
            **shared,
        ),
        "distilbert": lambda: transformers.DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=32, **shared),
    }[family]()
    module = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    check_model(HuggingFace(module, tokenizer), "A good film")
    assert config.pad_token_id is None or family != "gpt2"


def test_multilabel_hugging_face(small_bert):
    module = copy.deepcopy(small_bert[0])
    module.config.problem_type = "multi_label_classification"
    chance = HuggingFace(module, small_bert[1]).predict(["A good film"])
    assert chance.sum() != pytest.approx(1)


def test_loading_by_folder_and_by_name(small_bert, tmp_path):
    small_bert[0].save_pretrained(tmp_path / "saved")
    small_bert[1].save_pretrained(tmp_path / "saved")
    model = load(tmp_path / "saved")
    assert model.predict(["A good film"]) == pytest.approx(HuggingFace(*small_bert).predict(["A good film"]))
    with pytest.raises(UnknownNameError, match="did you mean 'lstm-imdb'"):
        load("lstm-imbd")
    with pytest.raises(DataError, match="download"):
        load("nobody/has-this-model")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty"):
        load(tmp_path / "empty")


def saved(small_bert, folder):
    small_bert[0].save_pretrained(folder)
    small_bert[1].save_pretrained(folder)
    return folder


class Around(torch.nn.Module):
    """Positions and a scale after the embedding: written in place or not, the function is the same."""

    def __init__(self, *, in_place):
        super().__init__()
        torch.manual_seed(3)
        self.words = torch.nn.Embedding(500, 6)
        self.position = torch.nn.Parameter(torch.randn(40, 6))
        self.head = torch.nn.Linear(6, 2)
        self.in_place = in_place

    def forward(self, ids):
        x = self.words(ids)
        if self.in_place:
            x += self.position[: ids.shape[1]]
            x *= 3
        else:
            x = (x + self.position[: ids.shape[1]]) * 3
        return self.head(torch.tanh(x).mean(dim=1))


@pytest.mark.parametrize(
    "method", ["mase", "occlusion", "mase-nlgp", "gradient", "gradient-x-input", "permutation-importance"]
)
def test_modules_that_write_to_their_embeddings_are_explained_like_others(method):
    plain, written = (
        mase.Explainer(
            TorchModule(Around(in_place=flag), tokenize=whitespace_ids, embedding="words"), method=method, n_samples=90
        )
        for flag in (False, True)
    )
    assert written("one two three four").scores == pytest.approx(plain("one two three four").scores, abs=1e-5)


def test_compiled_modules_are_run_as_they_are_written():
    module = Around(in_place=False)
    compiled = torch.compile(module, backend="eager", dynamic=True)
    for n in (7, 8, 9):
        compiled(torch.randint(0, 500, (n, 4)))
    for method in ("mase-nlgp", "occlusion"):
        theirs, ours = (
            mase.Explainer(TorchModule(one, tokenize=whitespace_ids, embedding=name), method=method, n_samples=90)
            for one, name in ((compiled, "_orig_mod.words"), (module, "words"))
        )
        assert np.abs(ours("one two three four").scores).max() > 1e-3
        assert theirs("one two three four").scores == pytest.approx(ours("one two three four").scores, abs=1e-6)


def test_a_layer_that_is_passed_by_is_an_error():
    """As if compiled code did not see the hook."""
    module = Around(in_place=False)
    explainer = mase.Explainer(TorchModule(module, tokenize=whitespace_ids, embedding="words"), n_samples=20)
    explainer("one two three")
    forward, calls = module.forward, []

    def cached(ids):
        calls.append(len(ids))
        return forward(ids) if len(ids) == 1 else torch.zeros(len(ids), 2)

    module.forward = cached
    with pytest.raises(CapabilityError, match=r"ran 0 times in a forward pass, .*pass the one before compilation"):
        explainer("one two three four")


def test_words_that_are_embedded_a_second_time_with_the_same_weights_are_an_error():
    """Encoder and decoder of T5 and BART have an embedding each, of one table."""

    class Twice(Around):
        def __init__(self):
            super().__init__(in_place=False)
            self.again = torch.nn.Embedding(500, 6)
            self.again.weight = self.words.weight

        def forward(self, ids):
            return super().forward(ids) + self.head(self.again(ids).mean(dim=1))

    with pytest.raises(CapabilityError, match="also embedded by 'again', with the weights of 'words'"):
        mase.Explainer(TorchModule(Twice(), tokenize=whitespace_ids, embedding="words"))("one two")


@pytest.mark.parametrize("frozen", [False, True])
def test_what_scores_are_is_told_of_frozen_weights_too(frozen):
    """One linear logit that lies in [0, 1] is a logit, whoever is trained."""

    class Small(Around):
        def forward(self, ids):
            inner = torch.tanh(super().forward(ids)[:, :1])
            return torch.nn.functional.linear(inner, torch.tensor([[0.4]]), torch.tensor([0.5]))

    module = Small(in_place=False).requires_grad_(not frozen)
    for context in (torch.enable_grad(), torch.inference_mode()):
        with context:
            model = TorchModule(module, tokenize=whitespace_ids, embedding="words", pad_id=0, labels=["no", "yes"])
            raw = module(torch.tensor([whitespace_ids("one two")])).item()
            assert model.predict(["one two"])[0, 1] == pytest.approx(1 / (1 + np.exp(-raw)), abs=1e-6)


def test_linear_logits_of_separate_questions_stay_logits():
    class Small(Around):
        def forward(self, ids):
            return torch.nn.functional.linear(
                torch.tanh(super().forward(ids)), 0.2 * torch.eye(2), torch.tensor([0.5, 0.4])
            )

    model = TorchModule(Small(in_place=False), tokenize=whitespace_ids, embedding="words", multilabel=True)
    raw = model.module(torch.tensor([whitespace_ids("one two")]))[0]
    assert model.predict(["one two"])[0] == pytest.approx(torch.sigmoid(raw).tolist(), abs=1e-6)


def test_softmax_is_known_where_the_entered_layer_has_no_table():
    """Random ids are those of the table that reads them, and not all padding, whose mean over no word is NaN."""

    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(3)
            self.words, self.drop, self.head = torch.nn.Embedding(500, 6), torch.nn.Dropout(0.1), torch.nn.Linear(6, 2)

        def forward(self, ids):
            real = (ids != 0).float()[:, :, None]
            return self.head((self.drop(self.words(ids)) * real).sum(dim=1) / real.sum(dim=1)).softmax(dim=1)

    module = Masked().eval()
    expected = module(torch.tensor([whitespace_ids("one two")]))[0].tolist()
    for name in ("words", "drop"):
        model = TorchModule(module, tokenize=whitespace_ids, embedding=name)
        assert model.predict(["one two"])[0] == pytest.approx(expected, abs=1e-6)


def test_a_module_that_squeezes_its_answer_is_explained():
    class Squeezed(Around):
        def forward(self, ids):
            return torch.sigmoid(super().forward(ids)[:, :1]).squeeze()

    model = TorchModule(Squeezed(in_place=False), tokenize=whitespace_ids, embedding="words")
    assert model.predict(["one two"]).shape == (1, 2)
    assert np.abs(mase.Explainer(model, method="occlusion")("one two three").scores).max() > 0


def test_weights_that_fused_optimizers_write_have_a_new_checksum():
    module = Around(in_place=False)
    model = TorchModule(module, tokenize=whitespace_ids, embedding="words")
    before = model.sha256
    optimizer = torch.optim.Adam(module.parameters(), fused=True)
    module(torch.tensor([[1, 2]])).sum().backward()
    optimizer.step()
    assert model.sha256 != before
    with torch.inference_mode():
        other = TorchModule(Around(in_place=False), tokenize=whitespace_ids, embedding="words")
    assert len(mase.Explainer(other, n_samples=30)("one two").model["sha256"]) == 64


def test_black_boxes_may_keep_their_array_change_their_list_and_return_tensors():
    shared = np.empty((512, 2))

    def same_array(texts):
        shared[: len(texts)] = bag(texts)
        return shared[: len(texts)]

    def own_list(texts):
        answer = bag(list(texts))
        texts[:] = ["gone"] * len(texts)
        return answer

    def tensor(texts):
        return torch.tensor(bag(texts), requires_grad=True)

    expected = mase.Explainer(Callable(bag, labels=["neg", "pos"]), method="occlusion")("a good film , not bad").scores
    for function in (same_array, own_list, tensor):
        found = mase.Explainer(Callable(function, labels=["neg", "pos"]), method="occlusion")("a good film , not bad")
        assert found.scores.tolist() == pytest.approx(expected.tolist(), abs=1e-6)


def test_a_black_box_whose_columns_change_is_an_error():
    with pytest.raises(ShapeError, match="returned 3 columns, expected 2 as for the whole text"):
        mase.Explainer(Callable(lambda texts: np.full((len(texts), 2 + (len(texts) > 1)), 1 / (2 + (len(texts) > 1)))))(
            "a b c"
        )
    with pytest.raises(OptionError, match="expected a list of names"):
        Callable(bag, labels="no")


def test_a_folder_in_half_precision_is_loaded_in_single(small_bert, tmp_path):
    folder = saved((copy.deepcopy(small_bert[0]).to(torch.bfloat16), small_bert[1]), tmp_path)
    assert {parameter.dtype for parameter in load(folder).module.parameters()} == {torch.float32}


def test_a_model_whose_head_was_never_trained_is_an_error(small_bert, tmp_path):
    """It would be drawn at random, and explain something else each time."""
    saved((small_bert[0].bert, small_bert[1]), tmp_path)
    state = torch.random.get_rng_state()
    with pytest.raises(
        DataError, match=r"has no weights classifier\.bias, classifier\.weight, expected .* that was trained"
    ):
        load(tmp_path)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_folder_without_a_tokenizer_is_an_error(small_bert, tmp_path):
    """Transformers would make one up that reads every word as unknown."""
    small_bert[0].save_pretrained(tmp_path)
    with pytest.raises(DataError, match=r"has no tokenizer, expected one of .*tokenizer\.json"):
        load(tmp_path)
    assert len(HuggingFace(tmp_path, small_bert[1]).encode("a good film")) == 5


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1", None])
def test_damaged_weights_are_an_error(content, small_bert, tmp_path):
    path = saved(small_bert, tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:5000] if content is None else content)
    with pytest.raises(DataError, match=re.escape(str(tmp_path))) as raised:
        load(tmp_path)
    assert "download" not in str(raised.value)  # it is here, only broken


def test_weights_of_other_sizes_than_the_configuration_are_an_error(small_bert, tmp_path):
    path = saved(small_bert, tmp_path) / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"id2label": {str(index): str(index) for index in range(5)}}))
    with pytest.raises(DataError, match=re.escape(str(tmp_path))):
        load(tmp_path)


def test_token_types_that_would_be_dropped_are_an_error(small_bert):
    class Typed(type(small_bert[1])):
        def __call__(self, *given, **options):
            encoded = super().__call__(*given, **options)
            encoded["token_type_ids"] = [2 * (index == 0) for index in range(len(encoded["input_ids"]))]
            return encoded

    tokenizer = copy.deepcopy(small_bert[1])
    tokenizer.__class__ = Typed
    with pytest.raises(CapabilityError, match="token_type_ids other than 0"):
        HuggingFace(small_bert[0], tokenizer).encode("a good film")


def test_where_blocks_that_mix_words_or_undo_scales_are_entered(small_bert):
    """MobileBERT's block mixes three neighbours; Bloom's word vectors go through a LayerNorm at once."""
    tokenizer, n = small_bert[1], len(small_bert[1])
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "vocab_size": n}
    mobile = transformers.MobileBertConfig(
        embedding_size=16, intra_bottleneck_size=16, intermediate_size=16, num_hidden_layers=1, **sizes
    )
    bloom = transformers.BloomConfig(hidden_size=16, n_head=2, n_layer=1, vocab_size=n, pad_token_id=0)
    for config, layer in [
        (mobile, "mobilebert.embeddings.word_embeddings"),
        (bloom, "transformer.word_embeddings_layernorm"),
    ]:
        module = transformers.AutoModelForSequenceClassification.from_config(config).eval()
        chosen, named = HuggingFace(module, tokenizer), HuggingFace(module, tokenizer, enter=layer)
        scores = [
            mase.Explainer(one, method="mase-nlgp", n_samples=60)("a good film").scores.tolist()
            for one in (chosen, named)
        ]
        assert scores[0] == scores[1]
    module = transformers.AutoModelForSequenceClassification.from_config(mobile).eval()
    model, text = HuggingFace(module, tokenizer), "a good film"
    ids = torch.tensor([model.encode(text).ids])
    masked = ids.clone()
    masked[0, 2] = tokenizer.mask_token_id
    with torch.no_grad():
        whole, without = (module(input_ids=one).logits[0].double() for one in (ids, masked))
    margins = [(one[0] - one[1]).item() for one in (whole, without)]
    found = mase.Explainer(model, method="occlusion", link="margin")(text, target=0)
    assert found.scores[1] == pytest.approx(margins[0] - margins[1], abs=1e-5)


def test_a_model_that_reads_characters_has_no_words_to_enter_at(small_bert):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    module = transformers.AutoModelForSequenceClassification.from_config(transformers.CanineConfig(**sizes)).eval()
    with pytest.raises(CapabilityError, match="CanineForSequenceClassification"):
        HuggingFace(module, small_bert[1])


def test_a_name_as_long_as_a_text_is_no_model():
    with pytest.raises(UnknownNameError, match="unknown model"):
        load("x" * 300)


def test_a_module_without_tokenizer_or_of_no_kind():
    with pytest.raises(OptionError, match="TorchModule"):
        mase.Explainer(SmallLSTM())
    with pytest.raises(OptionError, match=r"a name or folder, .* a function from texts"):
        mase.Explainer(3.5)


def bag(texts):
    """Probability of "pos" grows with "good" and shrinks with "bad"."""
    score = np.array([2.0 * t.count("good") - 2.0 * t.count("bad") for t in texts])
    return np.stack([1 / (1 + np.exp(score)), 1 / (1 + np.exp(-score))], axis=1)


def test_black_box_is_explained_by_taking_words_out():
    found = mase.Explainer(Callable(bag, labels=["neg", "pos"]), n_samples=400)("a good film , not bad")
    assert found.method["name"] == "mase"
    blind = mase.Explainer(Callable(bag, labels=["neg", "pos"]), method="mase-nlgp", n_samples=400)(
        "a good film , not bad"
    )
    assert blind.method["name"] == "mase-mask"
    assert found.target == "neg" or found.prediction.probability == pytest.approx(0.5)
    scores = dict(
        mase.Explainer(Callable(bag, labels=["neg", "pos"]), n_samples=400)(
            "a good film , not bad", target="pos"
        ).as_list()
    )
    assert scores["good"] > 0.2 > 0.05 > abs(scores["film"])
    assert scores["bad"] < -0.2


def test_black_box_mask_token_and_deletion():
    seen = []

    def watch(texts):
        seen.extend(texts)
        return [[0.5, 0.5]] * len(texts)

    mase.Explainer(Callable(watch, mask_token="<unk>"), n_samples=50)("one two")
    assert {"<unk> two", "one <unk>", "<unk> <unk>", "one two"} <= set(seen)
    seen.clear()
    mase.Explainer(Callable(watch), n_samples=200)("one, two three")
    assert {"one, three", "one two three"} <= set(seen)
    assert not any("  " in text for text in seen if text.strip())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda n: np.ones((n, 2)), ModelError),
        (lambda n: np.full((n, 2), 3.0), ModelError),
        (lambda n: np.ones((n + 1, 2)) / 2, ShapeError),
        (lambda n: np.full((n, 2), np.nan), NonFiniteError),
        (lambda n: 1 / 0, ModelError),
        (lambda n: "text", ModelError),
    ],
)
def test_unusable_black_boxes(answer, error):
    with pytest.raises(error):
        mase.Explainer(Callable(lambda texts: answer(len(texts))), n_samples=40)("one two three")


def test_black_box_of_one_column_and_of_separate_questions():
    one = Callable(lambda texts: [0.8] * len(texts), labels=["spam"])
    assert one.labels == ("not spam", "spam")
    assert mase.Explainer(one, n_samples=40)("one two three").target == "spam"
    many = Callable(lambda texts: [[0.8, 0.9, 0.1]] * len(texts), multilabel=True)
    assert mase.Explainer(many, n_samples=40)("one two three").target == "1"


def test_black_box_columns_must_be_as_many_as_its_labels():
    for wrong in (Callable(lambda texts: [[0.2, 0.3, 0.5]] * len(texts), labels=["spam"]),
                  Callable(lambda texts: [0.8] * len(texts), multilabel=True)):  # fmt: skip
        with pytest.raises(ShapeError, match="expected"):
            mase.Explainer(wrong, n_samples=40)("one two three")


def test_black_box_is_asked_each_text_once():
    seen = []

    def watch(texts):
        seen.extend(texts)
        return bag(texts)

    found = mase.Explainer(Callable(watch), n_samples=500)("good film")
    assert sorted(seen) == sorted(
        [*{"good film", "good", "film", ""}, "a text", "good film"]
    )  # the text once more, to compare
    assert found.scores[0] > found.scores[1]


def test_what_a_black_box_raises_or_returns_is_told():
    def touchy(texts):
        if not all(text.strip() for text in texts):
            raise ValueError("empty")
        return bag(texts)

    with pytest.raises(ModelError, match=r"raised ValueError: empty .* had all words taken out; mask_token="):
        mase.Explainer(Callable(touchy), n_samples=60)("good film")
    with pytest.raises(ModelError, match=r"returned list of dict .*pass a function such as predict_proba"):
        Callable(lambda texts: [{"label": "good", "score": 0.9}] * len(texts)).predict(["good film"])


@pytest.mark.parametrize("method", ["mase-gradient", "mase-paper", "mase-path", "standard-gaussian"])
def test_methods_that_a_black_box_cannot_serve(method):
    with pytest.raises(CapabilityError, match=r"use 'mase'$|use method='mase'"):
        mase.Explainer(Callable(bag), method=method)


def test_taking_words_out_needs_zeros_and_ones(lstm_model):
    for wrong in ({"design": "iid"}, {"estimator": "mean-gradient"}):
        with pytest.raises(OptionError, match="zeros and ones"):
            mase.Explainer(lstm_model, method="mase-mask", **wrong)(TEXT)


def test_references_that_a_model_does_not_have(lstm_model):
    with pytest.raises(CapabilityError, match="unk, zero"):
        mase.Explainer(TorchModule(SmallLSTM(), tokenize=whitespace_ids, unk_id=1), reference="mask")
    with pytest.raises(OptionError, match="has none"):
        mase.Explainer(lstm_model, method="mase-cone", reference="mask")


def test_half_precision_is_used_where_it_is_precise_enough(small_bert, fast_bfloat16):
    from scipy.stats import spearmanr

    text = "An unbelievably good film, isn't it? I would gladly see it again, although the middle drags."
    exact = mase.Explainer(*small_bert, method="mase-nlgp", n_samples=400, sigma=0.3)(text)
    half = mase.Explainer(*small_bert, method="mase-nlgp", n_samples=400, sigma=0.3, precision="bfloat16")(text)
    assert "float32-instead" not in {note.code for note in half.fit.warnings}
    assert half.scores.tolist() != exact.scores.tolist()
    assert spearmanr(half.scores, exact.scores).statistic > 0.99
    assert half.fit.n_queries == exact.fit.n_queries + 32
    assert half.method["precision"] == "bfloat16"


def test_half_precision_falls_back_and_says_so(small_bert, fast_bfloat16):
    tiny = mase.Explainer(*small_bert, method="mase-nlgp", n_samples=60, sigma=1e-4, precision="bfloat16")(
        "A good film"
    )
    assert "float32-instead" in {note.code for note in tiny.fit.warnings}
    assert tiny.scores == pytest.approx(
        mase.Explainer(*small_bert, method="mase-nlgp", n_samples=60, sigma=1e-4)("A good film").scores
    )
    with pytest.raises(CapabilityError, match="half precision"):
        mase.Explainer(Callable(bag), precision="bfloat16")("A good film")
    with pytest.raises(OptionError, match="precision"):
        mase.Explainer(Callable(bag), precision="int8")


@pytest.mark.parametrize("method", ["mase", "kernel-shap", "partition-shap", "occlusion", "mase-paper"])
def test_without_instructions_for_half_precision_float32_answers(small_bert, slow_bfloat16, method):
    asked, exact = (
        mase.Explainer(*small_bert, method=method, n_samples=60, precision=precision)("A good film")
        for precision in ("bfloat16", "float32")
    )
    assert asked.scores.tolist() == exact.scores.tolist()
    assert asked.fit.n_queries == exact.fit.n_queries
    (note,) = [note for note in asked.fit.warnings if note.code == "float32-instead"]
    assert "no instructions for bfloat16" in note.message


def test_which_processors_multiply_bfloat16(monkeypatch):
    from mase.models.devices import multiplies_bfloat16

    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    assert multiplies_bfloat16(cpu)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    assert not multiplies_bfloat16(cpu)
    for capability, expected in [((7, 5), False), ((8, 0), True), ((9, 0), True)]:  # a T4, an A100, an H100
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, it=capability: it)
        assert multiplies_bfloat16(cuda) is expected


def test_checksum_of_scalars_empty_tensors_and_other_types():
    from mase.models.checksum import checksum

    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(2, 2).to(torch.bfloat16))
    module.register_buffer("empty", torch.empty(0))
    first = checksum(module)
    module[0].num_batches_tracked += 1
    assert checksum(module) != first


def test_sigmoid_outputs_are_recognised_as_separate_questions():
    model = TorchModule(Wrapped(lambda z: z.sigmoid(), classes=3), tokenize=whitespace_ids)
    expected = Wrapped(lambda z: z.sigmoid(), classes=3).eval()(torch.tensor([whitespace_ids(TEXT)])).detach().numpy()
    assert model.predict([TEXT]) == pytest.approx(expected)


@pytest.mark.parametrize(
    "wrap", [lambda z: z * 0.1 + 0.5, lambda z: z.sigmoid().clamp(1e-6, 1), lambda z: z.sigmoid().detach()]
)
def test_columns_that_may_be_logits_or_probabilities_are_asked_about(wrap):
    with pytest.raises(OptionError, match="outputs='logits', or outputs='probabilities' and multilabel=True"):
        explain(Wrapped(wrap, classes=3))
    logits = TorchModule(Wrapped(wrap, classes=3), tokenize=whitespace_ids, outputs="logits")
    assert logits.predict([TEXT]).sum() == pytest.approx(1)


def test_columns_of_a_linear_layer_are_logits_also_between_0_and_1():
    small = Wrapped(lambda z: z, classes=3)
    with torch.no_grad():
        small.inner.head.weight.mul_(0.01)
        small.inner.head.bias.fill_(0.5)
    assert TorchModule(small, tokenize=whitespace_ids).predict([TEXT]).sum() == pytest.approx(1)


@pytest.mark.parametrize("shape", [lambda z: z, lambda z: z[:, 0]])
def test_one_column_of_a_linear_layer_is_a_logit_also_between_0_and_1(shape):
    module = Wrapped(lambda z: shape(z), classes=1)
    with torch.no_grad():
        module.inner.head.weight.mul_(0.01)
        module.inner.head.bias.fill_(0.5)
    chance = TorchModule(module, tokenize=whitespace_ids, labels=["no", "yes"]).predict([TEXT])[0, 1]
    logit = module.eval()(torch.tensor([whitespace_ids(TEXT)])).sum()
    assert chance == pytest.approx(float(logit.sigmoid().detach()))


def test_probabilities_that_leave_0_to_1_later_are_refused():
    """What 32 random inputs look like is a guess; the text itself may tell otherwise."""
    model = TorchModule(Wrapped(lambda z: z[:, :1].sigmoid() * (1 if len(z) > 1 else 3)), tokenize=whitespace_ids)
    assert model.labels == ("0", "1")
    with pytest.raises(ModelError, match="expected probabilities in \\[0, 1\\]; pass outputs='logits'"):
        mase.Explainer(model)(TEXT)


def test_class_numbers_are_no_scores():
    with pytest.raises(ModelError, match="no class numbers"):
        explain(Wrapped(lambda z: z.argmax(-1), classes=3))


def test_threads_take_turns_with_a_module():
    """Two explanations of one module at once: each as alone, and the module as it was."""
    module = Wrapped(lambda z: z).train()
    model = TorchModule(module, tokenize=whitespace_ids)
    texts = [TEXT, TEXT.replace("good", "dull"), "a film", "one more of these slow ones"]
    explainer = mase.Explainer(model, n_samples=60)
    alone = [explainer(text).scores.tolist() for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: explainer(text).scores.tolist(), texts * 6))
    assert together == alone * 6
    assert all(part.training for part in module.modules())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


@pytest.mark.parametrize("write", [lambda ids: ids.add_(1), lambda ids: ids.view(-1), lambda ids: ids[:, 0].fill_(5)])
@pytest.mark.parametrize("batch_size", [1, 16])
def test_modules_may_write_to_their_input(write, batch_size):
    class Writes(SmallLSTM):
        def forward(self, ids):
            answer = super().forward(ids)
            write(ids)
            return answer

    torch.manual_seed(3)
    module = Writes()
    torch.manual_seed(3)
    plain = mase.Explainer(TorchModule(SmallLSTM(), tokenize=whitespace_ids), n_samples=60)(TEXT)
    found = mase.Explainer(TorchModule(module, tokenize=whitespace_ids), n_samples=60, batch_size=batch_size)(TEXT)
    assert found.scores == pytest.approx(plain.scores, abs=1e-6)


def test_modules_of_one_input_length():
    class Flat(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(500, 4, padding_idx=0)
            self.head = torch.nn.Linear(20 * 4, 2)

        def forward(self, ids):
            return self.head(self.embed(ids).flatten(1))

    def padded(text):
        ids = whitespace_ids(text)
        return ids + [0] * (20 - len(ids))

    found = mase.Explainer(TorchModule(Flat(), tokenize=padded, labels=["a", "b"], pad_id=0), n_samples=100)(TEXT)
    assert found.words == tuple(TEXT.split())
    assert [token.score for token in found.tokens[9:]] == [0.0] * 11
    assert TorchModule(Flat(), tokenize=padded, pad_id=0).predict([TEXT, "good"]).shape == (2, 2)


def test_out_of_memory_halves_the_batches_of_predictions_too():
    seen = []

    def wrap(logits):
        seen.append(len(logits))
        if len(logits) > largest:
            raise torch.OutOfMemoryError("out of memory")
        return logits

    texts = [" ".join(TEXT.split()[i % 5 :]) for i in range(100)]
    largest = 100
    model = TorchModule(Wrapped(wrap), tokenize=whitespace_ids)
    expected = model.predict(texts)
    largest = 6
    seen.clear()
    assert model.predict(texts) == pytest.approx(expected, abs=1e-6)
    assert max(seen) == 20
    assert sum(size for size in seen if size <= largest) == 100
    largest = 0
    with pytest.raises(ModelError, match="single input"):
        model.predict(texts)


def test_out_of_memory_on_a_cpu_is_recognised():
    from mase.models.devices import out_of_memory

    with pytest.raises(RuntimeError) as caught:
        torch.empty(10**15)
    assert out_of_memory(caught.value)
    assert not out_of_memory(RuntimeError("shapes do not match"))

    def starving(logits):
        if len(logits) == 1:
            raise torch.OutOfMemoryError("out of memory")
        return logits

    with pytest.raises(ModelError, match="single text"):
        explain(Wrapped(starving))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda text: 1 / 0, ModelError), (lambda text: None, ShapeError), (lambda text: "ids", ShapeError),
        (lambda text: torch.ones(1, 3), ShapeError), (lambda text: [1.5, 2.5], ShapeError),
        (lambda text: ([11], [(0, 99)]), ShapeError), (lambda text: ([11], [(-3, 2)]), ShapeError),
        (lambda text: ([11], [(3, 1)]), ShapeError), (lambda text: ([11], [5]), ShapeError),
    ],
)  # fmt: skip
def test_what_tokenize_returns_is_checked(answer, error):
    with pytest.raises(error, match="tokenize"):
        TorchModule(SmallLSTM(), tokenize=answer).encode("some text")


def test_spans_may_come_as_lists():
    assert TorchModule(SmallLSTM(), tokenize=lambda text: [[11, 12], [[0, 4], [5, 9]]]).encode("some text").spans == (
        (0, 4),
        (5, 9),
    )


def test_sigma_per_word_with_a_word_that_cannot_move():
    module = SmallLSTM()
    with torch.no_grad():
        module.words.weight[whitespace_ids("good")[0]] = 0
    model = TorchModule(module, tokenize=whitespace_ids)
    p = len(TEXT.split())
    for sigma in (np.full(p, 0.1), 0.01 * np.eye(p)):
        found = mase.Explainer(model, method="mase-nlgp", sigma=sigma, n_samples=100)(TEXT)
        assert dict(found.as_list())["good"] == 0.0
        assert found.scores == pytest.approx(
            mase.Explainer(model, method="mase-nlgp", n_samples=100)(TEXT).scores, abs=1e-6
        )


def test_random_states_of_numpy_and_python_are_restored():
    import random

    def wrap(logits):
        random.random()
        np.random.rand()  # noqa: NPY002
        return logits

    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    explain(Wrapped(wrap))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


def test_modules_and_labels_of_another_type():
    with pytest.raises(OptionError, match=r"torch\.nn\.Module"):
        TorchModule(3, tokenize=whitespace_ids)
    with pytest.raises(OptionError, match="one name per class"):
        TorchModule(SmallLSTM(), tokenize=whitespace_ids, labels="ab")


def test_hugging_face_needs_a_tokenizer_and_takes_a_layer(small_bert):
    with pytest.raises(OptionError, match="tokenizer"):
        HuggingFace(small_bert[0])
    named = HuggingFace(*small_bert, enter="bert.embeddings")
    plain = mase.Explainer(*small_bert, n_samples=60)(TEXT)
    assert mase.Explainer(named, n_samples=60)(TEXT).scores == pytest.approx(plain.scores)


# --- a process of its own -------------------------------------------------------------------------------------------


class Recorded:
    """The C library, with what it answers to mallopt."""

    def __init__(self):
        self.library, self.answers = ctypes.CDLL(None), {}

    def mallopt(self, option, value):
        self.answers[option] = self.library.mallopt(option, value)


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc"
)
def test_a_settled_process_keeps_its_memory_from_batch_to_batch(monkeypatch):
    """Glibc takes both thresholds, and the threads are as many as were asked for."""
    recorded, threads = Recorded(), torch.get_num_threads()
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: recorded)
    settle()
    assert torch.get_num_threads() == threads
    assert recorded.answers == {-1: 1, -3: 1}
    settle(threads + 1)
    assert torch.get_num_threads() == threads + 1
    torch.set_num_threads(threads)


@pytest.mark.parametrize("wrong", [0, 1, -3, 10_000, "3"])
def test_hugging_face_input_lengths_are_checked(small_bert, wrong):
    with pytest.raises(OptionError, match=r"max_length is .* expected an integer from 3 to "):
        HuggingFace(*small_bert, max_length=wrong)


def test_a_regression_is_no_classifier(small_bert):
    module, tokenizer = copy.deepcopy(small_bert[0]), small_bert[1]
    module.config.problem_type = "regression"
    with pytest.raises(CapabilityError, match="expected a classifier"):
        HuggingFace(module, tokenizer)
