"""Tests of `mase_paper.experiments.confirmation`."""

import dataclasses

import pytest
from paper.tests.experiments.samples import HEADER, bits, write

from mase.methods import parse
from mase_paper.experiments.confirmation import CONFIRMATION
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.registration import registration

REGISTERED = HEADER | {"data": HEADER["data"] | {"split": "test-later"}, "text_seed": 22}
ALL = bits(*range(1, 16))
SKIP = registration().skip["lstm-imdb"]
SCOPE = Scope(("lstm-imdb",), n_texts=60)


@pytest.fixture
def folder(tmp_path):
    """Return records of 60 texts: `mase` flips 40, `lime` 10, `kernel-shap` 41; `glime` equals `mase`."""
    flips = {"mase": [ALL] * 40 + [0] * 20, "lime": [ALL] * 10 + [0] * 50, "kernel-shap": [ALL] * 41 + [0] * 19}
    measures = {
        "mase": {"eraser": (0.5, 0.1, -2.0), "areas": (0.2, 0.8)},
        "lime": {"eraser": (0.4, 0.1, -2.0), "areas": (0.3, 0.8)},
        "kernel-shap": {"eraser": (0.5, 0.0, -2.0), "areas": (0.2, 0.9)},
    }
    for name in ("mase", "lime", "kernel-shap", "glime", "random"):
        write(tmp_path, "lstm-imdb", name, flips.get(name, flips["mase"]), header=REGISTERED, first=SKIP,
              **measures.get(name, measures["mase"]))  # fmt: skip
    return tmp_path


def test_every_comparison_gets_its_standing(folder):
    report = CONFIRMATION.report(SCOPE, folder)
    assert report.data["registered"]
    found = {
        (one["measure"], one["operator"], one["k"], one["other"]): one["standing"] for one in report.data["comparisons"]
    }
    assert len(found) == 3 * (3 * 7 + 4)  # random is not counted
    flips = "Delta Accuracy at k"
    assert {found[flips, "unk", k, "lime"] for k in (1, 2, 3, 5, 10, 15)} == {"won"}
    assert found[flips, "unk", 5, "kernel-shap"] == "open"  # one text of 60 is more than the margin
    assert found[flips, "pad", 5, "lime"] == "open"  # nothing flips, and 60 texts are too few to say
    assert found["Delta Accuracy, mean over k = 1..15", "unk", None, "lime"] == "won"
    assert found["Delta Accuracy, mean over k = 1..15", "unk", None, "glime"] == "level"
    others = {measure: found[measure, "unk", None, "lime"] for measure in ("comprehensiveness", "deletion")}
    assert others == {"comprehensiveness": "won", "deletion": "won"}
    others = {measure: found[measure, "unk", None, "kernel-shap"] for measure in ("sufficiency", "insertion")}
    assert others == {"sufficiency": "lost", "insertion": "lost"}
    assert "Behind or lost in" in report.page
    for row in ("| method | LSTM-IMDB (60) |", "| `mase` | 0.667 |", "| `lime` | +0.500 won |", "| `random` | 0.667 |"):
        assert row in report.page
    assert "not the registered run" not in report.page


def test_the_correction_is_for_all_comparisons_of_a_measure_on_a_target(folder):
    report = CONFIRMATION.report(SCOPE, folder)
    cells = [one for one in report.data["comparisons"] if one["measure"] == "Delta Accuracy at k"]
    lime = next(one for one in cells if (one["other"], one["operator"], one["k"]) == ("lime", "unk", 1))
    assert lime["p_value"] == pytest.approx(round(2 * 0.5**30 * len(cells), 6), abs=1e-6)
    kernel = next(one for one in cells if (one["other"], one["operator"], one["k"]) == ("kernel-shap", "unk", 1))
    assert kernel["p_value"] == 1.0
    write(folder, "lstm-imdb", "occlusion", [ALL] * 28 + [0] * 32, header=REGISTERED, first=SKIP, areas=(0.3, 0.8))
    every = CONFIRMATION.report(SCOPE, folder).data["comparisons"]
    cells = [one for one in every if one["measure"] == "Delta Accuracy at k"]
    won = {one["p_value"] for one in cells if (one["other"], one["standing"]) == ("occlusion", "won")}
    assert won == {round(2 * 0.5**12 * (len(cells) - 6), 6)}  # twelve texts differ; `lime` has six smaller p-values


def test_two_methods_are_compared_on_the_same_texts(folder):
    """`occlusion` has no record of the first ten texts. On the others `mase` flips as many of them, but at any k."""
    write(folder, "lstm-imdb", "occlusion", [bits(15)] * 30 + [0] * 20, header=REGISTERED, first=SKIP + 10,
          eraser=(0.5, 0.1, -2.0), areas=(0.2, 0.8))  # fmt: skip
    found = {
        (one["measure"], one["k"]): one
        for one in CONFIRMATION.report(SCOPE, folder).data["comparisons"]
        if (one["other"], one["operator"]) == ("occlusion", "unk")
    }
    assert {one["n"] for one in found.values()} == {50}
    assert [found["Delta Accuracy at k", k]["mean"] for k in (1, 10, 15)] == [0.6, 0.6, 0.0]
    assert found["Delta Accuracy at k", 15]["p_value"] == 1
    assert found["Delta Accuracy, mean over k = 1..15", None]["mean"] == pytest.approx(0.6 * 14 / 15, abs=1e-4)


def test_other_texts_are_not_passed_off_as_the_registered_ones(tmp_path):
    for name in ("mase", "lime"):
        write(tmp_path, "lstm-imdb", name, [ALL] * 3, first=SKIP, areas=(0.1, 0.2))
    report = CONFIRMATION.report(SCOPE, tmp_path)
    assert not report.data["registered"]
    assert "This is not the registered run" in report.page


def test_other_methods_and_more_texts_are_not_passed_off_as_the_registered_ones(folder):
    write(folder, "lstm-imdb", "mase-rationale", [ALL] * 60, header=REGISTERED, first=SKIP, areas=(0.1, 0.2))
    chosen = tuple(map(parse, ("mase", "lime", "mase-rationale")))
    assert CONFIRMATION.report(dataclasses.replace(SCOPE, configurations=chosen), folder).data["registered"]
    write(folder, "lstm-imdb", "mase+n_samples=64", [ALL] * 60, header=REGISTERED, first=SKIP, areas=(0.1, 0.2))
    other = CONFIRMATION.report(dataclasses.replace(SCOPE, configurations=(parse("mase+n_samples=64"),)), folder)
    assert not other.data["registered"]
    assert "the method `mase+n_samples=64`" in other.page
    last = registration().n_texts["lstm-imdb"]
    write(folder, "lstm-imdb", "mase", [ALL], header=REGISTERED, first=last, areas=(0.1, 0.2))
    assert CONFIRMATION.report(Scope(("lstm-imdb",)), folder).data["registered"]
    assert not CONFIRMATION.report(Scope(("lstm-imdb",), n_texts=last), folder).data["registered"]


def test_a_number_of_texts_counts_those_that_are_explained():
    works = CONFIRMATION.works(Scope(("lstm-imdb",), n_texts=3))
    assert {work.numbers for work in works} == {range(SKIP, SKIP + 3)}


def test_searches_over_the_metric_are_left_out(folder):
    before = CONFIRMATION.report(SCOPE, folder)
    write(folder, "lstm-imdb", "greedy", [ALL] * 60, header=REGISTERED, first=SKIP, eraser=(), infidelity=(), areas=())
    chosen = tuple(map(parse, ("greedy", "mase", "lime", "kernel-shap", "glime", "random")))
    found = CONFIRMATION.report(dataclasses.replace(SCOPE, configurations=chosen), folder)
    assert found.data["comparisons"] == before.data["comparisons"]
    alone = CONFIRMATION.report(dataclasses.replace(SCOPE, configurations=chosen[:1]), folder)
    assert alone.data["comparisons"] == []


def test_one_text_has_leads_without_intervals(folder):
    page = CONFIRMATION.report(dataclasses.replace(SCOPE, n_texts=1), folder).page
    assert "+0.100 open" in page  # comprehensiveness, over `lime`
    assert "nan" not in page


def test_texts_of_an_earlier_confirmation_do_not_count(folder):
    write(folder, "lstm-imdb", "occlusion", [ALL] * SKIP, header=REGISTERED, areas=(0.1, 0.2))
    report = CONFIRMATION.report(SCOPE, folder)
    assert "occlusion" not in {one["other"] for one in report.data["comparisons"]}
    assert {one["n"] for one in report.data["comparisons"]} == {60}


def test_works_are_the_registered_ones():
    works = CONFIRMATION.works(Scope())
    assert len(works) == len(registration().methods) * len(registration().n_texts)
    assert {(work.target.name, work.numbers.start) for work in works} == set(registration().skip.items())
    assert {(work.target.name, work.numbers.stop) for work in works} == set(registration().n_texts.items())
    assert {dataclasses.replace(work.configuration, seed=0) for work in works} == set(registration().methods)
