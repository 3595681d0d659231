"""Tests of `mase.metrics.base`."""

import numpy as np
import pytest
from tests.unit.metrics.additive import case, worths

from mase.attribution import ranking
from mase.errors import OptionError, ShapeError, UnknownNameError
from mase.metrics import METRICS
from mase.metrics.base import named_metrics
from mase.metrics.evaluation import evaluate


@pytest.mark.parametrize("name", METRICS)
def test_better_is_better(name, additive_model):
    """The direction of each column: true scores are ahead of their opposite, exact reruns ahead of noisy ones."""
    metric, truth = METRICS[name](), worths()
    noise = np.random.default_rng(0)

    def exact(model, seed):
        return truth

    def noisy(model, seed):
        return truth + noise.normal(0, 0.2, len(truth))

    good = metric.evaluate(case(additive_model, rescore=exact, seed=3))
    scores = truth if metric.needs_rescore else -truth
    bad = metric.evaluate(case(additive_model, scores=scores, rescore=noisy, seed=3))
    assert len(good) == len(metric.columns) == len({column.name for column in metric.columns})
    assert any(column.headline for column in metric.columns)
    for column, one, other in zip(metric.columns, good, bad, strict=True):
        if name == "naopc" and not column.headline:  # the bounds are those of the text
            assert one == other
        else:
            assert one >= other if column.better == "higher" else one <= other
            assert one != other or name == "delta-accuracy" or not column.headline
        assert column.better in ("higher", "lower")


@pytest.mark.parametrize("name", METRICS)
def test_metrics_that_take_words_out_follow_the_order(name, additive_model):
    """A given order counts as that of scores which have it; metrics of the scores themselves do not look at it."""
    metric, truth = METRICS[name](), worths()
    if metric.needs_rescore:
        pytest.skip("compares scores")
    other = case(additive_model, order=ranking(-truth), seed=3)
    own, turned = (case(additive_model, scores=scores, seed=3) for scores in (truth, -truth))
    expected = metric.evaluate(own if name == "infidelity" else turned)
    assert metric.evaluate(other).tolist() == pytest.approx(expected.tolist())
    if name != "infidelity":
        assert metric.evaluate(other).tolist() != metric.evaluate(own).tolist()


def test_the_order_of_a_case_is_that_of_its_scores_unless_one_is_given(additive_model):
    assert case(additive_model).ranked.tolist() == ranking(worths()).tolist()
    assert case(additive_model, order=np.arange(12)[::-1]).ranked.tolist() == list(range(12))[::-1]


@pytest.mark.parametrize("name", METRICS)
def test_metrics_refuse_scores_of_other_words(name, additive_model):
    if not METRICS[name].needs_rescore:
        with pytest.raises(ShapeError):
            METRICS[name]().evaluate(case(additive_model, scores=[1.0, 2.0]))


def test_metrics_refuse_settings_that_cannot_be():
    for name, wrong in [
        ("delta-accuracy", {"ks": (-1,)}), ("comprehensiveness", {"shares": (0.0,)}), ("sufficiency", {"ks": (1.5,)}),
        ("log-odds", {"share": 2.0}), ("naopc", {"beam": 0}), ("infidelity", {"sign": 0}),
        ("infidelity", {"n_samples": 1}),
        ("max-sensitivity", {"radius": 1.0}), ("seed-agreement", {"k": 0}),
        ("delta-accuracy", {"ks": 5}), ("delta-accuracy", {"ks": "15"}), ("log-odds", {"share": "a"}),
        ("comprehensiveness", {"shares": ()}), ("sufficiency", {"shares": 0.5}), ("naopc", {"beam": "5"}),
        ("max-sensitivity", {"radius": "a"}), ("max-sensitivity", {"radius": True}),
        ("max-sensitivity", {"n_draws": 1.5}), ("seed-agreement", {"n_seeds": 1.5}), ("seed-agreement", {"k": 1.5}),
    ]:  # fmt: skip
        with pytest.raises(OptionError):
            METRICS[name](**wrong)


def test_metrics_by_name_and_by_value(additive_model):
    flips, areas = METRICS["delta-accuracy"](ks=(2,)), METRICS["aopc"]()
    assert named_metrics([flips, "aopc"]) == {"delta-accuracy": flips, "aopc": areas}
    assert named_metrics({"x": flips, "y": "aopc"}) == {"x": flips, "y": areas}
    assert named_metrics([flips, areas], [3])["delta-accuracy"].ks == (3,)
    for metrics in ([flips], {"delta-accuracy": flips}):
        found = evaluate(additive_model, ["a good film"], ["random"], metrics=metrics)
        assert [(name, column.name) for name, column in found.columns] == [("delta-accuracy", "k=2")]
        assert found.provenance["metrics"]["delta-accuracy"]["ks"] == (2,)


@pytest.mark.parametrize(
    ("metrics", "error", "message"),
    [
        ({"x": METRICS["delta-accuracy"]}, OptionError, r"DeltaAccuracy.*or a metric such as METRICS\['delta-accuracy"),
        ([METRICS["aopc"]], OptionError, "metric is <class"),
        ({"x": 3}, OptionError, "metric is 3, expected a name such as 'delta-accuracy'"),
        ([None], OptionError, "metric is None"),
        ({"x": "acop"}, UnknownNameError, "did you mean 'aopc'"),
        (METRICS["aopc"](), OptionError, "expected a list"),
        (["aopc", METRICS["aopc"]()], OptionError, "'aopc' twice, expected one name each"),
    ],
)
def test_what_is_not_a_metric(metrics, error, message):
    with pytest.raises(error, match=message):
        named_metrics(metrics)
