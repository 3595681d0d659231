"""The competing methods under the same call: each against brute force, its own definition or the package it is known by."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import mase
from mase.baselines import PROCEDURES
from mase.baselines.partition_shap import PartitionShap
from mase.errors import CapabilityError, MissingDependencyError, ModelError, OptionError
from mase.measure import Effort, measure
from mase.methods import METHODS, Method, describe, resolve
from mase.models import Callable, load
from mase.regression.problem import Problem
from mase.regression.stopping import Stopping
from mase.testing import FunctionProbe, linear, smooth

TEXT = "I went in expecting a dull film and left delighted: superb acting, a clever story and a wonderful ending"
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "peers.json").read_text(encoding="utf-8"))
WHITE = ["gradient", "gradient-x-input", "integrated-gradients", "smoothgrad", "sequential-ig", "deep-shap"]
BLACK = ["lime", "lime-paper", "kernel-shap", "partition-shap", "occlusion", "permutation-importance", "random"]
BASELINES = [*WHITE, *BLACK]


def run(probe, method, seed=0, **overrides):
    return measure(probe, resolve(method, link="logit", **overrides), 0, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def lstm():
    return load("lstm-imdb")


# --- what they find -------------------------------------------------------------------------------------------------


def test_partition_shap_is_the_average_over_all_orders_of_its_tree():
    p, probe = 6, smooth(6)

    def orders(first, last):
        """Yield every order of the words that never interleaves two halves."""
        if last - first == 1:
            yield (first,)
            return
        middle = (first + last) // 2
        for left, right in itertools.product(orders(first, middle), orders(middle, last)):
            yield from (left + right, right + left)

    owen, count = np.zeros(p), 0
    for order in orders(0, p):
        rows = np.zeros((p + 1, p))
        for place, word in enumerate(order):
            rows[place + 1 :, word] = 1
        owen[list(order)] += np.diff(probe.function(rows))
        count += 1
    assert count == 2 ** (p - 1)
    assert run(probe, "partition-shap").estimate.gamma == pytest.approx(owen / count, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 10, 40, 200])
def test_partition_shap_keeps_its_budget_and_the_sum(n):
    probe = smooth(19)
    found = run(probe, "partition-shap", n_samples=n)
    ends = probe.function(np.array([[0.0] * 19, [1.0] * 19]))
    assert found.estimate.gamma.sum() == pytest.approx(ends[1] - ends[0], abs=1e-12)
    assert n - 2 * PartitionShap().per_round <= found.fit.n_queries - probe.n_setup - 1 <= n


def test_partition_shap_cuts_where_most_is_at_stake():
    gamma = np.zeros(16)
    gamma[5] = 1.0  # the budget of 16 is spent on the way to this word, not on words of no weight
    found = run(
        linear(gamma), Method("one", "", METHODS["mase-mask"].space, procedure=PartitionShap(per_round=1)), n_samples=60
    )
    assert found.estimate.gamma == pytest.approx(gamma, abs=1e-12)


def test_permutation_importance_is_its_definition(lstm_model):
    text, n = "slow dull film", 3 * 40
    found = mase.Explainer(lstm_model, method="permutation-importance", n_samples=n, seed=2)(text)
    # With three words a cycle replaces each word by one of the two others, with equal chances.
    module, ids = lstm_model.module.eval(), torch.tensor([[10 + sum(map(ord, word)) % 490 for word in text.split()]])
    index = found.prediction.index

    def response(changed):
        with torch.no_grad():
            return float(torch.softmax(module(changed), dim=1)[0, index])

    def written(i, j):
        changed = ids.clone()
        changed[0, i] = ids[0, j]
        return response(changed)

    drops = [[response(ids) - written(i, j) for j in range(3) if j != i] for i in range(3)]
    spread = np.abs(np.diff(drops, axis=1))[:, 0]
    assert found.scores == pytest.approx(np.mean(drops, axis=1), abs=4 * spread.max() / 2 / np.sqrt(40))
    assert (found.scores <= np.max(drops, axis=1) + 1e-6).all()
    assert (found.scores >= np.min(drops, axis=1) - 1e-6).all()
    assert found.standard_errors == pytest.approx(spread / 2 / np.sqrt(39), rel=0.2)


def test_permutation_importance_of_one_word_and_of_too_many(lstm_model):
    one = mase.Explainer(lstm_model, method="permutation-importance")("good")
    assert one.scores.tolist() == [0.0]
    assert [note.code for note in one.fit.warnings] == ["fallback"]
    with pytest.raises(OptionError, match="n_samples is 2, expected at least 3"):
        mase.Explainer(lstm_model, method="permutation-importance", n_samples=2)("slow dull film")


def test_gradient_is_the_norm_of_the_embedding_gradient(lstm_model):
    found = mase.Explainer(lstm_model, method="gradient", link="logit")("slow and dull", target="pos")
    module = lstm_model.module.eval()
    ids = torch.tensor([[10 + sum(map(ord, word)) % 490 for word in ("slow", "and", "dull")]])
    vectors = module.words(ids).detach().requires_grad_(True)
    states, _ = module.lstm(vectors)
    module.head(states.max(dim=1).values)[0, 1].backward()
    assert found.scores == pytest.approx(vectors.grad[0].norm(dim=1).tolist(), rel=1e-5)


def test_gradient_of_a_word_of_several_tokens_is_that_of_one_long_vector(small_bert):
    words = mase.Explainer(*small_bert, method="gradient")("unforgettableness moved me")
    pieces = mase.Explainer(*small_bert, method="gradient", granularity="token")("unforgettableness moved me")
    inside = [token.score for token in pieces.tokens if token.word == 0]
    assert len(inside) > 1
    assert words.scores[0] == pytest.approx(math.hypot(*inside), rel=1e-4)


def test_sequential_ig_is_occlusion_by_another_road(lstm):
    for reference in ("unk", "zero"):
        white = mase.Explainer(lstm, method="sequential-ig", reference=reference)(TEXT).scores
        box = mase.Explainer(lstm, method="occlusion", reference=reference)(TEXT).scores
        assert white == pytest.approx(box, abs=2e-3 * np.abs(box).max())


def test_sequential_ig_needs_a_gradient_for_every_word(lstm):
    with pytest.raises(OptionError, match="n_samples is 5, expected at least 19"):
        mase.Explainer(lstm, method="sequential-ig", n_samples=5)(TEXT)


def test_random_orders_are_uniform_and_ask_nothing(lstm):
    first = [int(np.argmax(mase.Explainer(lstm, method="random", seed=s)("one two three").scores)) for s in range(300)]
    assert np.bincount(first, minlength=3).min() > 70  # 100 each; 70 is 3.7 standard deviations below
    found = mase.Explainer(lstm, method="random")("a xyzzyx film")  # an unknown word takes part, too
    assert (found.scores > 0).all()
    assert found.fit.n_queries <= 2


# --- deep SHAP ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lstm-imdb", "lstm-reuters"])
@pytest.mark.parametrize("link", ["probability", "log-probability", "logit", "margin"])
def test_deep_shap_sums_to_text_minus_reference(name, link):
    pytest.importorskip("captum")
    model = load(name)
    for reference in ("unk", "zero"):
        found = mase.Explainer(model, method="deep-shap", link=link, reference=reference)(TEXT)
        exact = mase.Explainer(model, method="kernel-shap", link=link, reference=reference, n_samples=60)(TEXT)
        assert found.scores.sum() == pytest.approx(exact.scores.sum(), abs=2e-4 * max(1, abs(exact.scores).max()))
        assert np.abs(found.scores).max() > 0
    assert (found.fit.n_queries, found.fit.n_gradients) == (3, 2)


def test_gates_have_the_shapley_value_of_a_product():
    pytest.importorskip("captum")
    from mase.models.bundled.lstm import LSTMClassifier, LSTMShape
    from mase.models.deep_lift import contributions

    torch.manual_seed(0)
    module = LSTMClassifier(LSTMShape(9, 2, 3, 2, "last")).eval()
    with torch.no_grad():  # the input and new-content gates alone read the word, the others are constant
        h = 2
        module.lstm.weight_ih_l0[h : 2 * h] = 0
        module.lstm.weight_ih_l0[3 * h :] = 0
        module.lstm.weight_ih_l0[:h, 1:] = 0  # the first entry moves the gate, the second the content
        module.lstm.weight_ih_l0[2 * h : 3 * h, 0] = 0
    placed = torch.tensor([[[0.7, -1.2, 0.4]], [[0.0, 0.0, 0.0]]])
    cells = []
    for gate, content in itertools.product((1, 0), repeat=2):  # 1: of the text, 0: of the reference
        mixed = torch.stack([placed[1 - gate, 0, 0], placed[1 - content, 0, 1], placed[1 - content, 0, 2]])
        _, (_, cell) = module.lstm(mixed[None, None])
        cells.append(cell[0, 0].detach().double())
    logits = module.head(module.lstm(placed)[0][:, -1]).detach()
    both, only_gate, only_content, neither = cells
    by_gate, by_content = (
        (both - only_content + only_gate - neither) / 2,
        (both - only_gate + only_content - neither) / 2,
    )
    found = contributions(module, lambda raw: raw[:, 1], placed, logits)
    leave = torch.sigmoid((module.lstm.bias_ih_l0 + module.lstm.bias_hh_l0)[3 * h :]).detach().double()
    slope = leave * (both.tanh() - neither.tanh()) / (both - neither) * module.head.weight[1].detach().double()
    assert float(found.sum()) == pytest.approx(float((slope * (by_gate + by_content)).sum()), rel=1e-5)
    assert float(found.sum()) == pytest.approx(float(logits[0, 1] - logits[1, 1]), rel=1e-4)


def test_deep_shap_says_what_it_cannot(lstm_model, small_bert, monkeypatch):
    with pytest.raises(CapabilityError, match="LSTM classifiers only, got SmallLSTM"):
        mase.Explainer(lstm_model, method="deep-shap")("slow and dull")
    with pytest.raises(CapabilityError, match="LSTM classifiers only"):
        mase.Explainer(*small_bert, method="deep-shap")("slow and dull")
    monkeypatch.setitem(__import__("sys").modules, "captum.attr", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mase-xai\[deep-shap\]'"):
        mase.Explainer("lstm-imdb", method="deep-shap")("slow and dull")


def test_deep_shap_refuses_an_unrolled_network_with_other_logits():
    from mase.models.bundled.lstm import LSTMClassifier, LSTMShape
    from mase.models.deep_lift import contributions

    module, placed = LSTMClassifier(LSTMShape(9, 2, 3, 2, "last")).eval(), torch.randn(2, 4, 3)
    with pytest.raises(ModelError, match="unrolled"):
        contributions(module, lambda raw: raw[:, 1], placed, torch.ones(2, 2))


# --- under the same call --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BASELINES)
@pytest.mark.parametrize("link", ["probability", "margin"])
def test_one_call_for_all(lstm, method, link):
    first, second = (mase.Explainer(lstm, method=method, link=link, seed=5)(TEXT) for _ in range(2))
    assert first == second
    assert len(first.scores) == 19
    assert first.link == link
    assert first.fit.n_queries + 2 * first.fit.n_gradients <= 1003  # a gradient costs about three evaluations
    assert (first.fit.n_gradients > 0) == (method in WHITE) == METHODS[method].needs_gradients
    assert np.isfinite(first.standard_errors).all() == (method != "random")
    assert "nan" not in json.dumps(first.to_dict()).lower()


@pytest.mark.parametrize(
    "method", [name for name in BASELINES if name not in ("gradient", "random", "permutation-importance")]
)
def test_superb_speaks_for_a_positive_review(lstm, method):
    found = mase.Explainer(lstm, method=method)(TEXT, target="pos")
    assert found.scores[found.words.index("superb")] > 0
    assert found.scores[found.words.index("dull")] < 0 or method == "lime-paper"


@pytest.mark.parametrize("method", BASELINES)
def test_black_boxes(method):
    def judge(texts):
        chance = np.array([0.2 + 0.3 * ("good" in t.split()) + 0.3 * ("fine" in t.split()) for t in texts])
        return np.stack([1 - chance, chance], axis=1)

    model = Callable(judge, labels=["neg", "pos"])
    if method in WHITE:
        with pytest.raises(CapabilityError, match="embedding"):
            mase.Explainer(model, method=method)
        return
    found = mase.Explainer(model, method=method)("a good and a fine film", target="pos")
    if method == "random":
        return
    assert {word.text for word in found.top(2)} == {"good", "fine"}
    if method in ("kernel-shap", "partition-shap", "occlusion"):
        assert found.scores == pytest.approx([0, 0.3, 0, 0, 0.3, 0], abs=1e-9)


@pytest.mark.parametrize(
    "method", ["kernel-shap", "partition-shap", "gradient", "sequential-ig", "integrated-gradients"]
)
def test_half_precision_is_tried_first_and_never_for_gradients(small_bert, fast_bfloat16, method):
    found = mase.Explainer(*small_bert, method=method, precision="bfloat16", n_samples=40)("a dull story")
    exact = mase.Explainer(*small_bert, method=method, n_samples=40)("a dull story")
    instead = "float32-instead" in [note.code for note in found.fit.warnings]
    if METHODS[method].needs_gradients:
        assert instead
        assert found.fit.n_queries == exact.fit.n_queries
    else:
        assert exact.fit.n_queries < found.fit.n_queries <= exact.fit.n_queries + 32
        assert np.abs(found.scores - exact.scores).max() < 0.3 * np.abs(exact.scores).max()
    assert not instead or found.scores.tolist() == exact.scores.tolist()


@pytest.mark.parametrize("method", WHITE)
def test_a_users_inference_mode_changes_nothing(lstm, method):
    explainer = mase.Explainer(lstm, method=method, n_samples=20)
    with torch.inference_mode():
        inside = explainer("a dull story")
        assert torch.is_inference_mode_enabled()
    assert inside.scores.tolist() == explainer("a dull story").scores.tolist()


def test_half_precision_leaves_the_draws_alone(small_bert, fast_bfloat16):
    plain, half = (
        mase.Explainer(*small_bert, method="random", precision=p)("a dull story") for p in ("float32", "bfloat16")
    )
    assert plain.scores.tolist() == half.scores.tolist()


def test_words_equal_to_the_reference_score_zero_where_there_is_one(lstm):
    text = "a superb xyzzyx film"
    for method in set(BASELINES) - {"gradient", "gradient-x-input", "integrated-gradients", "smoothgrad"}:
        score = mase.Explainer(lstm, method=method, reference=None)(text).scores[2]
        assert (score == 0) == (method not in ("random", "permutation-importance")), method


def test_memory_that_runs_out_halves_the_batch():
    class Small(FunctionProbe):
        __slots__ = ()

        def scores(self, coordinates, rows):
            if len(rows) > 4:
                raise MemoryError
            return FunctionProbe.scores(self, coordinates, rows)

    probe = Small(lambda c: c @ np.arange(9.0), 9)
    assert run(probe, "partition-shap").estimate.gamma == pytest.approx(np.arange(9.0), abs=1e-12)


# --- what does not go together ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("partition-shap", {"design": "iid"}, "is a procedure, expected no design"),
        ("partition-shap", {"sigma": 0.1}, "is a procedure, expected no sigma"),
        ("kernel-shap", {"sigma": 0.1}, "a law of its own, expected no sigma"),
        ("lime", {"center": 0.5}, "a law of its own, expected no center"),
        ("lime", {"design": "iid"}, "center is None and sigma None"),
        ("mase-nlgp", {"procedure": "random"}, "is a procedure, expected no design and no estimator and no sigma"),
    ],
)
def test_parts_that_contradict_each_other(method, options, message):
    with pytest.raises(OptionError, match=message):
        resolve(method, **options)


def test_a_design_with_a_law_takes_sigma_and_centre_away():
    method = resolve("mase-mask", design="lime")
    assert (method.sigma, method.center) == (None, None)
    assert {"sigma", "center", "procedure"}.isdisjoint(describe(method))


def test_procedures_stop_when_they_want(lstm):
    with pytest.raises(OptionError, match="asks as it sees fit"):
        mase.Explainer(lstm, method="partition-shap", tolerance=0.1)(TEXT)
    assert measure(
        smooth(4), resolve("partition-shap", link="logit"), 0, np.random.default_rng(0), Effort(stopping=Stopping())
    )


def test_rows_that_stand_still_need_gradients(lstm):
    with pytest.raises(OptionError, match="do not deviate"):
        mase.Explainer(lstm, method="integrated-gradients", estimator="least-squares")(TEXT)


def test_occlusion_needs_a_row_for_every_word(lstm):
    with pytest.raises(OptionError, match="n_samples is 4, expected at least 19"):
        mase.Explainer(lstm, method="occlusion", n_samples=4)(TEXT)


@pytest.mark.parametrize("name", PROCEDURES)
def test_every_procedure_has_a_row(name):
    assert name in {describe(method).get("procedure", {}).get("name") for method in METHODS.values()}


# --- the packages' own numbers: benchmarks/golden.py ----------------------------------------------------------


def test_lime_is_the_package():
    case = GOLDEN["lime"]
    rows, y = np.array(case["rows"], dtype=np.float64), np.array(case["responses"])
    lime = METHODS["lime"]
    design, estimator = lime.regression
    law = design.law(rows.shape[1])
    problem = Problem(rows - law.center, y, design.weights(rows), None, True, law.covariance)
    assert estimator.fit(problem).gamma == pytest.approx(case["scores"], abs=1e-9)
    sizes = np.bincount((rows[1:] == 0).sum(axis=1).astype(int), minlength=rows.shape[1] + 1)
    ours = design.draw(np.random.default_rng(0), len(rows), law).coordinates
    own = np.bincount((ours[1:] == 0).sum(axis=1).astype(int), minlength=rows.shape[1] + 1)
    assert rows[0].all()
    assert ours[0].all()
    assert sizes[0] == own[0] == 0
    assert np.abs(sizes - own)[1:].max() < 4.5 * np.sqrt(2 * len(rows) / rows.shape[1])


def game(p):
    """The function of the golden file: interactions of all orders between p words."""
    weights = np.sin(1 + np.arange(p))

    def function(c):
        return np.tanh(c @ weights) + 0.5 * np.prod(c[:, :3], axis=1) - 0.3 * c[:, 1] * c[:, -1]

    return FunctionProbe(function, p)


@pytest.mark.parametrize("case", GOLDEN["kernel-shap"], ids=lambda case: f"p={case['p']}")
def test_kernel_shap_is_the_package(case):
    found = run(game(case["p"]), "kernel-shap", n_samples=2 ** case["p"])
    assert found.estimate.gamma == pytest.approx(case["scores"], abs=1e-8)


@pytest.mark.parametrize("case", GOLDEN["partition-shap"], ids=lambda case: f"p={case['p']}, {case['n']} evaluations")
def test_partition_shap_is_the_package(case):
    found = run(
        game(case["p"]),
        Method("x", "", METHODS["mase-mask"].space, procedure=PartitionShap(per_round=1)),
        n_samples=case["n"],
    )
    assert found.estimate.gamma == pytest.approx(case["scores"], abs=1e-10)
