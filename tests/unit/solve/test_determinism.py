"""Tests of `mase.solve.determinism`."""

import re

import numpy as np
import pytest
import torch
from torch import nn

import mase
from mase.options import Stopping
from mase.solve.determinism import Consistency, Cost, Repeats
from mase.testing import FunctionProbe

TEXT = "a good film with a bad end"


METHODS = ["mase", "mase-mask", "lime", "kernel-shap", "occlusion", "partition-shap"]


class Asked:
    """A function of texts that counts the texts it is asked about, batch by batch."""

    def __init__(self, answer):
        self.answer, self.batches = answer, []

    def __call__(self, texts):
        self.batches.append(len(texts))
        chances = 1 / (1 + np.exp(-np.asarray(self.answer(texts), dtype=np.float64)))
        return np.stack([1 - chances, chances], axis=1)

    @property
    def n(self):
        return sum(self.batches)


def sentiment(texts):
    return np.array([2.0 * ("good" in text) - ("bad" in text) for text in texts])


def random_answers(seed=0):
    rng = np.random.default_rng(seed)
    return Asked(lambda texts: rng.standard_normal(len(texts)))


def noisy(level, seed=0):
    rng = np.random.default_rng(seed)
    return Asked(lambda texts: sentiment(texts) + level * rng.standard_normal(len(texts)))


def mixing():
    def answer(texts):
        scores = sentiment(texts)
        return scores - scores.mean()

    return Asked(answer)


def codes(found):
    return {note.code for note in found.notes}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["a", TEXT])
def test_a_random_function_is_told_and_no_error_is_zero(method, text):
    found = mase.explain(text, random_answers(), method=method)
    assert "not-deterministic" in codes(found)
    assert (found.standard_errors > 0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.slow
def test_errors_of_a_random_function_cover_its_scores(method):
    # Its long-run scores are all 0: of many seeds about one in twenty is beyond two standard errors. LIME and `mase`
    # shrink scores.
    ratios = [mase.explain(TEXT, random_answers(seed), method=method, n_samples=200) for seed in range(12)]
    squares = np.concatenate([(a.scores / a.standard_errors) ** 2 for a in ratios])
    assert 0.1 < squares.mean() < 3


@pytest.mark.parametrize("method", METHODS)
def test_a_function_whose_rows_depend_on_each_other_is_asked_row_by_row(method):
    found = mase.explain(TEXT, mixing(), method=method)
    alone = mase.explain(TEXT, lambda texts: [[0.5, 0.5] for _ in texts], method=method)
    assert "batch-dependent" in codes(found)
    assert "not-deterministic" not in codes(found)
    assert found.scores == pytest.approx(alone.scores, abs=1e-12)  # alone, every text answers the same


def counts(texts):
    return np.array([2.0 * text.split().count("good") - text.split().count("bad") for text in texts])


@pytest.mark.parametrize("n_samples", [8, 16, 64, 200])
@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("scored", [counts, sentiment])
def test_a_function_that_takes_the_mean_of_permutations_away_is_told(scored, power, n_samples):
    """The texts with one word after the other in the place of another have the text as their mean, or nearly."""

    def answer(texts):
        scores = scored(texts)
        return (scores - scores.mean()) ** power

    found = mase.explain(TEXT, Asked(answer), method="permutation-importance", n_samples=n_samples)
    assert "batch-dependent" in codes(found)
    assert not found.scores.any()  # alone, every text answers the same


@pytest.mark.parametrize("n_samples", [8, 16, 64, 200])
def test_a_function_of_the_place_in_the_batch_is_told(n_samples):
    answer = Asked(lambda texts: counts(texts) * np.where(np.arange(len(texts)) % 2, 0.7, 1.0))
    found = mase.explain(TEXT, answer, method="permutation-importance", n_samples=n_samples)
    assert "batch-dependent" in codes(found)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("difference", "told"), [(1e-6, False), (1e-4, True)])
def test_a_margin_is_as_precise_as_the_logits_it_is_made_of(method, difference, told):
    """An untrained model has nearly the same logits for all classes, and words change them by little."""

    def logits(texts):
        return np.stack([np.full(len(texts), 5.0 + difference * (len(texts) > 1)), 5.0 + 1e-5 * sentiment(texts)], 1)

    model = mase.models.Callable(logits, outputs="logits", labels=["a", "b"])
    found = mase.explain(TEXT, model, method=method, link="margin")
    assert ("batch-dependent" in codes(found)) == told


def test_answers_that_differ_a_little_are_shown_with_the_digits_that_differ():
    answers = Asked(lambda texts: sentiment(texts) + 5 + 2e-4 * (len(texts) > 1))
    found = mase.explain(TEXT, answers, method="occlusion", link="margin")
    (note,) = [one for one in found.notes if one.code == "batch-dependent"]
    alone, in_batch = (float(number) for number in re.findall(r"[0-9][0-9.]*", note.message)[:2])
    assert in_batch - alone == pytest.approx(2e-4, rel=0.5)


@pytest.mark.parametrize("method", METHODS)
def test_a_steady_function_costs_few_evaluations_more_and_is_not_repeated(method):
    steady = Asked(sentiment)
    found = mase.explain(TEXT, steady, method=method)
    assert codes(found).isdisjoint({"not-deterministic", "batch-dependent"})
    distinct = 2**7
    assert steady.n in (found.fit.n_queries, found.fit.n_queries + 1)  # the labels, which nobody counts
    again = 32 if not found.standard_errors.any() else 0
    assert steady.n <= distinct + len(steady.batches) + again


def test_at_most_two_evaluations_find_what_does_not_matter():
    # In a text where words interact, the errors are far larger than such a difference.
    def interacting(texts):
        return np.array([3.0 * ("good" in text and "bad" not in text) for text in texts])

    rng = np.random.default_rng(0)
    quiet = mase.explain(TEXT, Asked(interacting), target=1, n_samples=300)
    shaking = Asked(lambda texts: interacting(texts) + 1e-7 * rng.standard_normal(len(texts)))
    jitter = mase.explain(TEXT, shaking, target=1, n_samples=300)
    assert codes(jitter).isdisjoint({"not-deterministic", "batch-dependent"})
    assert jitter.fit.n_queries <= quiet.fit.n_queries + 1
    assert jitter.scores == pytest.approx(quiet.scores, abs=1e-5)


def test_noise_that_could_move_a_score_is_found():
    found = mase.explain(TEXT, noisy(0.1), method="occlusion", link="margin")
    assert "not-deterministic" in codes(found)
    assert found.standard_errors.min() > 0.1 / 10


def test_cost_and_errors_are_those_of_the_repetitions():
    asked = noisy(0.2)
    found = mase.explain(TEXT, asked, method="occlusion", link="margin", n_samples=100)
    assert asked.n <= found.fit.n_queries + 1  # the labels are counted by nobody
    assert asked.n >= 5 * 7
    # A difference of two answers with noise 0.2 each, averaged over ten repetitions at most.
    assert found.standard_errors == pytest.approx(np.full(7, 0.2 * 2**0.5 / 10**0.5), rel=1.0)


class Dropping(nn.Module):
    """Its dropout is on in evaluation mode, too."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(50, 8), nn.Linear(8, 2)

    def forward(self, ids):
        return self.head(nn.functional.dropout(self.words(ids).mean(dim=1), 0.5, training=True))


class Mixing(Dropping):
    """It takes the mean of the batch away."""

    def forward(self, ids):
        pooled = self.words(ids).mean(dim=1)
        return self.head(pooled - pooled.mean(dim=0))


class Rounding(Dropping):
    """Its scores change a little with the size of the batch."""

    def forward(self, ids):
        return self.head(self.words(ids).mean(dim=1)) + 2e-3 * (len(ids) > 1) * torch.tensor([0, 1])


def wrapped(module, dtype=torch.float32, **options):
    torch.manual_seed(0)
    return mase.models.TorchModule(
        module().to(dtype),
        tokenize=lambda text: [sum(map(ord, word)) % 50 for word in text.split()],
        outputs="logits",
        labels=["a", "b"],
        **options,
    )


@pytest.mark.parametrize("method", ["mase", "mase-nlgp", "occlusion", "permutation-importance"])
def test_modules_are_watched_too(method):
    dropping = mase.explain(TEXT, wrapped(Dropping), method=method, n_samples=200)
    assert "not-deterministic" in codes(dropping)
    assert (dropping.standard_errors > 0).all()
    assert "batch-dependent" in codes(mase.explain(TEXT, wrapped(Mixing), method=method, n_samples=200))


@pytest.mark.parametrize("method", ["kernel-shap", "mase-nlgp"])
def test_a_module_of_few_bits_rounds_and_is_not_asked_row_by_row(method):
    exact = mase.explain(TEXT, wrapped(Rounding), method=method, n_samples=200)
    found = mase.explain(TEXT, wrapped(Rounding, torch.bfloat16), method=method, n_samples=200)
    assert "batch-dependent" in codes(exact)
    assert "rounding" in codes(found)
    assert found.fit.n_queries < exact.fit.n_queries


@pytest.mark.parametrize("method", ["occlusion", "kernel-shap", "mase-nlgp"])
def test_a_module_of_few_bits_that_mixes_rows_is_asked_row_by_row(method):
    found = mase.explain(TEXT, wrapped(Mixing, torch.bfloat16), method=method, n_samples=200)
    assert "batch-dependent" in codes(found)
    assert "rounding" not in codes(found)


@pytest.mark.parametrize("method", ["mase", "kernel-shap", "leverage-shap", "partition-shap"])
def test_a_text_that_was_first_asked_beside_its_reference_is_asked_alone(method):
    found = mase.explain(TEXT, wrapped(Mixing, mask_id=0), n_samples=40, method=method)
    assert codes(found) >= {"batch-dependent"}
    assert "not-deterministic" not in codes(found)
    assert not found.scores.any()  # one row at a time, all answers are the same


def test_noise_of_the_method_itself_is_not_the_model_s(lstm_model):
    found = mase.explain(TEXT, lstm_model, method="standard-gaussian", n_samples=200)
    assert codes(found).isdisjoint({"not-deterministic", "batch-dependent"})


@pytest.mark.parametrize("stopping", [{"tolerance": 0.2}, {"stable_top": 2}])
def test_stopping_rules_work_on_a_noisy_function(stopping):
    found = mase.explain(TEXT, noisy(0.5), stopping=Stopping(**stopping))
    assert "not-deterministic" in codes(found)
    assert (found.standard_errors > 0).all()


def test_the_response_is_that_of_all_repetitions():
    answered = []

    def answer(texts):
        answered.extend(rng.standard_normal(len(texts)))
        return answered[-len(texts) :]

    rng = np.random.default_rng(0)
    found = mase.explain("a", Asked(answer), method="occlusion", link="margin", target=1)
    assert "not-deterministic" in codes(found)
    assert np.abs(np.array(answered) - found.response).min() > 1e-9  # a mean, and no single answer


def test_the_smallest_of_halved_batches_is_told():
    cost = Cost()
    assert cost.notes == ()
    for size in (16, 4, 8):
        cost.halved(size)
    (told,) = cost.notes
    assert told.code == "batch-halved"
    assert "halved to 4:" in told.message


def test_the_answer_alone_is_the_one_that_was_not_beside_the_reference():
    cost = Cost()
    repeats = Repeats(FunctionProbe(lambda c: np.full(len(c), 1.005), 2), lambda scores: scores[:, 0], cost)
    consistency = Consistency()
    row = np.ones((1, 2))
    consistency.compare(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]]), repeats, row, 0)
    assert (consistency.alone, consistency.in_batch, consistency.difference) == (1.005, 2.0, 1.0)
    assert (consistency.kind, consistency.size, cost.n_compared) == ("batch-dependent", 2.0, 1)
    consistency.compare(np.array([[1.0, 0.0]]), np.array([[1.5, 0.0]]), repeats, row, 0)
    assert (consistency.in_batch, consistency.difference) == (2.0, 1.0)  # the largest difference is kept


def votes(n, seed):
    """Return a function whose answers are shares of n draws of a label; those of extreme texts hardly vary."""
    rng = np.random.default_rng(seed)

    def answer(texts):
        log_odds = np.array([6.0 * ("good" in text) - 4.5 * ("bad" in text) - 0.5 for text in texts])
        share = rng.binomial(n, 1 / (1 + np.exp(-log_odds))) / n
        return np.stack([1 - share, share], axis=1)

    return answer


@pytest.mark.parametrize("method", ["mase", "occlusion", "partition-shap"])
@pytest.mark.parametrize("n", [1, 20])
def test_noise_is_noticed_before_scores_are_called_exact(method, n):
    for seed in range(8):
        found = mase.explain("a good but bad end", votes(n, seed), method=method, link="probability", target="1")
        assert "not-deterministic" in codes(found)
        assert not found.responses[0].exact
        assert found.standard_errors.all()


def test_noise_is_not_taken_for_an_effect_of_the_batch():
    told = [codes(mase.explain("a good but bad end", votes(1, seed), target="1")) for seed in range(8)]
    assert not any("batch-dependent" in of_one for of_one in told)


def test_what_a_noisy_model_leaves_unexplained_is_called_noise():
    found = mase.explain(TEXT, votes(1, 0), link="probability", target="1")
    (note,) = [one for one in found.notes if one.code == "poor-fit"]
    assert "noise of the model" in note.message
    assert "too near 0" not in note.message


def test_the_evidence_of_a_model_that_depends_on_its_batch_is_asked_alone():
    explainer = mase.Explainer(mixing())
    found = explainer("a good film with bad parts", target="1")
    assert "batch-dependent" in codes(found)
    for changed in found.evidence.without:
        alone = explainer.predict_without(found, changed.units)
        assert changed.target_probability == pytest.approx(alone.target_probability)


def test_the_flip_set_of_a_noisy_model_is_one_of_its_mean():
    rng, wrong = np.random.default_rng(0), 0

    def answer(texts):
        log_odds = [1.2 * ("a" in text) + 0.9 * ("b" in text) + 0.3 * ("c" in text) - 1 for text in texts]
        return np.array(log_odds) + 0.4 * rng.standard_normal(len(texts))

    for seed in range(30):
        found = mase.Explainer(Asked(answer), seed=seed)("a b c d e f", target="1")
        flips = found.evidence.flip_set
        assert flips is None or not flips.smallest
        wrong += flips is not None and not {0, 1} & {*flips.units}
        wrong += flips is not None and {*flips.units} in ({0}, {1})  # the mean of the rest is positive
    assert wrong <= 6
