"""Tests of `mase_paper.experiments.sweeps`."""

from paper.tests.experiments.samples import bits, write

from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.sweeps import SWEEPS


def test_sweeps_group_what_differs_in_one_setting(records):
    for sigma in (0.1, 0.5):
        write(records, "lstm-imdb", f"mase-paper+sigma={sigma}", [bits(1)] * 4)
    found = SWEEPS.report(Scope(("lstm-imdb",), n_texts=40), records)
    assert {tuple(point["axes"]) for point in found.data["points"]} == {("Noise level, paper",)}
    (panel,) = found.figures["sigma"]
    assert panel.curves[0].xs == (0.1, 0.5)
    assert "LSTM-IMDB: noise level, paper" in found.page
    assert "LSTM-IMDB: link" not in found.page  # nothing to compare on that axis
    write(records, "bert-imdb", "mase-paper", [bits(1)] * 4)
    assert (
        "BERT-IMDB" not in SWEEPS.report(Scope(n_texts=40), records).page
    )  # one configuration, left by the table of the paper


def test_sweeps_are_on_the_texts_that_all_settings_have(tmp_path):
    write(tmp_path, "lstm-imdb", "mase-paper", [bits(1)] * 9 + [0] * 9)
    write(tmp_path, "lstm-imdb", "mase-paper+sigma=0.3", [bits(1)] * 9)
    found = SWEEPS.report(Scope(("lstm-imdb",), n_texts=40), tmp_path)
    assert "## LSTM-IMDB (9 texts)" in found.page
    assert {point["n"] for point in found.data["points"]} == {9}
