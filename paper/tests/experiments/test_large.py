"""Tests of `mase_paper.experiments.large`."""

from paper.tests.experiments.samples import bits, write

from mase.methods import Configuration
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.large import AFFORDED, AS_IN_THE_PAPER
from mase_paper.experiments.selection import Chosen
from mase_paper.experiments.testbeds import LARGE
from mase_paper.experiments.trial import Trial


def test_every_method_has_the_number_of_texts_of_its_experiment():
    for experiment, n_samples, n_texts in ((AFFORDED, 200, 60), (AS_IN_THE_PAPER, 1000, 12)):
        works = experiment.works(Scope())
        assert {work.n_texts for work in works} == {n_texts}
        assert {work.target.name for work in works} == {"mpnet-imdb", "mpnet-reuters"}
        assert {dict(work.configuration.settings).get("n_samples") for work in works} == {n_samples, None}
        assert len(works) == len(set(works)) == 2 * 13
    few = AFFORDED.works(Scope(("mpnet-imdb",), (Configuration("lime"),), n_texts=3))
    assert [(str(work.configuration), work.n_texts) for work in few] == [("lime", 3)]


def test_the_report_needs_no_curves(tmp_path):
    records = tmp_path / "records"
    write(records, "mpnet-imdb", "mase+n_samples=200", [bits(1, 5)] * 5, infidelity=(), areas=())
    write(records, "mpnet-imdb", "lime+n_samples=200", [bits(5)] * 3 + [0] * 2, infidelity=(), areas=())
    report = AFFORDED.report(Scope(), records)
    means = {(cell["spec"], cell["k"]): cell["mean"] for cell in report.data["cells"] if cell["operator"] == "unk"}
    assert means["mase+n_samples=200", 5] == 1.0
    assert means["lime+n_samples=200", 5] == 0.6
    assert "MPNet-IMDB" in report.page


def test_metrics_that_take_more_than_an_explanation_are_left_out(black_box, trial):
    _, text, found = trial
    assert not any(target.every_metric for target in LARGE.values())
    (every,) = [record for key, record in found.records.items() if key.method == "occlusion"]
    configuration = Configuration("occlusion")
    lean = Trial(black_box, [configuration], operators=("auto", "delete"), every_metric=False)
    (few,) = lean.run(Chosen(4, 9, "dull/9", text, 0), [configuration]).records.values()
    assert (few.areas, few.infidelity) == ((), ())
    assert every.areas
    assert every.infidelity
    assert (few.flips, few.eraser, few.order) == (every.flips, every.eraser, every.order)
