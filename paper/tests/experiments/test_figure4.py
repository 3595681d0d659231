"""Tests of `mase_paper.experiments.figure4`."""

import pytest
from paper.tests.experiments.samples import bits, write

from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.figure4 import FIGURE4


def test_figure_4_has_a_curve_per_method(records):
    for n, k in [(100, 15), (500, 10)]:
        write(records, "lstm-imdb", f"mase-paper+n_samples={n}", [bits(k)] * 3)
    write(records, "lstm-imdb", "mase-paper", [bits(10), bits(10), 0, 0])
    found = FIGURE4.report(Scope(("lstm-imdb",), n_texts=40), records)
    (masked,) = found.figures["masked"]
    (curve,) = [curve for curve in masked.curves if curve.label == "mase"]
    assert curve.ys == tuple(0.75 if k in (5, 10) else 0.0 for k in range(1, 16))
    rising, left = found.figures["evaluations"]
    (over_n,) = [curve for curve in rising.curves if curve.label == "mase-paper"]
    assert over_n.xs == (100, 500, 1000)
    assert over_n.ys == pytest.approx((0.0, 1.0, 2 / 3))  # N = 1,000 on the three texts that all have
    assert next(curve for curve in left.curves if curve.label == "mase-paper").ys == pytest.approx((1.0, 0.0, 1 / 3))
    assert "number of evaluations N, 3 texts:" in found.page
    assert "| `mase-paper` | 0.000 |  | 1.000 | 0.667 |" in found.page
    shares = {point.get("n_samples"): point["n"] for point in found.data["points"] if point["spec"] == "mase-paper"}
    assert shares == {None: 4, 100: 3, 500: 3, 1000: 3}
