"""Tests of `mase_paper.experiments.other_metrics`."""

from paper.tests.experiments.samples import write

from mase.methods import Configuration
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.faithfulness import FAITHFULNESS
from mase_paper.experiments.other_metrics import summary


def test_other_metrics_say_by_how_much_the_subject_is_better(records):
    """A lead is above 0 where `mase` is better, whether higher or lower values are."""
    write(
        records, "lstm-imdb", "occlusion", [0] * 40, eraser=(0.4, 0.2, -1.5), infidelity=(0.001, 0.05), areas=(0.5, 0.8)
    )
    write(records, "lstm-imdb", "gradient", [0] * 40, infidelity=(), areas=())
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    rows = {row["spec"]: row for row in found.data["other_metrics"]}
    assert "lead" not in rows["mase"]
    means = {name: lead["mean"] for name, lead in rows["occlusion"]["lead"].items()}
    assert means == {
        "comprehensiveness": 0.1, "sufficiency": 0.1, "log_odds": 0.5, "unexplained": -0.2, "deletion": 0.2,
        "insertion": -0.1,
    }  # fmt: skip
    assert (
        "| 0.200<br>+0.100 (+0.100 to +0.100) | -1.500<br>+0.500 (+0.500 to +0.500) | **0.050**<br>−0.200" in found.page
    )
    assert "unexplained" not in rows["gradient"]
    assert set(rows["gradient"]["lead"]) == {"comprehensiveness", "sufficiency", "log_odds"}


def test_ceilings_stability_and_other_metrics_are_reported(records):
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    (row,) = [row for row in found.data["ceilings"] if row["operator"] == "unk" and row["k"] == 5]
    assert (row["ceiling"], row["n"], row["delta_accuracy"]) == ("beam", 20, 1.0)
    assert row["shares"] == {"mase": 1.0, "random": 0.0, "lime": 1.0}  # of the first 20 texts
    assert found.data["stability"] == [{"target": "lstm-imdb", "spec": "mase", "top": 10, "n": 20, "jaccard": 0.5}]
    assert {row["spec"]: row["log_odds"] for row in found.data["other_metrics"]}["mase"] == -2.0
    assert {row["spec"]: row["unexplained"] for row in found.data["other_metrics"]}["mase"] == 0.25
    assert "share of `beam` reached by `mase` | 0% | 0% | 0% | 100%" in found.page
    assert "mase+seed=1" not in {cell["other"] for cell in found.data["duels"]}


def test_comparisons_with_rivals_are_counted_by_metric():
    def row(spec, **leads):
        return {
            "spec": spec,
            "lead": {name: dict(zip(("low", "high"), one, strict=True)) for name, one in leads.items()},
        }

    found = summary(
        [
            {"spec": "mase"},
            row("lime", sufficiency=(0.1, 0.2), insertion=(-0.2, -0.1)),
            row("glime", sufficiency=(-0.1, 0.1), insertion=(None, None)),
            row("kernel-shap+link=margin", sufficiency=(-0.3, 0.0)),
            row("mase-nlgp", sufficiency=(0.1, 0.2)),
            row("standard-gaussian", sufficiency=(0.1, 0.2)),
            row("random", sufficiency=(0.1, 0.2)),
        ],
        Configuration("mase"),
    )
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in found.splitlines()]
    assert ["sufficiency", "3", "1", "2", "0"] in cells
    assert ["insertion", "1", "0", "0", "1"] in cells
    assert not any(line[0] == "deletion" for line in cells)
    assert summary([{"spec": "mase"}], Configuration("mase")) == ""
