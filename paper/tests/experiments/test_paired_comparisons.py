"""Tests of `mase_paper.experiments.paired_comparisons`."""

import pytest
from paper.tests.experiments.samples import bits, write

from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.faithfulness import FAITHFULNESS


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
