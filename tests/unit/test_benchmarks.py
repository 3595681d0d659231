"""What an explanation costs, checked by counting and on the committed figures: nothing here is timed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import mase
from mase.estimators.linear import LeastSquares
from mase.methods import resolve
from mase.models import bundled
from mase.models.base import Binding
from mase.models.batching import ask
from mase.pipeline import measure
from mase.solve.distributions import covariance
from mase.solve.problem import Problem
from mase.spaces import TokenScale
from mase.testing import FunctionProbe, linear

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
TEXT = "a dull story told at length , superb acting and an ending that moved me more than I would have thought"


def result(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def batches(n, batch_size):
    """Return the sizes of the fewest batches that hold n rows, the last two of one size."""
    full, rest = divmod(n, batch_size)
    if not full or not rest:
        return [batch_size] * full + [rest] * bool(rest)
    return [batch_size] * (full - 1) + [-(-(batch_size + rest) // 2), (batch_size + rest) // 2]


def python_calls(call):
    """Return how many Python functions a call runs."""
    n = 0

    def count(_frame, event, _argument):
        nonlocal n
        n += event == "call"

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return n


def explained(probe, method="mase", **options):
    return measure(probe, resolve(method, **options), 0, np.random.default_rng(0))


# Committed figures: ratios within one run, so that they hold on other machines.


@pytest.mark.pages
def test_committed_overhead_holds_the_documented_lines():
    core = result("core")
    ratios = core["ratio to best bare"]
    # The aim is 1.10 on the LSTMs. The Gaussian process of the default misses it: see benchmarks/README.md.
    assert ratios["explanation, mase"] <= 2.55
    assert core["default"]["ratio to its forwards"] <= 2.55
    assert ratios["explanation, mase-paper"] <= 1.25
    best = min(one["median"] for name, one in core["seconds"].items() if name.startswith("bare"))
    assert core["seconds"]["free model, 64 coordinates"]["median"] <= 1.5 * best


@pytest.mark.pages
@pytest.mark.parametrize("target", bundled.BUNDLED)
def test_committed_evaluations_hold_the_documented_lines(target):
    found = result("evaluations")["targets"][target]
    assert found["equal error"]["times fewer"] >= 5
    assert found["equal Delta Accuracy"]["times fewer"] >= 5


@pytest.mark.pages
def test_committed_cost_on_the_bert_holds_its_goals():
    found = result("bert")
    assert found["ratio to best bare"]["explanation, float32"] <= 1.05
    assert found["half precision"]["times faster"] >= 1.8
    assert all(agreement["same seed"] >= 0.99 for agreement in found["half precision"]["Spearman"].values())


@pytest.mark.pages
def test_committed_figures_of_the_system_hold_their_goals():
    """The goals beside the figures of the page: memory, start-up, batch sizes, mixed lengths, two processes."""
    found = result("system")
    for name, goal in found["goals"].items():
        relation, _, limit = goal.partition(" ")
        figure = found["figures"][name]
        if relation == "about":
            assert abs(figure) <= 1
        else:
            assert figure <= float(limit) if relation == "<=" else figure >= float(limit), name


@pytest.mark.pages
def test_all_benchmarks_together_took_less_than_half_an_hour():
    # `make bench` leaves out what takes longer, and what needs a GPU, a model of another package or a browser.
    apart = ("bert-gpu", "chat", "chat_logprobs", "cite_speed", "cite_whole", "corpora", "inputs", "mpnet", "report")
    paths = [path for path in RESULTS.glob("*.json") if path.stem not in apart]
    seconds = [json.loads(path.read_text(encoding="utf-8"))["wall_seconds"] for path in paths]
    assert len(seconds) == 9
    assert sum(seconds) < 30 * 60


# Counts.


@pytest.mark.parametrize(("n", "batch_size"), [(1000, 64), (1000, 200), (1000, 7), (103, 64), (12, 64)])
def test_each_round_asks_in_the_fewest_batches_without_a_short_one(n, batch_size):
    probe = FunctionProbe(linear(np.linspace(-1, 1, 64)).function, 64, batch_size=batch_size)
    found = explained(probe, n_samples=n)
    size = -(-n // 4)
    rounds = [min(size, n - start) for start in range(0, n, size)]
    asked = [one for one in probe.batches if one > 1]  # 1: the text itself, which a real probe remembers
    assert asked == [one for round_size in rounds for one in batches(round_size, batch_size)]
    assert sum(asked) == n == found.cost.n_queries - probe.n_setup - found.cost.n_compared


@pytest.mark.slow
def test_each_evaluation_that_is_stated_is_a_row_that_the_module_ran_once():
    model = mase.models.load("lstm-imdb")
    explainer = mase.Explainer(model, n_samples=1000, batch_size=64)
    explainer(TEXT)
    rows = []
    handle = model.module.register_forward_pre_hook(lambda _module, args: rows.append(len(args[0])))
    try:
        found = explainer(TEXT)
    finally:
        handle.remove()
    assert sum(rows) == found.fit.n_queries
    assert max(rows) == 64
    assert len(rows) - 2 < 1.5 * sum(rows) / 64  # batches are full, or nearly, but for the text and its reference


def test_the_batch_that_is_chosen_is_larger_where_the_layers_are_recurrent():
    """It multiplies one position of all rows at a time, and needs more rows for the same product."""

    class Classifier(torch.nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.words, self.layer, self.head = torch.nn.Embedding(50, 128), layer, torch.nn.Linear(128, 2)

        def forward(self, ids):
            rows.append(len(ids))
            found = self.layer(self.words(ids))
            return self.head((found[0] if isinstance(found, tuple) else found)[:, -1])

    chosen = {}
    for layer in (torch.nn.Linear(128, 128), torch.nn.GRU(128, 128, batch_first=True)):
        rows = []
        model = mase.models.TorchModule(Classifier(layer), tokenize=lambda text: [len(word) for word in text.split()])
        mase.Explainer(model, method="mase-mask", n_samples=1024, reference="zero")("word " * 32)
        chosen[type(layer).__name__] = max(rows)
    assert 8 < chosen["Linear"] < chosen["GRU"] < 1024


@pytest.mark.slow
def test_python_calls_do_not_grow_with_the_rows():
    """Four times the rows in as many batches: a loop over the rows would show."""
    gamma = np.linspace(-1, 1, 64)

    def calls(n, batch_size):
        probe = FunctionProbe(linear(gamma).function, 64, batch_size=batch_size)
        return python_calls(lambda: explained(probe, n_samples=n))

    calls(400, 80)  # imports
    assert calls(1600, 320) < 1.2 * calls(400, 80)


# What makes the counts possible gives the same answers.


def nearly_alike(alike, n=300, p=12):
    """Return a problem of p coordinates in very different units; the first two differ by a share of `alike`."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((n, p))
    z[:, 1] = z[:, 0] + alike * z[:, 1]
    y, units = z @ rng.standard_normal(p) + rng.standard_normal(n), np.geomspace(1e-4, 1e4, p)
    return Problem(z * units, y, rng.uniform(0.5, 2, n), None, True, covariance(1.0, units)), units


def test_normal_equations_lose_no_digits_that_matter():
    problem, units = nearly_alike(1e-5)
    root = np.sqrt(problem.weights)[:, None]
    rows = np.hstack([problem.z / units, np.ones((problem.n, 1))]) * root
    exact = np.linalg.lstsq(rows, problem.y * root[:, 0], rcond=None)[0][:-1] / units
    assert LeastSquares().fit(problem).gamma == pytest.approx(exact, rel=1e-8)
    assert LeastSquares().solve(problem) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("alike", [0.0, 1e-8])
def test_coordinates_that_cannot_be_told_apart_are_left_to_ridge(alike):
    problem, _ = nearly_alike(alike)
    found = LeastSquares().fit(problem)
    assert "cannot separate" in found.fallback
    assert LeastSquares().solve(problem) == pytest.approx(found.gamma)


def test_an_opened_probe_answers_as_a_closed_one_and_leaves_the_module_alone():
    model = mase.models.load("lstm-imdb")
    tokens = model.encode(TEXT)
    p = len(tokens)
    probe = model.bind(Binding(tokens, TokenScale(), np.arange(p), p, (0,), 0.0))
    rows = np.random.default_rng(0).random((30, p))
    one_by_one = np.concatenate([probe.scores(rows[start : start + 10], np.arange(10)) for start in (0, 10, 20)])
    before, as_before = model.predict([TEXT]), model.module.training
    model.module.train()
    try:
        assert ask(probe, rows, 10) == pytest.approx(one_by_one, abs=1e-6)
        with pytest.raises(RuntimeError, match="stop"):
            _stop_inside(probe, model.module)
        assert model.module.training
    finally:
        model.module.train(as_before)
    assert np.array_equal(model.predict([TEXT]), before)  # no hook was left behind


def _stop_inside(probe, module):
    with probe.opened():
        assert not module.training
        raise RuntimeError("stop")
