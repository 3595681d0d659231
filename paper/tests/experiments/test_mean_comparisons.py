"""Tests of `mase_paper.experiments.mean_comparisons`."""

import numpy as np
import pytest
from paper.tests.experiments.samples import write

from mase.methods import Configuration
from mase.statistics import paired_mean
from mase_paper.experiments.mean_comparisons import leads, table
from mase_paper.experiments.results import gather
from mase_paper.experiments.testbeds import TARGETS

TARGET, MASE, LIME = TARGETS["lstm-imdb"], Configuration("mase"), Configuration("lime")


@pytest.fixture
def flips(tmp_path):
    """Return the flips under three operators by text, of two methods that have six texts in common."""
    rng, found = np.random.default_rng(0), {}
    for configuration, numbers in ((MASE, range(8)), (LIME, range(2, 12))):
        found[configuration] = {number: tuple(rng.integers(1 << 15, size=3).tolist()) for number in numbers}
        write(tmp_path, TARGET.name, str(configuration), found[configuration].values(), first=numbers[0])
    return found


def share(bits):
    """Return the share of the 15 numbers of masked words at which the prediction changes."""
    return bits.bit_count() / 15


def test_a_lead_is_the_paired_mean_on_the_texts_that_both_have(flips, tmp_path):
    outcomes = gather(tmp_path, TARGET.name, dict.fromkeys(flips, range(20)))
    rows = list(leads(TARGET, outcomes, MASE))
    assert [(row["spec"], row["operator"]) for row in rows] == [
        (name, operator) for name in ("mase", "lime") for operator in ("unk", "pad", "delete")
    ]
    for index, (own, other) in enumerate(zip(rows[:3], rows[3:], strict=True)):
        for row, name in ((own, MASE), (other, LIME)):
            mean = np.mean([share(bits[index]) for bits in flips[name].values()])
            assert (row["n"], row["delta_accuracy"]) == (len(flips[name]), pytest.approx(mean, abs=6e-5))
        assert "lead" not in own
        ours, theirs = ([share(flips[name][number][index]) for number in range(2, 8)] for name in (MASE, LIME))
        expected, lead = paired_mean(ours, theirs), other["lead"]
        assert lead["n"] == 6
        found = (lead["mean"], lead["low"], lead["high"], lead["p_value"])
        assert found == pytest.approx((expected.mean, expected.low, expected.high, expected.p_value), abs=6e-5)


@pytest.mark.parametrize(
    ("low", "high", "is_behind"), [(-0.3, -0.1, True), (-0.2, 0.0, False), (-0.1, 0.1, False), (0.1, 0.3, False)]
)
def test_a_lead_is_bold_where_the_other_one_is_ahead(low, high, is_behind):
    rows = [{"target": TARGET.name, "spec": "mase", "operator": "unk", "n": 8, "delta_accuracy": 0.5}]
    lead = {"mean": (low + high) / 2, "low": low, "high": high, "n": 8}
    rows.append(rows[0] | {"spec": "lime", "lead": lead})
    *_, line = table(rows, [TARGET], MASE).splitlines()
    assert line.startswith("| `lime` | ")
    assert ("**" in line) == is_behind
    assert not line.endswith("texts |")
    lead["n"] = 7
    assert table(rows, [TARGET], MASE).endswith("<br>7 texts |")


def test_without_texts_in_common_there_is_no_lead(tmp_path):
    write(tmp_path, TARGET.name, "mase", [1, 2])
    write(tmp_path, TARGET.name, "lime", [3, 4], first=2)
    rows = list(leads(TARGET, gather(tmp_path, TARGET.name, dict.fromkeys((MASE, LIME), range(4))), MASE))
    assert not any("lead" in row for row in rows)
    assert table(rows, [TARGET], MASE).splitlines()[-2:] == ["| `mase` | 0.067 |", "| `lime` |  |"]
