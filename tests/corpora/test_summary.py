"""Tests of what a summary counts."""

from collections import Counter

import numpy as np
import pytest
from tests.attributions import attribution
from tests.corpora import corpora
from tests.corpora.corpora import hashed
from tests.runs import run_of

import mase
from mase.errors import OptionError, UnknownNameError
from mase.sources.rows import fields_of
from mase.testing import LogisticClassifier
from mase_corpora.effects import Example, Family, WordEffect
from mase_corpora.summary import ROWS, Overview, Settings, Summary, table


@pytest.mark.parametrize("label", ["caf\xe9", "cafe\u0301"])
def test_a_label_may_be_in_another_normal_form_than_the_class(tmp_path, label):
    texts = [
        (attribution("film", [0.5], label="caf\xe9"), (label,)),
        (attribution("end", [0.5], label="noir"), (label,)),
    ]
    run = run_of(tmp_path / "run", texts, kept=("label",), labels=("noir", "caf\xe9"))
    found = mase.summarise(run, label_column="label")
    assert [(row.label, row.prediction) for row in found.confusion] == [("caf\xe9", "caf\xe9"), ("caf\xe9", "noir")]


@pytest.mark.slow
def test_shares_are_of_the_explained_texts_and_of_those_with_a_label(tmp_path):
    """Of three texts with the label "pos" one is predicted as "neg"; one of the four explained texts has a note."""
    rows = [("pos", "pos", ()), ("pos", "pos", [("few-samples", "beware")]), ("neg", "pos", ()), ("neg", "neg", ())]
    texts = [
        (attribution(f"film {number}", [0.5, 0.1], label=predicted, notes=notes), (label,))
        for number, (predicted, label, notes) in enumerate(rows)
    ]
    texts.append((("broken", ValueError("no")), ("pos",)))
    found = mase.summarise(run_of(tmp_path / "run", texts, kept=("label",)), label_column="label")
    assert [(row.label, row.prediction, row.n_texts) for row in found.confusion] == [
        ("neg", "neg", 1), ("pos", "pos", 2), ("pos", "neg", 1),
    ]  # fmt: skip
    assert [row.share for row in found.confusion] == pytest.approx([1, 2 / 3, 1 / 3])
    assert [(note.code, note.n_texts, note.share) for note in found.notes] == [("few-samples", 1, 1 / 4)]
    assert [(row.prediction, row.n_texts, row.share) for row in found.predictions] == [("neg", 2, 0.5), ("pos", 2, 0.5)]


@pytest.mark.slow
def test_a_text_has_a_note_if_one_of_its_responses_has_it(tmp_path):
    def hard(texts):
        """Of three classes, the words tell the first one apart, and chance the others."""
        rows = np.array([hashed(3, 0)([text])[0] for text in texts])
        first = 0.6 + 0.3 * np.array(["w1" in text.split() for text in texts])
        return np.column_stack([first, (1 - first)[:, None] * rows[:, 1:] / rows[:, 1:].sum(axis=1, keepdims=True)])

    texts = [" ".join(f"w{(row * 5 + i) % 17}" for i in range(14)) for row in range(8)]
    run = mase.run(texts, tmp_path / "run", model=hard, target="all", engine="here", n_samples=64)
    pairs = {(row["row"], note["code"]) for row in run.texts().to_pylist() for note in row["notes"]}
    on_responses = {(row["row"], note["code"]) for row in run.responses().to_pylist() for note in row["response_notes"]}
    assert on_responses - pairs  # so that it matters
    expected = Counter(code for _, code in pairs | on_responses)
    assert {note.code: note.n_texts for note in mase.summarise(run).notes} == expected


def test_distributions_are_those_of_numpy(tmp_path):
    values = np.arange(8) ** 2 / 50
    texts = [(attribution(f"film {number}", [0.5, 0.1], r2=value), ()) for number, value in enumerate(values.tolist())]
    (found,) = [one for one in mase.summarise(run_of(tmp_path / "run", texts)).quality if one.name == "r2"]
    quantiles = (found.minimum, found.q10, found.q25, found.median, found.q75, found.q90, found.maximum)
    assert quantiles == pytest.approx(np.quantile(values, [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]))
    assert (found.n, found.mean) == (8, pytest.approx(values.mean()))


@pytest.mark.parametrize(("min_texts", "groups"), [(2, ("a", "b")), (3, ("a",))])
@pytest.mark.slow
def test_groups_of_at_least_so_many_texts_are_compared(tmp_path, min_texts, groups):
    texts = [(attribution(f"film {number}", [0.5, 0.1]), (group,)) for number, group in enumerate("aaabbc")]
    run = run_of(tmp_path / "run", texts, kept=("group",))
    settings = mase.summarise(run, group_column="group", min_texts=min_texts).settings
    assert (settings.groups, settings.n_groups_left_out) == (groups, 3 - len(groups))


N_TEXTS, MIN_TEXTS = 120, 8


FILLERS = tuple(f"filler{i}" for i in range(30))


# Weights for the second class, "1".
WEIGHTS = {"superb": 3.0, "good": 1.5, "dull": -2.0, "awful": -3.5}


def planted(rng, n):
    """Return texts of fillers, most of which have one or two planted words."""
    words = [*WEIGHTS]
    return [
        " ".join(rng.permutation([*rng.choice(FILLERS, 6), *rng.choice(words, rng.integers(0, 3))])) for _ in range(n)
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rng = np.random.default_rng(0)
    texts = planted(rng, N_TEXTS)
    texts[1] = texts[0]  # a repeated text
    texts[2] = ""  # has no words
    explainer = mase.Explainer(LogisticClassifier(WEIGHTS), method="mase-mask", link="margin", n_samples=32)
    kept = [(str(rng.integers(2)), str(rng.choice(["a", "b", "c"]))) for _ in texts]
    return corpora.write(tmp_path_factory.mktemp("planted") / "run", explainer, texts, kept)


@pytest.fixture(scope="module")
def summary(run):
    return mase.summarise(run, label_column="label", group_column="group", min_texts=MIN_TEXTS)


@pytest.mark.slow
def test_planted_words_have_the_right_sign_rank_and_interval(summary):
    for response, sign in (("1", 1), ("0", -1)):
        listed = [row for row in summary.words if row.response == response]
        for row in listed:
            assert row.low - 1e-9 <= sign * WEIGHTS[row.word] <= row.high + 1e-9
        for direction in ("towards", "away"):
            effects = [abs(row.effect) for row in listed if row.direction == direction]
            assert effects == sorted(effects, reverse=True)
        assert {row.word for row in listed if row.direction == "towards"} == {
            word for word, weight in WEIGHTS.items() if sign * weight > 0
        }


def test_counts_are_those_of_the_run(summary, run):
    counts = summary.overview
    assert (counts.n_texts, counts.n_explained, counts.n_failed) == (N_TEXTS, N_TEXTS - 1, 1)
    documents = [text for text in run.texts()["document"].to_pylist() if text]
    assert counts.n_distinct < counts.n_explained
    assert counts.n_distinct == len(set(documents)) - 1  # but for the one without words
    assert counts.n_queries == sum(n or 0 for n in run.texts()["n_queries"].to_pylist())
    responses = run.responses()
    assert counts.reliable == pytest.approx(np.mean(responses["reliable"].to_pylist()))
    (held_out,) = [found for found in summary.quality if found.name == "r2_held_out"]
    known = [value for value in responses["r2_held_out"].to_pylist() if value is not None]
    assert (held_out.n, held_out.mean) == (len(known), pytest.approx(np.mean(known)))
    assert counts.n_units == len(run.units())
    assert [(row.error, row.n_texts, row.id) for row in summary.failures] == [("EmptyTextError", 1, "id2")]
    assert sum(row.n_texts for row in summary.confusion) == N_TEXTS - 1
    right = sum(row.n_texts for row in summary.confusion if row.label == row.prediction)
    assert counts.accuracy == pytest.approx(right / (N_TEXTS - 1))
    assert sum(row.n_texts for row in summary.predictions) == N_TEXTS - 1


def test_effects_are_means_over_texts_of_means_over_occurrences(summary, run):
    units, texts = run.units().to_pandas(), run.texts().to_pandas()
    first = texts.drop_duplicates("document")["row"]
    for row in summary.words:
        own = units[(units.text.str.lower() == row.word) & (units.response == row.response) & units.row.isin(first)]
        by_text = own.groupby("row")
        effects = by_text.score.mean()
        assert (row.n_texts, row.n_occurrences) == (len(effects), len(own))
        assert row.effect == pytest.approx(effects.mean())
        sizes = units.groupby("row").size()
        ranks = by_text["rank"]
        top = ranks.min() <= 5 if row.effect > 0 else ranks.max() > sizes[effects.index] - 5
        assert row.share_top == pytest.approx(top.mean())


def test_random_labels_and_groups_differ_in_no_word(summary):
    assert (summary.wrong, summary.groups) == ((), ())
    assert {family.table for family in summary.families if family.n_tested} >= {"words", "wrong", "groups"}


def test_examples_are_in_context(summary, run):
    documents = dict(zip(run.texts()["row"].to_pylist(), run.texts()["document"].to_pylist(), strict=True))
    for row in summary.words:
        scores = [example.score for example in row.examples]
        assert scores[0] == (max(scores) if row.direction == "towards" else min(scores))
        for example in row.examples:
            assert example.text.lower() == row.word
            assert example.before + example.text + example.after in documents[example.row]
            assert example.cut_before or len(example.before) < 40
            ((_, text),) = fields_of(documents[example.row], example.row)
            assert example.cut_before != text.startswith(example.before + example.text)
            assert example.cut_after != text.endswith(example.text + example.after)
            assert example.id == f"id{example.row}"


@pytest.mark.parametrize(("k", "method"), [(2, "mase"), (4, "occlusion")])
@pytest.mark.slow
def test_a_model_that_answers_at_random_has_empty_lists(tmp_path, k, method):
    rng = np.random.default_rng(k)
    texts = corpora.texts(rng, 80)
    kept = [(str(label), None) for label in rng.integers(0, k, len(texts))]
    run = corpora.write(
        tmp_path / "run", mase.Explainer(corpora.hashed(k, 5), method=method, n_samples=40), texts, kept
    )
    summary = mase.summarise(run, label_column="label", min_texts=5)
    assert (summary.words, summary.phrases, summary.wrong, summary.low_confidence) == ((), (), (), ())
    if method == "occlusion":  # the response at the text was selected and is in every score: all words are lifted
        scores = run.units()["score"].to_numpy()
        assert scores.mean() > 3 * scores.std() / len(scores) ** 0.5


@pytest.mark.slow
def test_a_phrase_is_listed_if_it_says_more_than_its_words(tmp_path):
    rng = np.random.default_rng(1)
    middles = ("good", "not good", "not", "good plot", "not good plot", "")
    texts = [
        " ".join([rng.choice(("superb", "awful")), *rng.choice(FILLERS[:9], 2), middles[rng.integers(6)], "end"])
        for _ in range(150)
    ]

    def model(inputs):
        odds = [
            2.0 * ("good" in text) - 4.0 * ("not good" in text) + 5.0 * ("superb" in text) - 5.0 * ("awful" in text)
            for text in inputs
        ]
        return [[1 / (1 + np.exp(odd)), 1 / (1 + np.exp(-odd))] for odd in odds]

    explainer = mase.Explainer(model, method="mase-mask", link="margin", n_samples=32)
    run = corpora.write(tmp_path / "run", explainer, texts)
    summary = mase.summarise(run, min_texts=10)
    assert {row.phrase for row in summary.phrases} == {"not good"}
    # Elsewhere "good" is worth 2, and "not" nothing. Together half of the -4 is in the score of each.
    for row in summary.phrases:
        sign = 1 if row.response == "1" else -1
        assert sign * row.expected == pytest.approx(2, abs=0.1)
        assert row.difference_low <= -4 * sign <= row.difference_high
        assert row.difference == pytest.approx(row.effect - row.expected)
        assert all("not good" in example.text for example in row.examples)
    bare = mase.summarise(corpora.without_documents(run, tmp_path / "bare"), min_texts=10)
    assert {example.text for row in bare.phrases for example in row.examples} == {"not good"}


@pytest.mark.slow
def test_letters_that_look_alike_and_both_cases_are_one_word(tmp_path):
    forms = ("caf\xe9", "cafe\u0301", "CAF\xc9")
    texts = [f"{forms[number % 3]} film {number}" for number in range(12)]
    model = LogisticClassifier(dict.fromkeys(forms, 2.0))
    explainer = mase.Explainer(model, method="mase-mask", link="margin", n_samples=32)
    found = mase.summarise(corpora.write(tmp_path / "run", explainer, texts), min_texts=12)
    assert [(row.word, row.n_texts) for row in found.words if row.direction == "towards"] == [(forms[0], 12)]


@pytest.mark.parametrize(("n_elsewhere", "n_tested"), [(0, 0), (1, 0), (2, 4)])
@pytest.mark.slow
def test_a_phrase_is_compared_with_its_words_in_at_least_two_other_texts(tmp_path, n_elsewhere, n_tested):
    """Of each of the two responses: "new york", and "superb new" or "awful new"."""
    texts = [f"{('superb', 'awful')[number % 2]} new york {number}" for number in range(30)]
    texts += [f"{('superb', 'awful')[number % 2]} york is new {number}" for number in range(2 * n_elsewhere)]
    model = LogisticClassifier({"superb": 2.0, "awful": -2.0, "york": 1.0})
    explainer = mase.Explainer(model, method="mase-mask", link="margin", n_samples=32)
    found = mase.summarise(corpora.write(tmp_path / "run", explainer, texts), min_texts=15)
    assert not found.phrases
    assert {family.table: family.n_tested for family in found.families}["phrases"] == n_tested


@pytest.mark.slow
def test_words_behind_wrong_and_low_confidence_predictions(tmp_path):
    rng = np.random.default_rng(2)
    texts, kept = [], []
    for _ in range(150):
        fillers = [str(word) for word in rng.choice(FILLERS[:10], 4)]
        trap, good, bad = (rng.random() < share for share in (0.3, 0.6, 0.15))
        texts.append(" ".join([*fillers, *["trap"] * trap, *["good"] * good, *["bad"] * bad]))
        # The model takes "trap" for a reason, which it is not; in one group it does not occur.
        kept.append(("1" if good and not trap else "0", "a"))
    model = LogisticClassifier({"trap": 1.5, "good": 1.5, "bad": -1.2, FILLERS[0]: 0.01})
    run = corpora.write(
        tmp_path / "run", mase.Explainer(model, method="mase-mask", link="margin", n_samples=32), texts, kept
    )
    summary = mase.summarise(run, label_column="label", min_texts=10)
    wrong = [row for row in summary.wrong if row.prediction == "1"]
    assert [row.word for row in wrong] == ["trap"]
    assert wrong[0].low > 0
    assert wrong[0].share > wrong[0].share_others
    # As a sum over its parts: share times effect.
    push = wrong[0].share * wrong[0].effect - wrong[0].share_others * np.nan_to_num(wrong[0].effect_others)
    assert wrong[0].difference == pytest.approx(push, rel=1e-6)


@pytest.mark.parametrize(("n_right", "tested"), [(0, False), (1, False), (2, True)])
@pytest.mark.slow
def test_wrong_predictions_are_compared_with_at_least_two_right_ones(tmp_path, n_right, tested):
    explainer = mase.Explainer(LogisticClassifier(WEIGHTS), method="mase-mask", link="margin", n_samples=16)
    texts = [f"a superb film {number}" for number in range(4 + n_right)]
    run = corpora.write(tmp_path / "run", explainer, texts, [("0", None)] * 4 + [("1", None)] * n_right)
    found = mase.summarise(run, label_column="label", min_texts=4)  # warnings are errors
    assert {family.table: family.n_tested > 0 for family in found.families}["wrong"] == tested


def test_whole_numbers_with_a_gap_are_labels(tmp_path):
    """As pandas writes a column of integers in which one is missing."""
    explainer = mase.Explainer(LogisticClassifier(WEIGHTS), method="mase-mask", link="margin", n_samples=16)
    texts = [f"a superb film {number}" for number in range(4)]
    run = corpora.write(tmp_path / "run", explainer, texts, [("1.0", None), ("0.0", None), ("", None), ("1", None)])
    found = mase.summarise(run, label_column="label", min_texts=2)
    assert (found.overview.accuracy, found.overview.n_labelled) == (pytest.approx(2 / 3), 3)


@pytest.mark.slow
def test_a_label_that_is_no_class_is_no_wrong_prediction(tmp_path):
    explainer = mase.Explainer(LogisticClassifier(WEIGHTS), method="mase-mask", link="margin", n_samples=16)
    texts = ["a superb film", "a superb plot", "a dull film", "the awful film", "the awful end", ""]
    kept = [(label, None) for label in ("1", "0", "0", "2", "neutral", "neutral")]
    run = corpora.write(tmp_path / "run", explainer, texts, kept)
    found = mase.summarise(run, label_column="label", min_texts=2)
    assert found.overview.accuracy == pytest.approx(2 / 3)
    assert (found.overview.n_labelled, found.overview.n_other_labels) == (3, 2)  # the text that failed is not counted
    assert {row.label for row in found.confusion} == {"0", "1"}
    without = mase.summarise(run, min_texts=2).overview
    assert (without.accuracy, without.n_labelled, without.n_other_labels) == (None, 0, 0)


@pytest.mark.slow
def test_words_whose_effect_differs_between_groups(tmp_path):
    rng = np.random.default_rng(3)
    texts, kept = [], []
    for row in range(120):
        group = "ab"[row % 2]
        marker = "loud" if group == "a" else "calm"
        texts.append(" ".join([marker, *rng.choice(FILLERS[:10], 4), *["word"] * int(rng.random() < 0.7), "good"]))
        kept.append((None, group))

    def model(inputs):
        odds = [2.0 * ("good" in text) + 2.0 * ("word" in text) * ("loud" in text) for text in inputs]
        return [[1 / (1 + np.exp(odd)), 1 / (1 + np.exp(-odd))] for odd in odds]

    run = corpora.write(
        tmp_path / "run", mase.Explainer(model, method="mase-mask", link="margin", n_samples=32), texts, kept
    )
    summary = mase.summarise(run, group_column="group")
    assert summary.settings.groups == ("a", "b")
    first = next(row for row in summary.groups if row.word == "word")
    assert (first.group, first.difference > 0) == ("a", True)
    assert first.difference == pytest.approx(first.effect - first.effect_others)
    assert {row.group for row in summary.groups} == {"a"}  # the rest of two groups is the other one
    assert summary.overview.accuracy is None


def test_a_run_without_documents_has_the_same_words_without_context(run, summary, tmp_path):
    other = mase.summarise(corpora.without_documents(run, tmp_path / "run"), min_texts=MIN_TEXTS)
    assert {(row.response, row.word) for row in other.words} == {(row.response, row.word) for row in summary.words}
    assert other.overview.n_distinct == other.overview.n_explained
    assert {(example.before, example.after) for row in other.words for example in row.examples} == {("", "")}


def test_the_same_run_has_the_same_summary(run, summary):
    assert mase.summarise(run, label_column="label", group_column="group", min_texts=MIN_TEXTS) == summary


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"label_column": "labels"}, UnknownNameError),
        ({"group_column": 'x" OR 1=1; DROP TABLE text; --'}, UnknownNameError),
        ({"label_column": "group"}, OptionError),
        ({"min_texts": 1}, OptionError),
        ({"top": 0}, OptionError),
        ({"top": True}, OptionError),
    ],
)
def test_options_are_checked(run, options, error):
    with pytest.raises(error):
        mase.summarise(run, **options)


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(mase.MaseError, match=r"run\.json"):
        mase.summarise(tmp_path)


WORD = WordEffect(
    "=pos", "away", "+1", 30, 31, -0.5, -0.6, -0.4, 0.1, 0.001, 0.002,
    (Example("a", 0, "@not ", "+1", " film", -0.7, cut_before=True), Example("b", 1, "", "+1", "", -0.2)),
)  # fmt: skip


SUMMARY = Summary(
    Settings(None, None, 20, 20, 0.01), Overview("m", "-mase", 3, 2, 1, 2, 10, 100), predictions=(), quality=(),
    notes=(), failures=(), words=(WORD,), phrases=(), confusion=(), wrong=(), low_confidence=(), groups=(),
    families=(Family("words", 5, 1),), run=None,
)  # fmt: skip


def test_a_table_has_a_column_for_each_field_and_example():
    (row,) = table(SUMMARY, "words").to_pylist()
    assert (row["response"], row["word"], row["effect"]) == ("=pos", "+1", -0.5)
    assert (row["example_1"], row["example_2"], row["example_3"]) == ("…@not [+1] film", "[+1]", None)


def test_tables_have_types_even_if_they_are_empty():
    words = SUMMARY.tables["words"]
    assert [str(words.schema.field(name).type) for name in ("word", "n_texts", "effect")] == [
        "string", "int64", "double",
    ]  # fmt: skip
    assert SUMMARY.tables["wrong"].schema.field("difference").type == words.schema.field("effect").type
    assert set(SUMMARY.tables) == set(ROWS)


def test_a_table_is_a_data_frame():
    assert SUMMARY.to_frame("words")["word"].tolist() == ["+1"]
    assert SUMMARY.to_frame("overview")["accuracy"].isna().all()
    with pytest.raises(UnknownNameError, match="words"):
        SUMMARY.to_frame("word")


def test_a_summary_says_how_much_it_found():
    assert repr(SUMMARY).startswith("<Summary of 2 explained texts: 1 words, 0 phrases")
