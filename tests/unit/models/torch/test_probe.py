"""Tests of `mase.models.torch.probe`: modules whose words are not where they seem to be."""

import numpy as np
import pytest
import torch
import transformers
from tests.unit.models.modules import TEXT as TORCH_PROBE_TEXT
from tests.unit.models.modules import explain
from tests.unit.models.tiny import PLAIN, SIZES, classifier, family, word_tokenizer
from torch import nn

import mase
from mase.errors import CapabilityError
from mase.methods import resolve
from mase.models import HuggingFace, TorchModule
from mase.testing import SmallLSTM, Wrapped, whitespace_ids

TEXT = "the film is superb and warm but dull"


UNKNOWN, START = 1, 2


class Classifier(nn.Module):
    """Reads the ids as a subclass says."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(500, 8)
        self.other = nn.Embedding(7, 8)
        self.bag = nn.EmbeddingBag(500, 2, mode="sum")
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, ids):
        return self.read(self.words(ids))

    def read(self, vectors):
        return 3 * self.head(self.lstm(vectors)[0].mean(dim=1))


class Backwards(Classifier):
    def forward(self, ids):
        return super().forward(ids.flip(1))


class Shifted(Classifier):
    def forward(self, ids):
        return super().forward(torch.cat([torch.full_like(ids[:, :1], START), ids[:, :-1]], dim=1))


class WithBag(Classifier):
    def forward(self, ids):
        return super().forward(ids) + self.bag(ids)


class WithHash(Classifier):
    def forward(self, ids):
        return self.read(self.words(ids) + self.other(ids % 7))


class RuledOut(nn.Module):
    """A module whose first class has the logit -inf, whatever it reads."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, ids):
        scores = self.inner(ids)
        return torch.cat([torch.full_like(scores[:, :1], -torch.inf), scores], dim=1)


class Counting(Classifier):
    """Scales all vectors by the share of known words, as ESM does."""

    def __init__(self):
        super().__init__()
        table = self.words

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = table

            def forward(self, ids):
                return self.table(ids) * (ids != UNKNOWN).float().mean(dim=1)[:, None, None]

        self.words = Block()


class Noisy(Classifier):
    """Draws random numbers while it is evaluated, more of them the more rows its embedding has."""

    def forward(self, ids):
        return self.read(nn.functional.dropout(self.words(ids), 0.5, training=True))


def explained(module, **options):
    model = TorchModule(module, tokenize=whitespace_ids, labels=["no", "yes"], embedding="words", **options)
    return mase.Explainer(model, n_samples=64)(TEXT)


@pytest.mark.parametrize("reference", [{"unk_id": UNKNOWN}, {"pad_id": 0}, {}])
@pytest.mark.parametrize(
    ("module", "said"),
    [
        (Backwards, "in another order"),
        (Shifted, "in another order"),
        (WithBag, "reads the tokens elsewhere"),
        (WithHash, "reads the tokens elsewhere"),
    ],
)
def test_modules_that_read_words_elsewhere_are_refused(module, said, reference):
    built = module()
    for _ in range(2):  # not the first time alone
        with pytest.raises(CapabilityError, match=said):
            explained(built, **reference)


def test_a_layer_that_looks_at_other_tokens_is_refused():
    with pytest.raises(CapabilityError, match="do not belong to the tokens one by one"):
        explained(Counting(), unk_id=UNKNOWN)


@pytest.mark.parametrize("module", [Classifier, Noisy])
def test_others_are_explained_and_checked_once(module):
    calls, built = [], module()
    built.lstm.register_forward_hook(lambda *_: calls.append(1))
    first = explained(built, unk_id=UNKNOWN)
    n_first = len(calls)
    second = explained(built, unk_id=UNKNOWN)
    assert np.array_equal(first.scores, second.scores)
    assert first.fit.n_queries == second.fit.n_queries
    assert len(calls) - n_first < n_first


def test_a_class_that_is_ruled_out_changes_nothing_for_the_others():
    def scores(module, embedding, labels):
        options = {"labels": labels, "embedding": embedding, "unk_id": UNKNOWN, "outputs": "logits"}
        model = TorchModule(module, tokenize=whitespace_ids, **options)
        return mase.Explainer(model, n_samples=64)(TEXT).scores

    ruled_out = scores(RuledOut(Classifier()), "inner.words", ["never", "no", "yes"])
    np.testing.assert_allclose(ruled_out, scores(Classifier(), "words", ["no", "yes"]), atol=1e-6)
    with pytest.raises(CapabilityError, match="reads the tokens elsewhere"):
        scores(RuledOut(WithBag()), "inner.words", ["never", "no", "yes"])


def test_esm_that_counts_its_masks_is_refused_with_the_mask_alone():
    config = transformers.EsmConfig(
        **SIZES | PLAIN, max_position_embeddings=64, mask_token_id=4, token_dropout=True, num_labels=2
    )
    model = HuggingFace(classifier(config), word_tokenizer())
    with pytest.raises(CapabilityError, match="use another layer or reference"):
        mase.Explainer(model, n_samples=32)("w0 w1 w2 w3")
    found = mase.Explainer(model, n_samples=32, reference="unk")("w0 w1 w2 w3")
    without = found.words[1]
    asked = mase.Explainer(model, n_samples=32, reference="unk").predict_without(found, [1])
    expected = model.predict([f"w0 {'[UNK]' if without == 'w1' else without} w2 w3"])[0]
    assert asked.target_probability == pytest.approx(expected[found.prediction.index], abs=1e-5)


class Skipping(Classifier):
    """Leaves the token 1 out of the mean, which stands for padding and for unknown words."""

    def forward(self, ids):
        kept = (ids != UNKNOWN).float()[:, :, None]
        return 3 * self.head((self.lstm(self.words(ids))[0] * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1))


def test_a_reference_that_the_module_leaves_out_as_padding():
    found = explained(Skipping(), unk_id=UNKNOWN, pad_id=UNKNOWN)
    assert np.array_equal(found.scores, explained(Skipping(), pad_id=UNKNOWN).scores)
    assert found.scores.any()
    with pytest.raises(CapabilityError, match="reads the tokens elsewhere"):
        explained(Skipping(), unk_id=UNKNOWN)


@pytest.mark.parametrize("pad_token", ["[UNK]", None])
def test_a_padding_token_that_is_the_unknown_one_as_of_gpt2(pad_token):
    """GPT-2 and Llama look for the last token that is no padding by its id, and have no other token for padding."""
    config = transformers.GPT2Config(
        vocab_size=15, n_embd=16, n_layer=1, n_head=2, n_positions=64, pad_token_id=UNKNOWN, num_labels=2
    )
    tokenizer = word_tokenizer(("$A", "$A $B"), pad_token=pad_token, mask_token=None)
    found = mase.Explainer(HuggingFace(classifier(config), tokenizer), n_samples=32)("w0 w1 w2 w3")
    config.pad_token_id = None
    assert found.scores == pytest.approx(
        mase.Explainer(HuggingFace(classifier(config), tokenizer), n_samples=32)("w0 w1 w2 w3").scores
    )


def test_token_types_of_zero_are_not_none():
    """GPT-2 adds the vector of the type, which is in the table of words."""
    config = transformers.GPT2Config(
        vocab_size=15, n_embd=16, n_layer=1, n_head=2, n_positions=64, pad_token_id=0, num_labels=2
    )
    module, tokenizer = classifier(config), word_tokenizer(("$A", "$A $B:1"))
    model = HuggingFace(module, tokenizer)
    encoded = tokenizer("w0 w1 w2 w3", return_tensors="pt")
    assert "token_type_ids" in encoded
    with torch.no_grad():
        expected = module(**encoded).logits.softmax(dim=-1)[0].numpy()
    assert model.predict(["w0 w1 w2 w3"])[0] == pytest.approx(expected, abs=1e-6)
    found = mase.Explainer(model, n_samples=32)("w0 w1 w2 w3")
    assert list(found.prediction.probabilities.values()) == pytest.approx(expected, abs=1e-6)


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
        TorchModule(Wrapped(lambda z: z).to(torch.bfloat16), tokenize=whitespace_ids), method="mase-nlgp+sigma=0.02"
    )(TORCH_PROBE_TEXT)
    plain = mase.Explainer(TorchModule(Wrapped(lambda z: z), tokenize=whitespace_ids), method="mase-nlgp+sigma=0.02")(
        TORCH_PROBE_TEXT
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
    found = mase.Explainer(TorchModule(module, tokenize=whitespace_ids), link="logit")(TORCH_PROBE_TEXT, target=0)
    expected = (module.embed(torch.tensor(whitespace_ids(TORCH_PROBE_TEXT))) @ module.weight).tolist()
    assert found.scores == pytest.approx(expected, abs=1e-3)


def test_sigma_per_word_with_a_word_that_cannot_move():
    module = SmallLSTM()
    with torch.no_grad():
        module.words.weight[whitespace_ids("good")[0]] = 0
    model = TorchModule(module, tokenize=whitespace_ids)
    p = len(TORCH_PROBE_TEXT.split())
    for sigma in (np.full(p, 0.1), 0.01 * np.eye(p)):
        found = mase.Explainer(model, method=resolve("mase-nlgp", sigma=sigma), n_samples=100)(TORCH_PROBE_TEXT)
        assert dict(found.as_list())["good"] == 0.0
        assert found.scores == pytest.approx(
            mase.Explainer(model, method="mase-nlgp", n_samples=100)(TORCH_PROBE_TEXT).scores, abs=1e-6
        )


def small_bert():
    module, tokenizer = family("bert")
    return HuggingFace(module.to("meta"), tokenizer)


def small_lstm():
    return TorchModule(SmallLSTM().to("meta"), tokenize=whitespace_ids)


@pytest.mark.parametrize("make", [small_bert, small_lstm])
def test_a_model_without_its_weights_is_an_error(make):
    model = make()
    for ask in (mase.Explainer(model), lambda text: model.predict([text])):
        with pytest.raises(CapabilityError, match=r"device meta.*load its weights"):
            ask("w1 w2")


class Coupled(Classifier):
    """A module whose answers depend on the other rows of a batch."""

    def read(self, vectors):
        hidden = torch.tanh(vectors).sum(dim=1)
        return 3 * self.head(hidden - hidden.mean(dim=0) / 2)


@pytest.mark.parametrize("batch_size", [None, 1])
def test_a_text_is_asked_alone_and_not_beside_its_reference(batch_size):
    model = TorchModule(Coupled().eval(), tokenize=whitespace_ids, embedding="words", pad_id=0, outputs="logits")
    found = mase.Explainer(model, method="occlusion", batch_size=batch_size)(TEXT, target=1)
    ids = whitespace_ids(TEXT)

    def alone(ids):
        with torch.no_grad():
            return float(torch.softmax(Coupled().eval()(torch.tensor([ids])), dim=1)[0, 1])

    assert found.response == pytest.approx(alone(ids), abs=1e-6)
    assert found.target_probability == pytest.approx(model.predict([TEXT])[0, 1], abs=1e-6)
    masked = [alone([*ids[:i], 0, *ids[i + 1 :]]) for i in range(len(ids))]
    assert found.scores == pytest.approx(alone(ids) - np.array(masked), abs=1e-5)


class Dropout(Classifier):
    def read(self, vectors):
        return self.head(nn.functional.dropout(torch.tanh(vectors).sum(dim=1), 0.3, training=True))


@pytest.mark.parametrize("method", ["integrated-gradients", "sequential-ig", "mase-gradient"])
def test_gradients_of_a_module_that_draws_are_not_exact(method):
    model = TorchModule(Dropout(), tokenize=whitespace_ids, embedding="words", outputs="logits")
    found = mase.Explainer(model, method=method, n_samples=200)(TEXT)
    assert "not-deterministic" in {note.code for note in found.notes}
    assert (found.standard_errors > 0).all()


def test_a_gradient_is_not_negligible_because_its_rows_stay_at_the_text():
    model = TorchModule(Classifier(), tokenize=whitespace_ids, embedding="words", outputs="logits")
    for method in ("gradient-x-input", "mase-nlgp+sigma=0.0001"):
        found = mase.Explainer(model, method=method, n_samples=60)(TEXT)
        assert found.scores.any()
        assert "negligible" not in {note.code for note in found.notes}
