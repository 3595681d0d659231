"""Tests of `mase.long_texts`: explanations of texts that are longer than the model reads."""

from itertools import pairwise

import numpy as np
import pytest
from tests.language_models import parrot
from tests.unit.texts import LENGTH, additive, long_text, paired, tokenize, worth

import mase
from mase.attribution.json import dumps, loads
from mase.errors import CapabilityError, OptionError, UnknownNameError
from mase.models import LabelWords
from mase.options import Windows

TEXT = long_text()
PLAIN = {"method": "mase-mask", "n_samples": 120, "link": "margin"}
OPTIONS = {"windows": True} | PLAIN


def number(word):
    return int(word.strip(".w"))


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_an_additive_model_gets_its_amounts_back_in_every_window(pooling):
    found = mase.Explainer(additive(), **OPTIONS | {"windows": Windows(pooling=pooling)}, evidence=0)(
        TEXT, target="yes"
    )
    assert [number(word) for word in found.words] == list(range(150))
    assert found.scores.tolist() == pytest.approx([worth(i) for i in range(150)], abs=1e-6)
    assert found.truncation is None
    values = [window.of("yes").value for window in found.windows]
    for window, value in zip(found.windows, values, strict=True):
        ids = tokenize(TEXT[window.start : window.end])[0]
        assert len(ids) <= LENGTH
        assert value == pytest.approx(sum(map(worth, ids)))
        assert window.prediction.probabilities["yes"] == pytest.approx(1 / (1 + np.exp(-value)))
    expected = {"mean": np.mean, "max": np.max, "first": lambda numbers: numbers[0]}[pooling]
    pooled = expected([window.prediction.probabilities["yes"] for window in found.windows])
    assert found.prediction.probabilities["yes"] == pytest.approx(pooled)
    assert found.response == pytest.approx(expected(values))
    weights = np.array([window.of("yes").weight for window in found.windows])
    assert weights.sum() == pytest.approx(1)
    assert weights @ values == pytest.approx(found.response)
    deciding = [window.of("yes").decides for window in found.windows]
    assert deciding.index(True) == (0 if pooling == "first" else int(np.argmax(values)))
    assert deciding.count(True) == 1


def test_labels_that_are_numbers_are_not_taken_as_indices():
    numbered = mase.Explainer(additive(labels=("1", "0")), **OPTIONS, evidence=0)(TEXT, target=0)
    assert numbered.scores.tolist() == pytest.approx([worth(i) for i in range(150)], abs=1e-6)


def test_a_pair_of_words_of_one_window_is_found():
    found = mase.Explainer(paired(64, 66), **OPTIONS | {"n_samples": 400}, evidence=0)(TEXT, target="yes")
    assert len(found.windows) > 3
    (pair,) = found.interactions
    assert [number(found.words[unit]) for unit in pair.units] == [64, 66]
    assert pair.score == pytest.approx(-4, abs=1e-6)
    assert loads(dumps(found)) == found


def test_a_score_is_that_of_the_window_in_which_the_unit_is_farthest_from_a_cut():
    found = mase.Explainer(additive(slope=0.25), **OPTIONS, evidence=0)(TEXT, target="yes")
    windows = [(window.start, window.end) for window in found.windows]
    for word in found.word_scores:
        context = {
            span: min(
                np.inf if span[0] == 0 else word.start - span[0], np.inf if span[1] == len(TEXT) else span[1] - word.end
            )
            for span in windows
            if span[0] <= word.start and word.end <= span[1]
        }
        best = [span for span, length in context.items() if length == max(context.values())]
        places = [len(TEXT[start : word.start].split()) for start, _ in best]
        amounts = [worth(number(word.text)) * (1 + 0.25 * place) for place in places]
        assert any(word.score == pytest.approx(amount, abs=1e-6) for amount in amounts)


def test_each_window_is_a_plain_explanation_of_its_text():
    model = additive(slope=0.25)
    found = mase.Explainer(model, **OPTIONS, evidence=0)(TEXT, target="yes")
    plain = mase.Explainer(model, **PLAIN, evidence=0)
    alone = [plain(TEXT[window.start : window.end], target="yes") for window in found.windows]
    scores = {
        (window.start + start, score)
        for window, one in zip(found.windows, alone, strict=True)
        for (start, _), score in zip(one.spans, one.scores, strict=True)
    }
    assert {(word.start, word.score) for word in found.word_scores} <= scores  # bit for bit
    assert [window.of("yes").r2 for window in found.windows] == [one.r2 for one in alone]
    assert found.r2 == min(one.r2 for one in alone)
    assert found.fit.n_queries == sum(one.fit.n_queries for one in alone)
    again = mase.Explainer(model, **OPTIONS, evidence=0)(
        TEXT
    )  # one more evaluation for each window, for the predicted class
    assert again.fit.n_queries in (found.fit.n_queries + len(alone), found.fit.n_queries + 2 * len(alone))
    assert again.target == again.prediction.label
    assert again.prediction.multilabel is False


def test_what_the_model_reads_as_a_whole_is_explained_as_ever():
    for text in (long_text(LENGTH), long_text(1)):
        plain = mase.Explainer(additive(), n_samples=64, evidence=2)(text)
        found = mase.Explainer(additive(), n_samples=64, evidence=2, windows=True)(text)
        assert found.windows == ()
        assert (found.responses, found.prediction, found.evidence) == (
            plain.responses,
            plain.prediction,
            plain.evidence,
        )
        assert found.fit == plain.fit


def test_windows_cover_the_text_and_begin_and_end_with_sentences():
    found = mase.Explainer(additive(), **OPTIONS | {"windows": Windows(overlap=0.3)}, evidence=0)(TEXT, target="yes")
    spans = [(window.start, window.end) for window in found.windows]
    assert spans[0][0] == 0
    assert spans[-1][1] == len(TEXT)
    assert all(first < start <= end < last for (first, end), (start, last) in pairwise(spans))
    assert all(TEXT[end - 1] == "." for _, end in spans[:-1])
    assert all(start == 0 or TEXT[start - 2 : start] == ". " for start, _ in spans)


def test_sentences_stay_whole_and_a_sentence_that_does_not_fit_is_told():
    found = mase.Explainer(additive(), units=r"re:[^.]+\.", **OPTIONS, evidence=0)(TEXT, target="yes")
    assert [unit.text.count("w") for unit in found.units] == [12] * 12
    sums = [sum(worth(i) for i in range(first, first + 12)) for first in range(0, 144, 12)]
    assert found.scores.tolist() == pytest.approx(sums, abs=1e-6)
    cut = mase.Explainer(additive(max_length=7), units=r"re:[^.]+\.", **OPTIONS, evidence=0)(TEXT, target="yes")
    notes = [note for note in cut.notes if note.code == "cut-off" and note.unit is not None]
    assert {note.unit for note in notes} == set(range(12))
    assert "7 of its 12 tokens" in notes[0].message


def test_tokens_have_scores_that_sum_to_those_of_their_words():
    found = mase.Explainer(additive(), units="token", **OPTIONS, evidence=0)(TEXT, target="yes")
    assert [token.unit for token in found.tokens] == list(range(150))
    assert found.responses[0].token_scores == pytest.approx(found.scores.tolist())


def test_files_keep_windows_and_old_ones_have_none():
    found = mase.Explainer(additive(), **OPTIONS, evidence=0)(TEXT)
    assert loads(dumps(found)) == found
    plain = mase.Explainer(additive(), n_samples=30, evidence=0)(long_text(9)).to_dict()
    del plain["windows"]
    assert mase.attribution.json.from_dict(plain).windows == ()


def test_scores_of_windows_lead_to_no_expectation_for_the_text():
    assert mase.Explainer(additive(), **OPTIONS, evidence=0)(TEXT).expected_without([0]) is None


def test_the_listener_hears_of_all_evaluations():
    heard = []
    explainer = mase.Explainer(additive(), **OPTIONS, evidence=0)
    found = explainer(TEXT, on_progress=lambda progress: heard.append((progress.n_asked, progress.attribution)))
    assert [n for n, _ in heard] == sorted(n for n, _ in heard)
    assert heard[-1] == (found.fit.n_queries, None)


def test_options_and_models_that_windows_do_not_suit():
    def function(texts):
        return [[0.5, 0.5]] * len(texts)

    with pytest.raises(CapabilityError, match="does not say how much of a text it reads"):
        mase.Explainer(function, windows=True, evidence=0)
    for prompted in (parrot, LabelWords(parrot, ["yes", "no"])):
        with pytest.raises(CapabilityError, match="reads a prompt as a whole"):
            mase.Explainer(prompted, windows=True, evidence=0)
    with pytest.raises(OptionError, match="windows is 'slide'"):
        mase.Explainer(additive(), windows="slide", evidence=0)
    for wrong in ({"overlap": 1}, {"overlap": "half"}, {"overlap": True}, {"pooling": "sum"}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            Windows(**wrong)
    with pytest.raises(UnknownNameError):
        mase.Explainer(additive(), windows=True, evidence=0)(TEXT, target="maybe")


def without(worth_of, gone):
    """Return the probability of "yes" for a window of an additive model without some words."""
    return 1 / (1 + np.exp(-sum(worth(i) for i in worth_of if i not in gone)))


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_evidence_is_about_the_pooled_prediction(pooling):
    explainer = mase.Explainer(additive(), evidence=3, **OPTIONS | {"windows": Windows(pooling=pooling)})
    found = explainer(TEXT, target="yes")
    ids = [tokenize(TEXT[window.start : window.end])[0] for window in found.windows]
    best = [number(found.words[unit]) for unit in found.order[:3]]
    assert sorted(map(worth, best)) == sorted(sorted(map(worth, range(150)))[-3:])

    def pooled(gone):
        numbers = [without(one, gone) for one in ids]
        return {"mean": np.mean(numbers), "max": max(numbers), "first": numbers[0]}[pooling]

    for size, changed in enumerate(found.evidence.without, 1):
        assert changed.units == tuple(found.order[:size])
        assert changed.target_probability == pytest.approx(pooled(best[:size]))
    for size, changed in enumerate(found.evidence.only, 1):
        assert changed.target_probability == pytest.approx(pooled(set(range(150)) - set(best[:size])))
    changed = explainer.predict_without(found, [3, 60, 149])
    assert changed.target_probability == pytest.approx(pooled({3, 60, 149}))
    values = [sum(worth(i) for i in one if i not in (3, 60, 149)) for one in ids]
    numbers = [without(one, {3, 60, 149}) for one in ids]
    expected = {"mean": np.mean(values), "max": values[int(np.argmax(numbers))], "first": values[0]}[pooling]
    assert changed.response == pytest.approx(expected)
    assert explainer.predict_without(found, []).response == pytest.approx(found.response)


def test_units_of_another_explainer_cannot_be_masked_in_windows():
    found = mase.Explainer(additive(), units="sentence", **OPTIONS, evidence=0)(TEXT)
    assert len(found.windows) > 1
    with pytest.raises(OptionError, match=r"has the units 'sentence', expected 'word'"):
        mase.Explainer(additive(), **OPTIONS, evidence=0).predict_without(found, [0])


def test_a_flip_set_flips_the_pooled_prediction():
    explainer = mase.Explainer(additive(), evidence=4, **OPTIONS)
    found = explainer(long_text(60))
    assert len(found.windows) == 2
    changed = explainer.predict_without(found, found.evidence.flip_set.units)
    assert changed.label == found.evidence.flip_set.label != found.prediction.label


def test_all_classes_come_from_the_same_windows():
    model = additive()
    found = mase.Explainer(model, **OPTIONS, evidence=0)(TEXT, target="all")
    by_label = found.prediction.probabilities
    by_label = found.prediction.probabilities
    assert [response.name for response in found.responses] == sorted(by_label, key=by_label.get, reverse=True)
    assert found.of("yes").scores.tolist() == pytest.approx([worth(i) for i in range(150)], abs=1e-6)
    assert found.of("no").scores.tolist() == pytest.approx([-worth(i) for i in range(150)], abs=1e-6)
    for window in found.windows:
        assert window.of("no").value == pytest.approx(-window.of("yes").value)
    assert loads(dumps(found.of("no"))) == found.of("no")


def test_units_are_those_of_the_whole_text():
    def first_word_alone(text):
        ends = [end for _, end in tokenize(text)[1]]
        return list(pairwise([0, ends[0], *ends[3::3], len(text)]))

    found = mase.Explainer(additive(), units=first_word_alone, **OPTIONS, evidence=0)(TEXT, target="yes")
    assert list(found.spans) == first_word_alone(TEXT)


def test_windows_without_units_are_told():
    found = mase.Explainer(additive(), units=r"re:\bw[12]\b", **OPTIONS, evidence=0)(TEXT, target="yes")
    (window,) = found.windows
    assert found.words == ("w1", "w2")
    assert [f"{len(TEXT[window.end :].strip()):,} of" in note.message for note in found.notes] == [True]
    everywhere = mase.Explainer(additive(), units=r"re:\bw[0-9]*5\b", **OPTIONS, evidence=0)(TEXT, target="yes")
    assert "cut-off" not in {note.code for note in everywhere.notes}


def test_the_second_effect_of_a_unit_is_of_the_same_window():
    """Where two words take from each other, each adds less where the other one is kept."""
    options = OPTIONS | {"method": "mase", "n_samples": 300}
    found = mase.Explainer(paired(64, 66), **options, evidence=0)(TEXT, target="yes")
    kept = found.effect("kept")
    assert [number(word) for word in kept.words] == list(range(150))
    changed = kept.scores - found.scores
    assert {number(found.words[unit]) for unit in np.argsort(-abs(changed))[:2]} == {64, 66}
    others = [number(word) not in (64, 66) for word in found.words]
    assert kept.scores[others] == pytest.approx(
        [worth(number(word)) for word in np.array(found.words)[others]], abs=0.15
    )
    assert loads(dumps(found)) == found
