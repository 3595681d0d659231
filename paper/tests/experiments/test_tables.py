"""Tests of `mase_paper.experiments.tables`."""

from paper.tests.experiments.samples import bits, write

from mase.methods import parse
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.tables import TABLE1


def test_tables_put_the_papers_figure_beside_ours(records):
    write(records, "lstm-imdb", "mase-paper", [bits(1)] * 10 + [0] * 30)
    found = TABLE1.report(Scope(n_texts=40), records)
    cells = {(cell["spec"], cell["operator"], cell["k"]): cell for cell in found.data["cells"]}
    ours = cells["mase-paper", "unk", 1]
    assert (ours["mean"], ours["paper"], ours["difference"], ours["n"]) == (0.25, 0.174, 0.076, 40)
    assert "paper" not in cells["mase-paper", "pad", 1]
    assert "paper" not in cells["mase", "unk", 1]
    assert "| 0.250<br>" in found.page  # not the highest; 40 texts are no batch of 1,000: no spread
    assert "paper 0.174 ± 0.018 (+0.076)" in found.page
    assert "mase reproduce table1 --data-dir DIR --targets lstm-imdb --methods mase-paper --n-texts 40" in found.page
    assert "40 texts of the test split; masked by" in found.page


def test_a_setting_of_its_own_has_no_figure_in_the_paper(records):
    chosen = tuple(map(parse, ("mase-paper", "mase-paper+n_samples=64")))
    for configuration in chosen:
        write(records, "lstm-imdb", str(configuration), [bits(1)] * 10 + [0] * 30)
    found = TABLE1.report(Scope(("lstm-imdb",), n_texts=40, configurations=chosen), records)
    assert len([line for line in found.page.splitlines() if "paper 0.174" in line]) == 1
    assert {cell["spec"] for cell in found.data["cells"] if "paper" in cell} == {"mase-paper"}
