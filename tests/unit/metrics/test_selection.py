"""Tests of `mase.metrics.selection`."""

import pytest

from mase.errors import OptionError, UnknownNameError
from mase.metrics import METRICS
from mase.metrics.evaluation import evaluate
from mase.metrics.selection import named_metrics


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
