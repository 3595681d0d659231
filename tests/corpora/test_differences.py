"""Tests of the comparison of two runs, against models whose weights are known."""

import json
import shutil

import numpy as np
import pytest
from scipy import stats
from tests.attributions import attribution
from tests.runs import WEIGHTS, classifier, made_up_texts, run_of, write_run

import mase
from mase.attribution import Fit, Prediction
from mase.errors import DataError, OptionError
from mase.metrics.perturbation import spearman
from mase_corpora.comparison import Thresholds

pytest.importorskip("duckdb")


TEXTS = made_up_texts(40)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return the folders of runs: of one model with two seeds, and of one with another weight for "good"."""
    folder = tmp_path_factory.mktemp("runs")
    models = {
        "first": (classifier(WEIGHTS), 0),
        "seed": (classifier(WEIGHTS), 1),
        "planted": (classifier(WEIGHTS | {"good": 0.3}), 1),
    }
    return {
        name: write_run(folder / name, TEXTS, model, seed=seed, target="1") for name, (model, seed) in models.items()
    }


@pytest.mark.slow
def test_kept_columns_of_earlier_runs_do_not_stand_for_predictions(tmp_path):
    """A kept column "Prediction", which is refused today, had the name of the predictions to the database."""
    folders = []
    for label, other in (("pos", "neg"), ("neg", "pos")):
        made = attribution("good film", [0.5, 0.1], label=label, other=other)
        folders.append(run_of(tmp_path / label, [(made, ("pos",))], kept=["Prediction"]))
    assert mase.compare(*folders).predictions.flipped == 1


def explained(seed):
    explainer = mase.Explainer(
        classifier(WEIGHTS), method="mase-mask", link="margin", n_samples=60, seed=seed, evidence=0
    )
    return [explainer(text, target="1") for text in TEXTS[:10]]


@pytest.mark.slow
def test_probabilities_change_from_the_first_run_to_the_second(tmp_path):
    """Texts whose prediction flips count apart. Those are listed first about which both runs are most confident."""
    predicted = {
        "first": [("pos", 0.9), ("neg", 0.6), ("pos", 0.9), ("pos", 0.7)],
        "second": [("pos", 0.7), ("neg", 0.75), ("neg", 0.6), ("neg", 0.8)],
    }
    runs = [
        run_of(tmp_path / name, [(predicting(f"film {n}", *one), ()) for n, one in enumerate(texts)])
        for name, texts in predicted.items()
    ]
    found = mase.compare(*runs).predictions
    assert (found.n, found.flipped, found.share_flipped) == (4, 2, 0.5)
    assert (found.mean_change, found.mean_absolute_change) == pytest.approx(((-0.2 + 0.15) / 2, (0.2 + 0.15) / 2))
    assert [flip.row for flip in found.listed] == [3, 2]
    flip = found.listed[0]
    assert (flip.first_prediction, flip.first_probability) == ("pos", 0.7)
    assert (flip.second_prediction, flip.second_probability) == ("neg", 0.8)


def predicting(text, label, probability):
    other = {"pos": "neg", "neg": "pos"}[label]
    by_class = {other: 1 - probability, label: probability}
    return attribution(text, [0.5, 0.1], label=label, prediction=Prediction(label, 1, probability, by_class, False))


REVIEWS = made_up_texts(150, [*WEIGHTS, "planted", *(f"w{number}" for number in range(12))], length=6, seed=5)


def planted(texts):
    """As `classifier`, but that "planted" makes every review a good one."""
    scores = np.array(
        [sum(WEIGHTS.get(word, 0.0) + 4 * (word == "planted") for word in text.split()) for text in texts]
    )
    return np.stack([1 / (1 + np.exp(scores)), 1 / (1 + np.exp(-scores))], axis=1)


@pytest.mark.parametrize("link", ["margin", "probability"])
@pytest.mark.slow
def test_the_word_that_flips_predictions_of_two_classes_is_first(tmp_path, link):
    runs = [
        write_run(tmp_path / name, REVIEWS, model, link=link)
        for name, model in (("one", classifier(WEIGHTS, 0.0)), ("other", planted))
    ]
    found = mase.compare(*runs, min_texts=10)
    assert found.predictions.flipped > 15
    assert (found.reasons.n_texts, found.reasons.flipped_left_out) == (150, 0)
    first = found.shifts.listed[0]
    has = sum("planted" in text.split() for text in REVIEWS)
    assert (first.word, first.response, first.n_texts) == ("planted", "1", has)
    asked = mase.compare(*(
        write_run(tmp_path / f"{name} 1", REVIEWS, model, link=link, target="1")
        for name, model in (("one", classifier(WEIGHTS, 0.0)), ("other", planted))
    ), min_texts=10)  # fmt: skip
    same = asked.shifts.listed[0]
    assert (first.first_mean, first.second_mean) == pytest.approx((same.first_mean, same.second_mean), abs=0.05)


@pytest.mark.slow
def test_scores_with_turned_signs_are_listed_and_not_tested(tmp_path):
    """Two models that differ by a bias alone: where it flips the prediction, another class is explained."""
    words = [f"w{number}" for number in range(12)]
    texts = [f"{text} good bad" for text in made_up_texts(24, words, length=6, seed=1)]

    def biased(bias):
        def predict(texts):
            scores = np.array([3.0 * ("good" in text) - 3.0 * ("bad" in text) + bias for text in texts])
            return np.stack([1 / (1 + np.exp(scores)), 1 / (1 + np.exp(-scores))], axis=1)

        return predict

    def compared(**options):
        return mase.compare(
            *(write_run(tmp_path / f"{bias} {len(options)}", texts, biased(bias), **options) for bias in (0.5, -0.5))
        )

    found = compared()
    assert (found.predictions.flipped, found.reasons.n_turned) == (24, 24)
    assert found.reasons.noise is None
    assert "run both with --target CLASS" in found.reasons.no_noise
    assert compared(target="1").reasons.noise.texts_changed == 0


def test_rounding_in_float32_is_no_change_of_exact_scores(tmp_path):
    def rounded(texts):
        return np.float64(np.float32(classifier(WEIGHTS, 0.0)(texts)))

    models = {"64": classifier(WEIGHTS, 0.0), "32": rounded}
    runs = [write_run(tmp_path / name, REVIEWS[:8], model) for name, model in models.items()]
    assert mase.compare(*runs).reasons.noise.texts_changed == 0


@pytest.mark.slow
def test_of_three_classes_the_words_of_flipped_texts_are_named(tmp_path):
    def three(predict):
        return lambda texts: np.column_stack([0.99 * np.array(predict(texts)), np.full(len(texts), 0.01)])

    runs = []
    for name, model in (("one", classifier(WEIGHTS, 0.0)), ("other", planted)):
        texts = []
        for text in REVIEWS:
            low, high = 0.99 * model([text])[0]
            by_class = {"neg": low, "pos": high, "mixed": 0.01}
            label = max(by_class, key=by_class.get)
            scores = [0.1] * len(text.split())
            told = Prediction(label, list(by_class).index(label), by_class[label], by_class, False)
            texts.append((attribution(text, scores, label=label, prediction=told), ()))
        runs.append(run_of(tmp_path / name, texts, labels=("neg", "pos", "mixed")))
    found = mase.compare(*runs, min_texts=10)
    assert found.reasons.flipped_left_out == found.predictions.flipped == 150 - found.reasons.n_texts > 15
    assert found.reasons.frequent[0].word == "planted"
    assert "--target CLASS" in repr(found)


@pytest.mark.slow
def test_a_run_and_itself_are_equal(runs):
    found = mase.compare(runs["first"], runs["first"])
    assert (found.predictions.flipped, found.predictions.mean_absolute_change) == (0, 0)
    reasons = found.reasons
    assert (reasons.top_overlap, reasons.sign_agreement, reasons.noise.words_changed) == (1, 1, 0)
    assert reasons.rank_correlation == pytest.approx(1)
    assert found.shifts.shifted == 0
    assert f"{len(TEXTS)} texts compared" in repr(found)
    assert found.to_frame("reasons")["top_overlap"].tolist() == [1.0] * len(TEXTS)
    assert mase.compare(*map(mase.open_run, [runs["first"]] * 2)).to_dict() == found.to_dict()


@pytest.mark.slow
def test_agreement_is_that_of_the_metrics(runs):
    rows = mase.compare(runs["first"], runs["seed"]).tables["reasons"].to_pylist()
    assert [row["row"] for row in rows] == list(range(len(TEXTS)))
    for row, one, other in zip(rows[:10], explained(0), explained(1), strict=True):
        size = max(np.abs(one.scores).max(), np.abs(other.scores).max())
        rounded = [np.round(scores / size, 9) for scores in (one.scores, other.scores)]
        assert row["rank_correlation"] == pytest.approx(spearman(*rounded), abs=1e-9)
        tops = [{i for i in found.order[:5] if abs(found.scores[i]) > 1e-9 * size} for found in (one, other)]
        assert row["top_overlap"] == pytest.approx(len(tops[0] & tops[1]) / max(map(len, tops)))


@pytest.mark.slow
def test_words_without_a_score_are_not_among_the_top_words(tmp_path):
    texts = ["refund was okay today", "it was so today", "a refund and a refund"]
    words = ({"refund": 2.0}, {"okay": 2.0})
    one, other = (
        write_run(tmp_path / str(index), texts, classifier(weights, 0.0), method="occlusion", target="1")
        for index, weights in enumerate(words)
    )
    rows = {name: mase.compare(one, name).tables["reasons"].to_pylist() for name in (one, other)}
    assert [row["top_overlap"] for row in rows[one]] == [1, None, 1]
    assert [row["top_overlap"] for row in rows[other]] == [0, None, 0]
    assert mase.compare(one, other).reasons.top_overlap == 0


@pytest.mark.slow
def test_two_seeds_differ_by_noise_alone(tmp_path):
    """At a rate of 0.05 none or one of the five pairs of seeds has a false discovery."""
    settings = {"predict": classifier(WEIGHTS), "n_samples": 50}
    folders = [write_run(tmp_path / str(seed), TEXTS[:10], seed=seed, **settings) for seed in range(6)]
    found = [mase.compare(folders[0], other, min_texts=5) for other in folders[1:]]
    assert sum(one.predictions.flipped for one in found) == 0
    assert sum(one.reasons.noise.words_tested for one in found) == 5 * 10 * 7
    assert sum(one.reasons.noise.words_changed > 0 for one in found) <= 1
    assert sum(one.shifts.shifted > 0 for one in found) <= 1


@pytest.mark.slow
def test_copies_of_a_text_count_once(tmp_path):
    """They share their noise: the words of ten copies differed from one seed to the next, without any error."""
    settings = {"predict": classifier(WEIGHTS), "n_samples": 50, "target": "1"}
    texts = {"once": TEXTS[:4], "copies": TEXTS[:4] + TEXTS[:1] * 10}

    def words_of(name, *, documents):
        folders = (tmp_path / f"{name} {documents} {seed}" for seed in (0, 1))
        runs = [write_run(at, texts[name], seed=n, documents=documents, **settings) for n, at in enumerate(folders)]
        return mase.compare(*runs, min_texts=2).tables["words"]

    assert words_of("copies", documents=True) == words_of("once", documents=True)
    counts = words_of("copies", documents=False)["n_texts"].to_pylist()  # where copies cannot be recognised
    assert max(counts) > 10


def test_a_planted_weight_is_found(runs):
    found = mase.compare(runs["first"], runs["planted"], min_texts=10)
    with_good = sum("good" in text.split() for text in TEXTS)
    assert abs(found.reasons.noise.texts_changed - with_good) <= 2
    assert [(shift.response, shift.word) for shift in found.shifts.listed] == [("1", "good")]
    (shift,) = found.shifts.listed
    assert shift.low < -0.7 < shift.high
    assert shift.n_texts == with_good
    assert [example.text for example in shift.examples] == ["good"] * 3
    texts = {str(row): text for row, text in enumerate(TEXTS)}
    assert all(example.before + example.text + example.after in texts[example.id] for example in shift.examples)
    flipped = [row for row, text in enumerate(TEXTS) if flips(text)]
    assert sorted(row["row"] for row in found.tables["flips"].to_pylist()) == flipped
    assert found.predictions.flipped == len(flipped) > 0
    json.dumps(found.to_dict(), allow_nan=False)


def flips(text):
    one, other = (classifier(weights)([text])[0].argmax() for weights in (WEIGHTS, WEIGHTS | {"good": 0.3}))
    return one != other


@pytest.mark.slow
def test_an_exact_change_is_found_and_rounding_is_not(tmp_path):
    """Without interactions the scores are exact: their errors are those of rounding."""
    first = write_run(tmp_path / "first", TEXTS[:12], classifier(WEIGHTS, 0))
    again = write_run(tmp_path / "again", TEXTS[:12], classifier(WEIGHTS, 0), seed=1)
    changed = write_run(tmp_path / "changed", TEXTS[:12], classifier(WEIGHTS | {"film": 1e-3}, 0), seed=1)
    assert mase.compare(first, again, min_texts=2).shifts.shifted == 0
    assert mase.compare(first, again).reasons.noise.words_changed == 0
    found = mase.compare(first, changed, min_texts=2)
    assert {shift.word for shift in found.shifts.listed} == {"film"}


@pytest.mark.slow
def test_a_score_that_is_zero_but_for_rounding_has_no_sign(tmp_path):
    scores = ([0.5, 1e-17, 0.1], [-0.5, -1e-17, 0.1], [0.5, 0.2, 0.1])
    made = [[(attribution("good film here", values, se=1e-18), ())] for values in scores]
    runs = [run_of(tmp_path / str(number), texts) for number, texts in enumerate(made)]
    shares = [mase.compare(runs[0], other).reasons.sign_agreement for other in runs]
    assert shares == pytest.approx([1, 1 / 2, 2 / 3])


@pytest.mark.parametrize("forms", [("caf\xe9", "cafe\u0301"), ("film", "Film"), ("film", "(film,")])
def test_the_forms_of_a_word_are_one_word(tmp_path, forms):
    texts = [f"{forms[number % 2]} {number}" for number in range(8)]
    runs = [
        write_run(tmp_path / str(weight), texts, classifier({form.lower(): weight for form in forms}), target="1")
        for weight in (1.0, 2.0)
    ]
    (word,) = mase.compare(*runs, min_texts=8).tables["words"].to_pylist()
    assert (word["word"], word["n_texts"]) == (forms[0], 8)


@pytest.mark.slow
def test_other_texts_are_refused_or_left_out(runs, tmp_path):
    other = write_run(tmp_path / "other", [*TEXTS[:30], "good film", "bad film"], classifier(WEIGHTS), target="1")
    with pytest.raises(DataError):
        mase.compare(runs["first"], other)
    texts = mase.compare(runs["first"], other, common_only=True).texts
    assert (texts.compared, texts.different, texts.only_first, texts.only_second) == (30, 2, 8, 0)


@pytest.mark.slow
def test_texts_are_matched_by_id_in_any_order(runs, tmp_path):
    order = list(reversed(range(len(TEXTS))))
    texts, ids = [TEXTS[index] for index in order], [str(index) for index in order]
    turned = write_run(tmp_path / "turned", texts, classifier(WEIGHTS), ids=ids, part_size=7, target="1")
    found = mase.compare(runs["first"], turned)
    assert found.texts.compared == len(TEXTS)
    assert found.predictions.flipped == 0
    assert found.reasons.noise.words_changed == 0


def test_failed_texts_are_counted(tmp_path):
    one = write_run(tmp_path / "one", ["good film", "", "bad plot"], classifier(WEIGHTS))
    other = write_run(tmp_path / "other", ["good film", "", "bad plot"], classifier(WEIGHTS))
    texts = mase.compare(one, other).texts
    assert (texts.compared, texts.failed_first, texts.failed_second, texts.different) == (2, 1, 1, 0)


@pytest.mark.slow
def test_texts_that_failed_in_one_run_only_are_refused(tmp_path):
    one = write_run(tmp_path / "one", ["good film", "bad plot", ""], classifier(WEIGHTS))
    other = write_run(tmp_path / "other", ["good film", "bad plot", ""], broken_at("plot"))
    with pytest.raises(DataError, match=r"1 that failed in the second run only; .* the 1 that are equal"):
        mase.compare(one, other)
    with pytest.raises(DataError, match="1 that failed in the first run only"):
        mase.compare(other, one)
    texts = mase.compare(one, other, common_only=True).texts
    assert (texts.compared, texts.failed_first, texts.failed_second, texts.failed_both) == (1, 1, 2, 1)


def broken_at(word):
    """Return a classifier that fails for texts with a word."""

    def predict(texts):
        if any(word in text for text in texts):
            raise ValueError(word)
        return classifier(WEIGHTS)(texts)

    return predict


@pytest.mark.slow
def test_runs_that_are_not_finished_are_said_to_be_so(tmp_path, runs):
    one, other = (shutil.copytree(runs[name], tmp_path / name) for name in ("first", "seed"))
    for folder in (one, other):
        (folder / "texts" / "part-00001.parquet").unlink()
    found = mase.compare(one, other)
    assert (found.texts.compared, found.texts.left_first, found.texts.left_second) == (24, 16, 16)
    assert "The first run is not finished: 16 of its texts are left." in repr(found)
    for limit in ({"max_flipped": 1.0}, {"max_reasons_changed": 1.0}, {"min_top_overlap": 0.0}):
        with pytest.raises(DataError, match=r"16 texts of the first run and 16 .* common_only=True"):
            Thresholds(**limit).exceeded(found)
        assert Thresholds(**limit).exceeded(mase.compare(one, other, common_only=True)) == ()
    assert Thresholds().exceeded(found) == ()


def test_reasons_without_a_common_unit_are_not_the_same(tmp_path):
    texts = ["good film. bad plot.", "dull cast. fine film."]
    one = write_run(tmp_path / "words", texts, classifier(WEIGHTS))
    other = write_run(tmp_path / "sentences", texts, classifier(WEIGHTS), units="sentence")
    found = mase.compare(one, other)
    assert found.reasons.share_changed is None
    with pytest.raises(DataError, match="max_reasons_changed cannot be checked: the runs have no score of the same"):
        Thresholds(max_reasons_changed=0.0).exceeded(found)


@pytest.mark.slow
def test_the_reasons_of_other_classes_are_not_the_same(tmp_path):
    one = write_run(tmp_path / "pos", TEXTS, classifier(WEIGHTS), target="1")
    other = write_run(tmp_path / "neg", TEXTS, classifier(WEIGHTS), target="0")
    found = mase.compare(one, other)
    assert (found.reasons.n_texts, found.reasons.share_changed) == (0, None)
    with pytest.raises(DataError, match="max_reasons_changed cannot be checked: no text has a response of the same"):
        Thresholds(max_reasons_changed=0.0).exceeded(found)


def test_runs_without_texts_need_the_same_input(tmp_path):
    settings = {"predict": classifier(WEIGHTS), "documents": False}
    one, same = (write_run(tmp_path / name, TEXTS[:3], **settings) for name in ("one", "same"))
    other = write_run(tmp_path / "other", TEXTS[1:4], **settings)
    assert mase.compare(one, same).texts.compared == 3
    with pytest.raises(DataError):
        mase.compare(one, other)


@pytest.mark.slow
def test_scores_of_other_links_are_compared_by_order(runs, tmp_path):
    other = write_run(tmp_path / "other", TEXTS, classifier(WEIGHTS), link="probability", target="1")
    found = mase.compare(runs["first"], other)
    assert found.reasons.links == (("margin", "probability"),)
    assert found.reasons.noise is None
    assert found.reasons.share_changed is None
    assert found.shifts is None
    assert found.reasons.top_overlap > 0.9


def test_small_scores_of_another_link_keep_their_order(tmp_path):
    """The scores of a class that is never predicted are small as probabilities, but not as log-odds."""

    def rare(texts):
        p = np.array([1e-7 * np.exp(sum(WEIGHTS[word] for word in text.split())) for text in texts])
        return np.stack([1 - p, p], axis=1)

    settings = {"predict": rare, "target": "1", "method": "occlusion"}
    runs = [write_run(tmp_path / link, TEXTS[:5], link=link, **settings) for link in ("margin", "probability")]
    reasons = mase.compare(*runs).reasons
    assert reasons.rank_correlation == pytest.approx(1)
    assert reasons.sign_agreement == 1


def test_ids_must_be_unique(tmp_path):
    one = write_run(tmp_path / "one", TEXTS[:2], classifier(WEIGHTS), ids=["a", "a"])
    with pytest.raises(DataError):
        mase.compare(one, one)


def test_runs_without_texts_in_common(tmp_path):
    one = write_run(tmp_path / "one", TEXTS[:2], classifier(WEIGHTS), ids=["a", "b"])
    other = write_run(tmp_path / "other", TEXTS[:2], classifier(WEIGHTS))
    found = mase.compare(one, other, common_only=True)
    assert (found.texts.compared, found.reasons.n_texts, found.predictions.share_flipped) == (0, 0, 0)
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "options", [{"min_texts": 1}, {"min_texts": True}, {"rate": 0.0}, {"rate": np.nan}, {"rate": "a"}]
)
def test_invalid_options_are_refused(runs, options):
    with pytest.raises(OptionError):
        mase.compare(runs["first"], runs["first"], **options)


N_WORDS, RATE = 8, 0.06


SIGNS = np.array([-1, 1] * 30)  # of the texts, whose classes alternate


WORDS = [f"w{number}" for number in range(N_WORDS)]


# The numbers of evaluations of each run, which few degrees of freedom are left of.
N_QUERIES = (13, 40)


@pytest.fixture(scope="module")
def scores():
    """Return the scores and errors `(2, 60, 8)` of two runs; "w0", "w1" and a tenth of the others differ."""
    rng = np.random.default_rng(3)
    errors = rng.uniform(0.1, 1, (2, 60, N_WORDS))
    truth = rng.normal(0, 1, (60, N_WORDS))
    both = np.stack([truth, truth + np.where(rng.random(truth.shape) < 0.1, 4.0, 0.0)])
    both[1, :, :2] += np.outer(SIGNS, (1.0, -2.0))
    return both + errors * rng.standard_normal(errors.shape), errors


@pytest.fixture(scope="module")
def found(scores, tmp_path_factory):
    """Return the comparison. The second run has no score of the last word of the first ten texts."""
    folder, runs = tmp_path_factory.mktemp("reasons"), []
    for index, (values, errors) in enumerate(zip(*scores, strict=True)):
        texts = []
        for number, (row, error) in enumerate(zip(values, errors, strict=True)):
            text = " ".join([*WORDS, str(number)])
            ends = np.cumsum([len(word) + 1 for word in WORDS]) - 1
            n = N_WORDS - (index == 1 and number < 10)
            spans = [(int(end) - 2, int(end)) for end in ends[:n]]
            made = attribution(
                text, row[:n].tolist(), spans=spans, standard_errors=tuple(error[:n].tolist()),
                fit=Fit(None, 1.25, N_QUERIES[index], 0, 0.2), label=("neg", "pos")[number % 2],
            )  # fmt: skip
            texts.append((made, ()))
        runs.append(run_of(folder / str(index), texts, part_size=25))
    return mase.compare(*runs, min_texts=5, rate=RATE)


def matched(scores):
    """Yield the scores and errors `(2, w)` of the words that both runs have, for each text."""
    for number in range(60):
        n = N_WORDS - (number < 10)
        yield scores[0][:, number, :n], scores[1][:, number, :n]


def p_values(text, errors, n_words, n_queries=N_QUERIES):
    """Return the p-values of Welch's tests of a text."""
    freedom = [n - words - 1 for n, words in zip(n_queries, n_words, strict=True)]
    squares = errors**2
    total = squares.sum(axis=0)
    welch = total**2 / (squares[0] ** 2 / freedom[0] + squares[1] ** 2 / freedom[1])
    return 2 * stats.t.sf(np.abs(text[1] - text[0]) / np.sqrt(total), welch)


@pytest.mark.slow
def test_words_that_differ_are_those_of_welchs_test_at_the_rate(scores, found):
    every = [p_values(*pair, (N_WORDS, N_WORDS - (number < 10))) for number, pair in enumerate(matched(scores))]
    changed = stats.false_discovery_control(np.concatenate(every)) <= RATE
    by_text = [some.sum() for some in np.split(changed, np.cumsum([len(one) for one in every])[:-1])]
    assert found.reasons.noise.words_tested == len(changed)
    assert found.tables["reasons"]["words_changed"].to_pylist() == by_text
    assert found.reasons.noise.words_changed == sum(by_text) > 20
    assert found.reasons.noise.texts_changed == np.count_nonzero(by_text)


@pytest.mark.parametrize("n_queries", [(6, 40), (40, 6), (7, 8)])
@pytest.mark.slow
def test_the_least_rate_at_which_one_score_differs_is_the_p_value_of_welchs_test(n_queries, tmp_path):
    scores, errors, runs = np.array([[0.1], [1.7]]), np.array([[0.3], [0.4]]), []
    for index, (score, error) in enumerate(zip(scores, errors, strict=True)):
        fit = Fit(None, 1.25, n_queries[index], 0, 0.2)
        made = attribution("w0", score.tolist(), standard_errors=tuple(error.tolist()), fit=fit)
        runs.append(run_of(tmp_path / str(index), [(made, ())]))
    (p,) = p_values(scores, errors, (1, 1), n_queries)
    assert 0.001 < p < 0.1
    changed = [mase.compare(*runs, rate=factor * p).reasons.noise.words_changed for factor in (0.97, 1.03)]
    assert changed == [0, 1]


def test_agreement_in_one_slow_line_each(scores, found):
    reasons, signs, overlaps, correlations = found.reasons, [], [], []
    for number, (text, errors) in enumerate(matched(scores)):
        clear = (np.abs(text) > 1.959964 * errors).any(axis=0)
        signs += [np.mean(np.sign(text[0]) == np.sign(text[1]), where=clear)] if clear.any() else []
        tops = [set(np.argsort(-scores[0][0, number])[:5]), set(np.argsort(-text[1])[:5])]
        overlaps.append(len(tops[0] & tops[1]) / 5)
        correlations.append(stats.spearmanr(*text).statistic)
    assert reasons.sign_agreement == pytest.approx(np.mean(signs))
    assert reasons.top_overlap == pytest.approx(np.mean(overlaps))
    assert reasons.rank_correlation == pytest.approx(np.mean(correlations))
    assert (reasons.n_texts, reasons.n_words, reasons.n_unmatched) == (60, 60 * N_WORDS - 10, 10)


def test_means_of_words_have_students_interval_of_paired_differences(scores, found):
    """Of two classes, the scores for "neg" count for "pos" with the sign turned."""
    table = {row["word"]: row for row in found.tables["words"].to_pylist()}
    assert len(table) == N_WORDS
    assert {row["response"] for row in table.values()} == {"pos"}
    for word, row in table.items():
        chosen = [n for n in range(60) if word != WORDS[-1] or n >= 10]
        first, second = scores[0][:, chosen, WORDS.index(word)] * SIGNS[chosen]
        test = stats.ttest_1samp(second - first, 0)
        assert (row["n_texts"], row["p_value"]) == (len(chosen), pytest.approx(test.pvalue, rel=1e-6))
        assert (row["low"], row["high"]) == pytest.approx(tuple(test.confidence_interval()))
        assert (row["first_mean"], row["second_mean"]) == pytest.approx((first.mean(), second.mean()))
    p = np.array([row["p_value"] for row in table.values()])
    shifted = [row["shifted"] for row in table.values()]
    assert shifted == (stats.false_discovery_control(p) <= RATE).tolist()
    assert sum(shifted) == found.shifts.shifted <= np.count_nonzero(p <= RATE)
    assert {shift.word for shift in found.shifts.listed} >= {"w0", "w1"}
    differences = [shift.difference for shift in found.shifts.listed]
    assert differences == sorted(differences, key=abs, reverse=True)
    assert differences[0] < 0 < max(differences)
    for shift in found.shifts.listed:  # with the texts in which its score differs most
        numbers = range(60)
        changes = np.abs(scores[0][1] - scores[0][0])[:, WORDS.index(shift.word)]
        most = sorted(numbers, key=lambda number, changes=changes: -changes[number])[:3]
        assert [int(one.after.split()[-1]) for one in shift.examples] == most


def of_words(weights, labels, dull=-0.2, **settings):
    def predict(texts):
        log_odds = [[1 + weight * ("love" in text) + dull * ("dull" in text) for weight in weights] for text in texts]
        return 1 / (1 + np.exp(-np.array(log_odds)))

    return mase.models.Callable(predict, labels=labels, **settings)


def compared(tmp_path, *models):
    texts = [f"love and fun dull number {number}" for number in range(12)]
    fast = {"engine": "here", "n_samples": 64, "method": "mase-mask+estimator=least-squares"}
    runs = [mase.run(texts, tmp_path / str(number), model=model, **fast) for number, model in enumerate(models)]
    return mase.compare(*runs, min_texts=5)


def test_scores_of_separate_questions_are_not_turned(tmp_path):
    found = compared(
        tmp_path,
        *(of_words(weights, ["romance", "comedy"], multilabel=True) for weights in ((2, 1), (1, 2))),
    )
    assert found.predictions.flipped == 12
    assert found.reasons.n_texts == 0


@pytest.mark.parametrize("labels", [["not {love}"], ["it's 50% {"], ["{common}"]])
def test_classes_may_have_any_name(tmp_path, labels):
    found = compared(tmp_path, of_words((2,), labels), of_words((-3,), labels, dull=0.2))
    assert (found.predictions.flipped, found.reasons.n_texts) == (12, 12)
    assert any(shift.word == "love" for shift in found.shifts.listed)
