"""Tests of `mase_paper.experiments.trial`."""

from dataclasses import replace

import numpy as np
import pytest
from paper.tests.experiments.samples import predict

import mase
from mase.explainer import Explainer
from mase.methods import Configuration, parse
from mase.metrics.base import Instance
from mase.metrics.masking import masker
from mase.metrics.perturbation import Infidelity
from mase_paper.experiments.answers import Answers
from mase_paper.experiments.records import DEPTH, PROBABILITY_KS
from mase_paper.experiments.selection import Chosen
from mase_paper.experiments.testbeds import TARGETS
from mase_paper.experiments.trial import ERASER_SHARES, Trial


def without(words, gone, operator):
    return " ".join(("_" if operator == "mask" else "") if index in gone else word for index, word in enumerate(words))


def test_records_hold_what_a_slow_reading_of_the_definitions_gives(trial):
    _, text, found = trial
    words = text.split()
    for name in ("occlusion", "random"):
        one = found.records[Configuration(name)]
        assert (one.number, one.row, one.words, one.target, one.half) == (4, 9, 14, 0, False)
        order = list(one.order)
        assert sorted(order) == list(range(14))
        for index, operator in enumerate(("mask", "delete")):
            probabilities = [predict([without(words, order[:k], operator)])[0] for k in range(1, DEPTH + 1)]
            assert one.flips[index] == sum(
                2 ** (k - 1) for k in range(1, DEPTH + 1) if probabilities[k - 1].argmax() != 0
            )
            if index == 0:
                assert one.probability == tuple(round(1000 * probabilities[k - 1][0]) for k in PROBABILITY_KS)
        whole = predict([text])[0, 0]
        assert one.start == round(1000 * whole)
        counts = [int(np.ceil(14 * part - 1e-9)) for part in ERASER_SHARES]
        comp = whole - np.mean([predict([without(words, order[:k], "mask")])[0, 0] for k in counts])
        suff = whole - np.mean([predict([without(words, order[k:], "mask")])[0, 0] for k in counts])
        odds = np.log(predict([without(words, order[:3], "mask")])[0, 0]) - np.log(whole)
        assert one.eraser == pytest.approx((comp, suff, odds), abs=5.1e-4)
        gone = [predict([without(words, order[:k], "mask")])[0, 0] for k in range(15)]
        back = [predict([without(words, order[k:], "mask")])[0, 0] for k in range(15)]
        assert one.areas == pytest.approx([np.trapezoid(curve, dx=1 / 14) for curve in (gone, back)], abs=5.1e-4)


def test_records_hold_the_infidelity_that_mase_evaluate_gives(trial, black_box):
    _, text, found = trial
    scores = mase.explain(text, black_box, method="occlusion", target=0).scores
    one = Instance(black_box, text, 0, masker(black_box, text), scores)
    _, scaled, unexplained = Infidelity(n_samples=100).evaluate(one)
    assert found.records[Configuration("occlusion")].infidelity == (float(f"{scaled:.3g}"), round(unexplained, 3))
    assert found.records[Configuration("random")].infidelity != found.records[Configuration("occlusion")].infidelity


def test_occlusion_leads_with_the_weightiest_word(trial):
    _, text, found = trial
    assert text.split()[found.records[Configuration("occlusion")].order[0]] == "dull"
    assert found.records[Configuration("occlusion")].queries == 19  # the text twice, each word, and some rows again
    assert found.records[Configuration("random")].queries <= 1


def test_a_ceiling_is_a_record_without_scores(trial):
    trial, _, found = trial
    one = found.records[Configuration("greedy")]
    assert (one.probability, one.eraser, one.infidelity) == ((), (), ())
    fewest = len(one.order)
    assert one.flips[0] == sum(2 ** (k - 1) for k in range(fewest, DEPTH + 1))
    assert trial.describe(Configuration("greedy"))["width"] == 1


def test_a_method_that_the_model_cannot_have_is_refused(trial):
    trial, _, _ = trial
    assert "embedding" in trial.refusals[Configuration("gradient")]
    assert trial.describe(Configuration("occlusion"))["name"] == "occlusion"


@pytest.mark.parametrize("name", ["lstm-imdb", "lstm-reuters"])
def test_zero_vectors_are_recorded_but_where_padding_is_one(name):
    assert TARGETS[name].operators == ("auto", "pad", "delete")
    assert TARGETS[name.replace("lstm", "bert")].operators == ("auto", "pad", "delete", "zero")
    model, text = mase.models.load(name), "a dull film about oil prices, with a superb cast"
    gone = np.random.default_rng(0).random((20, len(masker(model, text).words))) < 0.5
    padded, zeroed, own = (masker(model, text, operator).probabilities(gone) for operator in ("pad", "zero", "auto"))
    assert np.array_equal(padded, zeroed)
    assert not np.array_equal(padded, own)


class Counted(mase.models.Callable):
    """A black box that counts the texts that it is asked."""

    def __init__(self):
        super().__init__(self._answer, labels=["dull", "good"], mask_token="_")
        self.asked = 0

    def _answer(self, texts):
        self.asked += len(texts)
        return predict(texts)


def explained(folder, *methods):
    """Return the records by these methods, and how many texts the model was asked for besides those of the metrics."""
    model = Counted()
    configurations = [parse(method) for method in methods]
    trial = Trial(model, configurations, operators=("auto",), answers=Answers(folder, {}) if folder else None)
    records = trial.run(Chosen(0, 0, "dull/0", " ".join("abcdefghijklm"), 0), configurations).records
    assert list(records) == configurations
    return [replace(one, seconds=0.0) for one in records.values()], model.asked


def test_rows_that_were_asked_in_an_earlier_run_are_not_asked_again(tmp_path):
    first, second = "kernel-shap+n_samples=100", "kernel-shap+link=margin+n_samples=100"
    expected, (_, alone) = [explained(None, one)[0][0] for one in (first, second)], explained(None, second)
    assert explained(tmp_path, first)[0] == expected[:1]
    records, asked = explained(tmp_path, second)
    assert records == expected[1:]  # with the same rows
    assert asked <= alone - 95
    records, _ = explained(tmp_path, "occlusion", second, first)
    assert records[1:] == expected[::-1]


def test_a_stop_loses_only_the_answers_of_the_method_at_hand(tmp_path, monkeypatch):
    first, second = "kernel-shap+n_samples=100", "lime+n_samples=100"
    _, alone = explained(None, first)
    with monkeypatch.context() as patch:
        patch.setattr(Explainer, "__call__", Interrupted(Explainer.__call__))
        with pytest.raises(KeyboardInterrupt):
            explained(tmp_path, first, second)
    assert explained(tmp_path, first)[1] <= alone - 95


class Interrupted:
    """The call of an explainer that is interrupted the second time."""

    def __init__(self, call):
        self._call, self._n = call, 0

    def __get__(self, owner, _):
        def call(*args, **settings):
            self._n += 1
            if self._n == 2:
                raise KeyboardInterrupt
            return self._call(owner, *args, **settings)

        return call
