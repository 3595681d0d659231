"""Tests of `mase.models.torch.engine`."""

import copy

import numpy as np
import pytest
import torch
from tests.unit.models.modules import TEXT, Around, explain
from torch import nn

import mase
from mase.errors import CapabilityError, ModelError
from mase.methods import resolve
from mase.models import TorchModule
from mase.models.base import Binding
from mase.models.torch.engine import Engine
from mase.testing import SmallLSTM, Wrapped, whitespace_ids


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
        if fails and len(calls) >= 6:  # the check of the layer passes over an error of its own
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


def test_the_autocast_of_a_user_changes_no_score(small_bert):
    explainer = mase.Explainer(*small_bert, n_samples=100)
    expected = explainer("a good film").scores.tolist()
    with torch.autocast("cpu", torch.bfloat16):
        assert explainer("a good film").scores.tolist() == expected
        assert torch.is_autocast_enabled("cpu")


def test_random_states_of_numpy_and_python_are_restored():
    import random

    def wrap(logits):
        random.random()
        np.random.rand()  # noqa: NPY002
        return logits

    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    explain(Wrapped(wrap))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


def test_a_module_that_overrides_train_is_told_of_both_modes():
    """Some switch a mode of their own there, as a fused layer does."""

    class Switched(Wrapped):
        own = True

        def train(self, mode=True):
            self.own = mode
            return super().train(mode)

    module = Switched(lambda logits: logits + 5.0 * module.own * torch.tensor([1.0, 0.0])).eval()
    model = TorchModule(module, tokenize=whitespace_ids, unk_id=1, labels=["no", "yes"])
    expected = model.predict([TEXT])
    module.train()
    assert np.array_equal(model.predict([TEXT]), expected)
    assert (module.own, module.training, module.inner.training) == (True, True, True)


@pytest.mark.parametrize("method", ["mase", "mase-gradient"])
def test_vectors_that_a_layer_clips_are_given_back(method):
    module = SmallLSTM()
    module.words.max_norm = 0.5
    before = state(module)
    model = TorchModule(module, tokenize=whitespace_ids, unk_id=1)
    found = mase.Explainer(model, method=method, n_samples=40)(TEXT)
    assert_same(before, state(module))
    with torch.no_grad():
        module.words.weight.renorm_(2, 0, 0.5)
    module.words.max_norm = None
    clipped = TorchModule(module, tokenize=whitespace_ids, unk_id=1)
    again = mase.Explainer(clipped, method=method, n_samples=40)(TEXT)
    assert found.scores == pytest.approx(again.scores, abs=1e-5)


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
@pytest.mark.slow
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


@pytest.mark.parametrize(("text", "n_rows"), [("one", 4), ("one two", 2), ("one two three", 2)])
def test_rows_that_tell_batch_from_time_are_counted(text, n_rows, small_lstm):
    """The text, and the mask token in all places; a row of one token twice."""
    seen = []
    model = TorchModule(small_lstm, tokenize=whitespace_ids, labels=["no", "yes"], mask_id=2)
    mase.Explainer(model, method="occlusion", evidence=0)("the first text is checked")
    with small_lstm.words.register_forward_pre_hook(lambda _module, args: seen.append(len(args[0]))):
        found = mase.Explainer(model, method="occlusion", evidence=0)(text)
    assert sum(seen[:2]) == n_rows
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


MASK, START, PAD = 2, 3, 4


class Body(nn.Module):
    """Reads ids (b, t) in an order that a subclass decides; the LSTM makes the result depend on that order."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.words = nn.Embedding(500, 6)
        self.again = nn.Embedding(500, 6)
        self.again.weight = self.words.weight
        self.lstm = nn.LSTM(6, 8, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, ids):
        return self.read(self.words(ids))

    def read(self, vectors):
        return 3 * self.head(self.lstm(vectors)[0].sum(dim=1))


class TimeFirst(Body):
    def forward(self, ids):
        return self.read(self.words(ids.T).transpose(0, 1))


class Padded(Body):
    def forward(self, ids):
        return self.read(self.words(nn.functional.pad(ids, (0, 3), value=PAD)))


class Prefixed(Body):
    def forward(self, ids):
        return self.read(self.words(nn.functional.pad(ids, (1, 0), value=START)))


class TimeFirstPadded(Body):
    def forward(self, ids):
        return self.read(self.words(nn.functional.pad(ids, (1, 2), value=PAD).T).transpose(0, 1))


class Twice(Body):
    def forward(self, ids):
        return self.read(self.words(ids)) * self.read(self.words(ids) * 2)


class TwiceInPlace(Body):
    def forward(self, ids):
        first = self.words(ids)
        first *= 2
        return self.read(first) * self.read(self.words(ids))


class Decoding(Body):
    """A second table with the same weights reads the words one position later."""

    def forward(self, ids):
        shifted = torch.cat([torch.full_like(ids[:, :1], START), ids[:, :-1]], dim=1)
        return self.read(self.words(ids)) * self.read(self.again(shifted))


class DecodingFirst(Body):
    """The first run lacks the last word."""

    def forward(self, ids):
        shifted = torch.cat([torch.full_like(ids[:, :1], START), ids[:, :-1]], dim=1)
        return self.read(self.again(shifted)) * self.read(self.words(ids))


class Backwards(Body):
    def forward(self, ids):
        return self.read(self.words(ids)) + self.read(self.words(ids.flip(1)))


class OtherWeights(Body):
    def __init__(self):
        super().__init__()
        self.again = nn.Embedding(500, 6)

    def forward(self, ids):
        return self.read(self.words(ids)) + self.read(self.again(ids))


class OtherVectors(Body):
    """The same weights, but the second layer also scales them."""

    def __init__(self):
        super().__init__()
        self.again.register_forward_hook(lambda _module, _args, output: output * 2)

    def forward(self, ids):
        return self.read(self.words(ids)) + self.read(self.again(ids))


READ = [Body, TimeFirst, Padded, Prefixed, TimeFirstPadded, Twice, TwiceInPlace, Decoding, DecodingFirst]


def adapted(module, **roles):
    return TorchModule(module.eval(), tokenize=whitespace_ids, embedding="words", labels=["no", "yes"], **roles)


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("text", ["one", "one two", "one two three four"])
def test_a_masked_word_is_masked_wherever_the_module_reads_it(kind, text):
    """Brute force: the module itself, on ids in which the word is the mask."""
    module, n = kind(), len(text.split())
    model = adapted(module, mask_id=MASK)
    probe = model.bind(Binding.of(model.encode(text), resolve("mase-mask", reference="mask").space, range(n)))
    kept = np.array([[row >> word & 1 for word in range(n)] for row in range(2**n)])
    ids = np.where(kept == 1, whitespace_ids(text), MASK)
    with torch.no_grad():
        expected = module(torch.tensor(ids)).numpy()
    assert np.ptp(expected[:, 0]) > 1e-3
    assert probe.scores(kept.astype(float), np.arange(len(kept))) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", READ)
def test_gradients_reach_every_place_of_a_word(kind):
    model = adapted(kind().double())
    probe = model.bind(Binding.of(model.encode("one two three"), resolve("mase-nlgp").space, range(3)))
    at, rows, step = np.full((3, 3), 0.9), np.arange(3), 1e-5 * np.eye(3)
    _, slopes = probe.gradients(at, rows, "logit", 1)
    rise = probe.scores(at + step, rows)[:, 1] - probe.scores(at - step, rows)[:, 1]
    assert np.abs(slopes[0]).max() > 1e-3
    assert slopes[0] == pytest.approx(rise / 2e-5, abs=1e-6)


@pytest.mark.parametrize("method", ["mase", "occlusion", "mase-nlgp"])
@pytest.mark.parametrize("roles", [{}, {"mask_id": MASK}])
@pytest.mark.parametrize("text", ["one", "one two", "one two three"])
def test_time_first_is_explained_as_batch_first_at_every_length(text, method, roles):
    """With as many rows as tokens the shapes of (b, t) and (t, b) are one."""
    first, second = (
        mase.Explainer(adapted(kind(), **roles), method=method, n_samples=20)(text) for kind in (Body, TimeFirst)
    )
    assert first.scores == pytest.approx(second.scores, abs=1e-5)
    assert first.fit.n_queries == second.fit.n_queries


class Offloaded(nn.Module):
    """Sums the vectors of two tables and of places, whose weights are all offloaded."""

    def __init__(self, tied):
        super().__init__()
        torch.manual_seed(3)
        self.words, self.again, self.places = nn.Embedding(500, 6), nn.Embedding(500, 6), nn.Embedding(8, 6)
        self.head = nn.Linear(6, 2)
        if tied:
            self.again.weight = self.words.weight

    def forward(self, ids):
        places = self.places(torch.arange(ids.shape[1]))
        return self.head((self.words(ids) + self.again(ids) + places).tanh().sum(dim=1))


@pytest.mark.parametrize("method", ["mase", "gradient"])
def test_offloaded_tables_are_one_if_they_have_the_same_vectors(method):
    expected, found = (
        mase.Explainer(adapted(keep(Offloaded(tied=True)), mask_id=MASK), method=method, n_samples=20)("one two three")
        for keep in (lambda module: module, offloaded)
    )
    assert expected.scores.any()
    assert found.scores.tobytes() == expected.scores.tobytes()
    with pytest.raises(CapabilityError, match="also embedded by 'again'"):
        mase.Explainer(adapted(offloaded(Offloaded(tied=False))), n_samples=20)("one two three")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Backwards, r"ran 2 times in one forward pass, .*embedding=\.\.\."),
        (OtherWeights, "also embedded by 'again', with other weights than by 'words'"),
        (OtherVectors, "also embedded by 'again', with the weights of 'words' but to other vectors"),
    ],
)
def test_words_that_could_not_be_masked_everywhere_are_an_error(kind, message):
    with pytest.raises(CapabilityError, match=message):
        mase.Explainer(adapted(kind()), n_samples=20)("one two three")
