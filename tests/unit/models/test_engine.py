"""Tests of `mase.models.engine`."""

import numpy as np
import pytest
import torch
from tests.unit.models.modules import TEXT, Around

import mase
from mase.errors import CapabilityError
from mase.models import TorchModule
from mase.models.engine import Engine
from mase.testing import SmallLSTM, Wrapped, whitespace_ids


def test_embedding_layer_is_found_or_asked_for():
    two = torch.nn.Sequential(torch.nn.Embedding(5, 2), torch.nn.Embedding(5, 2))
    with pytest.raises(CapabilityError, match=r"2 layers of torch\.nn\.Embedding \(0, 1\)"):
        TorchModule(two, tokenize=whitespace_ids)
    with pytest.raises(CapabilityError, match=r"0 layers of torch\.nn\.Embedding"):
        TorchModule(torch.nn.Linear(2, 2), tokenize=whitespace_ids)
    with pytest.raises(CapabilityError, match="no layer 'wrong'"):
        TorchModule(SmallLSTM(), tokenize=whitespace_ids, embedding="wrong")
    assert TorchModule(Wrapped(lambda z: z), tokenize=whitespace_ids, embedding="inner.words").predict(
        [TEXT]
    ).shape == (1, 2)


@pytest.mark.parametrize(
    "method", ["mase", "occlusion", "mase-nlgp", "gradient", "gradient-x-input", "permutation-importance"]
)
def test_modules_that_write_to_their_embeddings_are_explained_like_others(method):
    plain, written = (
        mase.Explainer(
            TorchModule(Around(in_place=flag), tokenize=whitespace_ids, embedding="words"),
            method=method,
            n_samples=90,
            evidence=0,
        )
        for flag in (False, True)
    )
    assert written("one two three four").scores == pytest.approx(plain("one two three four").scores, abs=1e-5)


@pytest.mark.filterwarnings("ignore:Guards may run slower:RuntimeWarning")  # PyTorch says so on Python 3.13.0
def test_compiled_modules_are_run_as_they_are_written():
    module = Around(in_place=False)
    compiled = torch.compile(module, backend="eager", dynamic=True)
    for n in (7, 8, 9):
        compiled(torch.randint(0, 500, (n, 4)))
    for method in ("mase-nlgp", "occlusion"):
        theirs, ours = (
            mase.Explainer(
                TorchModule(one, tokenize=whitespace_ids, embedding=name), method=method, n_samples=90, evidence=0
            )
            for one, name in ((compiled, "_orig_mod.words"), (module, "words"))
        )
        assert np.abs(ours("one two three four").scores).max() > 1e-3
        assert theirs("one two three four").scores == pytest.approx(ours("one two three four").scores, abs=1e-6)


def test_a_layer_that_is_passed_by_is_an_error():
    """As if compiled code did not see the hook."""
    module = Around(in_place=False)
    explainer = mase.Explainer(
        TorchModule(module, tokenize=whitespace_ids, embedding="words"), n_samples=20, evidence=0
    )
    explainer("one two three")
    forward, calls = module.forward, []

    def cached(ids):
        calls.append(len(ids))
        return forward(ids) if len(ids) == 1 else torch.zeros(len(ids), 2)

    module.forward = cached
    with pytest.raises(CapabilityError, match=r"ran 0 times in a forward pass, .*pass the one before compilation"):
        explainer("one two three four")


@pytest.mark.parametrize(("text", "n_rows"), [("one", 2), ("one two", 3), ("one two three", 2)])
def test_rows_that_tell_batch_from_time_are_counted(text, n_rows, small_lstm):
    """The text, the mask token in all places and, where these are as many as the tokens, the text again."""
    seen = []
    model = TorchModule(small_lstm, tokenize=whitespace_ids, labels=["no", "yes"], mask_id=2)
    mase.Explainer(model, method="occlusion", evidence=0)("the first text is checked")
    with small_lstm.words.register_forward_pre_hook(lambda _module, args: seen.append(len(args[0]))):
        found = mase.Explainer(model, method="occlusion", evidence=0)(text)
    assert seen[0] == n_rows
    assert n_rows + len(text.split()) < found.fit.n_queries <= n_rows + len(text.split()) + 4  # and some rows again


class Interrupted(torch.nn.Module):
    """Passes no gradient on before its last layer, as a module with quantized layers."""

    def __init__(self):
        super().__init__()
        self.words, self.head = torch.nn.Embedding(500, 4), torch.nn.Linear(4, 2)

    def forward(self, ids):
        return self.head(self.words(ids).mean(1).detach())


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("method", ["gradient", "gradient-x-input"])
def test_a_module_that_passes_no_gradient_on_is_an_error(method, frozen):
    model = TorchModule(Interrupted().requires_grad_(not frozen), tokenize=whitespace_ids)
    with pytest.raises(CapabilityError, match="no gradient with respect to the embeddings"):
        mase.Explainer(model, method=method, evidence=0)("one two three")


class Doubled(torch.nn.Linear):
    """A head with a `forward` of its own."""

    def forward(self, vectors):
        return 2 * super().forward(vectors)


class Quantized(torch.nn.Linear):
    """A head with weights of one byte, as those of bitsandbytes."""

    def __init__(self, n_inputs, n_outputs):
        super().__init__(n_inputs, n_outputs)
        self.weight = torch.nn.Parameter((self.weight.detach() * 100).to(torch.int8), requires_grad=False)

    def forward(self, vectors):
        return torch.nn.functional.linear(vectors.float(), self.weight / 100, self.bias)


def in_memory(module):
    return module


def offloaded(module):
    return pytest.importorskip("accelerate").cpu_offload(module, execution_device=torch.device("cpu"))


@pytest.mark.parametrize("kind", [torch.nn.Linear, Doubled, Quantized])
@pytest.mark.parametrize("kept", [in_memory, offloaded])
def test_a_head_gives_the_same_scores_in_half_precision(kind, kept):
    """The other layers compute no products, and so the head alone could round."""
    layers = torch.nn.Embedding(500, 4), torch.nn.Flatten(), kind(12, 2)
    module, ids = torch.nn.Sequential(*layers), torch.tensor([[1, 2, 3], [4, 5, 6]])
    expected = module(ids).detach()
    module = kept(module)
    module.register_buffer("device", torch.zeros(()))  # all others are offloaded
    assert torch.equal(Engine(module, "0", module, half=True).forward(ids), expected)
