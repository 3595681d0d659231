"""Tests of the lists of a summary against scipy, on runs with scores made by hand."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from tests.attributions import attribution
from tests.runs import run_of

import mase
from mase.attribution import Prediction


@dataclass(frozen=True)
class Text:
    """The words of a text, their scores, its label and its group, and the probability of the predicted class."""

    words: tuple[str, ...]
    scores: tuple[float, ...]
    label: str
    group: str
    probability: float = 0.8

    @property
    def mean(self):
        return np.mean(self.scores)

    def of(self, word):
        """Return the scores of a word."""
        return [score for one, score in zip(self.words, self.scores, strict=True) if one.strip("(,") == word]

    def effects(self, word, centre=0.0):
        """Return the mean score of a word, minus a multiple of that of the text; nothing if it is not there."""
        return [np.mean(self.of(word)) - centre * self.mean] if self.of(word) else []

    def phrases(self):
        """Return the scores of "not" and "good" wherever they make "not good", with nothing between them."""
        pairs = zip(zip(self.words, self.words[1:], strict=False), self.scores, self.scores[1:], strict=False)
        return [(one, other) for words, one, other in pairs if words == ("not", "good")]


def made_up(rng, number):
    """Return a text: "good" is worth 2, and "not good" -2; "trap" is in wrong predictions and worth more in group a."""
    wrong, group = number % 3 == 0, "abc"[number % 4 % 3]
    shift = rng.normal(0, 0.5)  # so that the means of texts differ more than effects do
    parts = [[(f"filler{rng.integers(10)}", rng.normal(shift, 0.3))] for _ in range(6)] + [[(f"id{number}", 0.01)]]
    parts += [[("trap", rng.normal(3 if group == "a" else 1.5, 0.3))]] * int(
        rng.integers(1, 3) * (wrong or number % 5 == 0)
    )
    kind = number % 4
    parts += [[("not", rng.normal(-1, 0.3)), ("good", rng.normal(-1, 0.3))]] if kind == 0 else []
    apart = ("not,", "good") if number % 8 == 1 else ("not", "(good")
    parts += [[(apart[0], rng.normal(0.3, 0.2)), (apart[1], rng.normal(2, 0.3))]] if kind == 1 else []
    parts += [[("good", rng.normal(value, 0.3))] for value in (4, -0.5)] if kind == 2 else []
    order = rng.permutation(len(parts))
    words, scores = zip(*(pair for index in order for pair in parts[index]), strict=True)
    return Text(
        words, tuple(float(score + 1e-6 * place) for place, score in enumerate(scores)), ["pos", "neg"][wrong], group
    )


@pytest.fixture(scope="module")
def texts():
    """Return 96 texts and copies of twelve, half of which have another label and another group."""
    rng = np.random.default_rng(0)
    some = [made_up(rng, number) for number in range(96)]
    other = [Text(one.words, one.scores, "neg" if one.label == "pos" else "pos", "c") for one in some[:6]]
    return [*some, *other, *some[6:12]]


def written(folder, texts):
    """Return the run of texts with their scores, in parts of 30."""
    made = []
    for one in texts:
        text, ends = " ".join(one.words), np.cumsum([len(word) + 1 for word in one.words]) - 1
        spans = [(int(end) - len(word), int(end)) for word, end in zip(one.words, ends, strict=True)]
        by_class = {"neg": 1 - one.probability, "pos": one.probability}
        predicted = Prediction("pos", 1, one.probability, by_class, multilabel=False)
        made.append((attribution(text, list(one.scores), spans=spans, prediction=predicted), (one.label, one.group)))
    return run_of(folder, made, kept=("label", "group"), part_size=30)


@pytest.fixture(scope="module")
def run(texts, tmp_path_factory):
    return written(tmp_path_factory.mktemp("lists") / "run", texts)


@pytest.fixture(scope="module")
def summary(run):
    return mase.summarise(run, label_column="label", group_column="group", min_texts=5, top=2)


def different(texts, *keys):
    """Return texts without copies; those with another label or group are no copies if these are keys."""
    return list({(one.words, *(getattr(one, key) for key in keys)): one for one in texts[::-1]}.values())


@pytest.mark.slow
def test_words_have_the_larger_p_value_of_two_t_tests(texts, summary):
    texts = different(texts)
    assert {row.word for row in summary.words} >= {"good", "trap"}
    for row in summary.words:
        effects, relative = ([value for one in texts for value in one.effects(row.word, c)] for c in (0, 1))
        found = [stats.ttest_1samp(values, 0) for values in (effects, relative)]
        assert row.p_value == pytest.approx(max(test.pvalue for test in found), rel=1e-6)
        assert (row.low, row.high) == pytest.approx(tuple(found[0].confidence_interval()))
        down = -1 if row.direction == "away" else 1
        strongest = [sorted(down * score for score in one.scores)[-5] for one in texts if one.of(row.word)]
        own = [max(down * score for score in one.of(row.word)) for one in texts if one.of(row.word)]
        assert row.share_top == pytest.approx(np.mean(np.array(own) >= strongest))


def test_phrases_are_compared_with_their_words_elsewhere(texts, summary):
    texts = different(texts)
    (row,) = summary.phrases
    inside, outside = [one for one in texts if one.phrases()], [one for one in texts if not one.phrases()]
    p_values = []
    for centre in (0, 1):
        effects = [np.mean([sum(pair) for pair in one.phrases()]) - 2 * centre * one.mean for one in inside]
        words = [[value for one in outside for value in one.effects(word, centre)] for word in ("not", "good")]
        expected, error = sum(map(np.mean, words)), sum(map(stats.sem, words))  # of two that may depend on each other
        difference, squares = np.mean(effects) - expected, (stats.sem(effects) ** 2, error**2)
        freedoms = len(effects) - 1, min(map(len, words)) - 1
        freedom = sum(squares) ** 2 / sum(square**2 / one for square, one in zip(squares, freedoms, strict=True))
        t = abs(difference) / sum(squares) ** 0.5
        p_values += [stats.ttest_1samp(effects, 0).pvalue, 2 * stats.t.sf(t, freedom)]
        if not centre:
            half = stats.t.ppf(0.975, freedom) * sum(squares) ** 0.5
            assert (row.phrase, row.n_texts) == ("not good", len(inside))
            lowest = [sorted(one.scores)[4] for one in inside]
            in_lowest = [
                [score <= least for score in scores]
                for one, least in zip(inside, lowest, strict=True)
                for scores in one.phrases()
            ]
            assert np.mean(list(map(all, in_lowest))) < row.share_top == np.mean(list(map(any, in_lowest)))
            assert (row.effect, row.expected) == pytest.approx((np.mean(effects), expected))
            assert (row.difference_low, row.difference_high) == pytest.approx((difference - half, difference + half))
    assert row.p_value == pytest.approx(max(p_values), rel=1e-6)


def test_examples_are_the_strongest_the_nearest_to_the_mean_and_the_weakest(texts, summary):
    texts = different(texts)
    found = [(row, [score for one in texts for score in one.of(row.word)]) for row in summary.words]
    found += [(row, [sum(pair) for one in texts for pair in one.phrases()]) for row in summary.phrases]
    for row, scores in found:
        ascending = sorted(scores, reverse=row.direction == "away")
        nearest = min(scores, key=lambda score, row=row: abs(score - row.effect))
        assert [one.score for one in row.examples] == pytest.approx([ascending[-1], nearest, ascending[0]])


@pytest.mark.parametrize(("lifted", "listed"), [(["not", "good"], ["not good"]), (None, [])])
@pytest.mark.slow
def test_a_phrase_of_texts_whose_words_all_score_more_says_no_more(tmp_path, lifted, listed):
    """In texts with the phrase its words score 1.5 more than elsewhere, alone or (None) as all words do."""
    rng, texts = np.random.default_rng(0), []
    for number in range(60):
        scored = [(f"filler{rng.integers(10)}", rng.normal(-1, 0.3)) for _ in range(6)] + [(f"id{number}", -1.0)]
        own = [("not", rng.normal(0.5, 0.3)), ("good", rng.normal(0.5, 0.3))]
        scored = scored + own if number % 2 else own[1:] + scored + own[:1]
        more = [1.5 * (lifted is None or word in lifted) for word, _ in scored]
        words, scores = zip(*scored, strict=True)
        texts.append(Text(words, tuple(np.add(scores, np.multiply(more, number % 2))), "pos", "a"))
    assert [row.phrase for row in mase.summarise(written(tmp_path / "run", texts), min_texts=20).phrases] == listed


def test_wrong_predictions_are_compared_with_right_ones_by_welchs_test(texts, summary):
    texts = different(texts, "label")
    (row,) = [row for row in summary.wrong if row.word == "trap"]
    wrong, right = ([one for one in texts if one.label == label] for label in ("neg", "pos"))
    assert (row.share, row.share_others) == pytest.approx(
        tuple(np.mean([bool(one.of("trap")) for one in some]) for some in (wrong, right))
    )
    pushes, relative = (
        [[np.sum(np.array(one.of("trap")) - centre * one.mean) for one in some] for some in (wrong, right)]
        for centre in (0, 1)
    )
    assert row.difference == pytest.approx(np.mean(pushes[0]) - np.mean(pushes[1]))
    tests = [stats.ttest_ind(*one, equal_var=False, alternative="greater") for one in (pushes, relative)]
    assert row.p_value == pytest.approx(max(test.pvalue for test in tests), rel=1e-6)


@pytest.mark.slow
def test_words_push_less_towards_a_prediction_of_low_confidence(tmp_path):
    """Of two words that differ one pushes more, which is no reason for a low confidence."""
    rng, texts = np.random.default_rng(0), []
    for number in range(80):
        low = number % 10 == 0
        scored = [(f"filler{rng.integers(10)}", rng.normal(0, 0.3)) for _ in range(6)] + [(f"id{number}", 0.0)]
        scored += [("but", rng.normal(-2 if low else -0.5, 0.2)), ("very", rng.normal(2 if low else 0.5, 0.2))]
        texts.append(Text(*zip(*scored, strict=True), "pos", "a", 0.6 if low else 0.9))
    (row,) = mase.summarise(written(tmp_path / "run", texts), min_texts=8).low_confidence
    assert (row.word, row.n_texts, row.n_others) == ("but", 8, 72)
    pushes, relative = (
        [
            [one.of("but")[0] - centre * one.mean for one in texts if (one.probability < 0.9) == low]
            for low in (True, False)
        ]
        for centre in (0, 1)
    )
    assert row.difference == pytest.approx(np.mean(pushes[0]) - np.mean(pushes[1]))
    tests = [stats.ttest_ind(*one, equal_var=False, alternative="less") for one in (pushes, relative)]
    assert row.p_value == pytest.approx(max(test.pvalue for test in tests), rel=1e-6)


def test_a_group_is_compared_with_all_others_by_welchs_test(texts, summary):
    texts = different(texts, "group")
    (row,) = [row for row in summary.groups if (row.word, row.group) == ("trap", "a")]
    values = [
        [
            [value for one in texts if (one.group == "a") == own for value in one.effects("trap", c)]
            for own in (True, False)
        ]
        for c in (0, 1)
    ]
    assert (row.n_texts, row.n_others) == tuple(map(len, values[0]))
    assert row.p_value == pytest.approx(max(stats.ttest_ind(*one, equal_var=False).pvalue for one in values), rel=1e-6)


def test_a_list_has_at_most_so_many_rows(summary):
    listed = Counter(row.group for row in summary.groups)
    (found,) = [family.n_found for family in summary.families if family.table == "groups"]
    assert max(listed.values()) == 2
    assert listed.total() < found
