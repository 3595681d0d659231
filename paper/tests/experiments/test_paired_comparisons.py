"""Tests of `mase_paper.experiments.paired_comparisons`."""

import pytest
from paper.tests.experiments.samples import bits, write

from mase.methods import Configuration
from mase.statistics import Difference
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.faithfulness import FAITHFULNESS
from mase_paper.experiments.paired_comparisons import PairedComparison, behind, cells
from mase_paper.experiments.results import gather


def test_comparisons_are_counted(records):
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    cells = {(cell["other"], cell["operator"], cell["k"]): cell for cell in found.data["duels"]}
    assert len(cells) == 2 * 3 * 6  # rivals, operators and k
    assert cells["random", "unk", 5]["mean"] == 0.75
    assert cells["random", "unk", 5]["low"] > 0.55
    assert cells["lime", "unk", 5]["mean"] == -0.25
    assert cells["lime", "unk", 5]["high"] < 0
    assert cells["lime", "unk", 5]["p_value"] == pytest.approx(2 * 0.5**10, abs=1e-4)
    assert "is ahead in 2, behind in 6, and in 28 the interval includes 0" in found.page
    assert "| lstm-imdb | unk | 1 | `lime` | −1.000" in found.page


def test_those_ahead_are_listed_by_their_lead():
    pairs = [
        PairedComparison(
            "lstm-imdb", "unk", k, Configuration("lime"), Difference(mean, mean - 0.1, mean + 0.1, 40, 0.01)
        )
        for k, mean in ((1, -0.2), (2, -0.4), (3, 0.3), (5, -0.3))
    ]
    listed = [line for line in behind(pairs).splitlines() if line.startswith("| lstm-imdb")]
    assert [line.split(" | ")[2] for line in listed] == ["2", "5", "1"]


@pytest.mark.parametrize(
    ("low", "high", "behind", "ahead"),
    [(-0.2, -0.1, True, False), (-0.2, 0.0, False, False), (0.0, 0.2, False, False), (0.1, 0.2, False, True)],
)
def test_an_interval_that_ends_at_0_includes_it(low, high, behind, ahead):
    difference = Difference((low + high) / 2, low, high, 40, 0.05)
    pair = PairedComparison("lstm-imdb", "unk", 5, Configuration("lime"), difference)
    assert (pair.is_behind, pair.is_ahead) == (behind, ahead)


def test_each_operator_has_its_own_table(tmp_path):
    for name, flips in (("mase", (bits(1), 0, bits(1, 2))), ("lime", (0, bits(1), bits(2)))):
        write(tmp_path, "lstm-imdb", name, [flips] * 30 + [0] * 10)
    outcomes = gather(tmp_path, "lstm-imdb", {Configuration(name): range(40) for name in ("mase", "lime")})
    shown = [[row[1:3] for row in cells(outcomes, index, ())] for index in range(3)]
    assert shown == [
        [["0.750", "0.000"], ["0.000", "0.000"]],
        [["0.000", "0.000"], ["0.750", "0.000"]],
        [["0.750", "0.750"], ["0.000", "0.750"]],
    ]


@pytest.mark.slow
def test_own_methods_are_no_rivals(records):
    """The library's other rows are compared and counted, but apart, and none of them is the best rival of a cell."""
    write(records, "lstm-imdb", "mase-nlgp", [bits(*range(1, 16))] * 40)
    write(records, "lstm-imdb", "occlusion", [bits(*range(1, 16))] * 39)  # not all of the texts
    page = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records).page
    assert "Of 72 comparisons (target x operator x k x other explainer) `mase` is ahead in 2, behind in 18" in page
    assert (
        "and random order: of 36 comparisons (target x operator x k x rival) it is ahead in 0, behind in 12, "
        "and in 24 the" in page
    )
    assert "| LSTM-IMDB (40) |" + 3 * " 0.000 / **1.000** `lime` |" + " 0.750 / **1.000** `lime` |" in page


def test_a_setting_that_changes_no_ranking_does_not_count_twice(records):
    """Where the padding token's vector is zero the two references are one method: shown, but counted once."""
    before = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    for name in ("integrated-gradients", "integrated-gradients+reference=pad"):
        write(records, "lstm-imdb", name, [bits(*range(1, 16))] * 40)
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    assert "Of 36 comparisons (target x operator x k x other explainer)" in before.page
    assert "Of 54 comparisons (target x operator x k x other explainer)" in found.page
    duels = found.data["duels"]
    assert (len(duels), sum(not duel["is_repeat"] for duel in duels)) == (72, 54)
    ahead = sum(duel["low"] > 0 and not duel["is_repeat"] for duel in duels)
    assert f"`mase` is ahead in {ahead}, behind in" in found.page
    assert "| `integrated-gradients+reference=pad` | **1.000**<br>" in found.page


def test_a_lead_whose_interval_includes_0_is_neither_ahead_nor_behind(records):
    for name, n_flipped in (("occlusion", 31), ("gradient", 29)):
        write(records, "lstm-imdb", name, [bits(5, 10)] * n_flipped + [0] * (40 - n_flipped))
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    leads = {cell["other"]: cell["mean"] for cell in found.data["duels"] if (cell["operator"], cell["k"]) == ("unk", 5)}
    assert (leads["occlusion"], leads["gradient"]) == (-0.025, 0.025)
    assert "is ahead in 2, behind in 6, and in 64 the interval includes 0" in found.page


def test_the_best_rival_is_found_among_those_with_all_texts_and_on_these_alone(tmp_path):
    """`occlusion` lacks one of the 40 texts, and `lime` has 20 more, all of which it flips."""
    write(tmp_path, "lstm-imdb", "mase", [bits(5)] * 20 + [0] * 20)
    write(tmp_path, "lstm-imdb", "occlusion", [bits(5)] * 39)
    write(tmp_path, "lstm-imdb", "lime", [bits(5)] * 10 + [0] * 30 + [bits(5)] * 20)
    page = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=60), tmp_path).page
    (row,) = [line for line in page.splitlines() if line.startswith("| LSTM-IMDB (40) |")]
    assert "| **0.500** / 0.250 `lime` |" in row


def test_two_explainers_are_compared_on_the_same_texts(tmp_path):
    """They flip the same texts, and one has no record of the first three."""
    flips = [bits(5), 0, 0, bits(5), 0, bits(5), 0, 0]
    write(tmp_path, "lstm-imdb", "mase", flips)
    write(tmp_path, "lstm-imdb", "lime", flips[3:], first=3)
    cells = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=8), tmp_path).data["duels"]
    assert {(cell["n"], cell["mean"], cell["p_value"]) for cell in cells} == {(5, 0, 1)}
