"""Tests of `mase.models.reading`: modules that embed the words time first, padded, shifted or several times."""

import numpy as np
import pytest
import torch
from torch import nn

import mase
from mase.errors import CapabilityError
from mase.methods import resolve
from mase.models import TorchModule
from mase.models.protocol import Binding
from mase.testing import whitespace_ids

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


def offloaded(module):
    return pytest.importorskip("accelerate").cpu_offload(module, execution_device=torch.device("cpu"))


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
