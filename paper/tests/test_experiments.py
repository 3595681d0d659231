"""The experiments: which texts, what is remembered, recorded, resumed and reported."""

import dataclasses
import gzip
import itertools
import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mase
from mase.datasets import Split
from mase.errors import DataError, MissingDependencyError, OptionError, UnknownNameError
from mase.methods import resolve
from mase.metrics.infidelity import Infidelity
from mase.metrics.masking import masker
from mase.metrics.protocol import Case
from mase.models.protocol import Binding
from mase.spaces import SPACES
from mase_paper.cli.reproduce import reproduce
from mase_paper.experiments import EXPERIMENTS, markdown
from mase_paper.experiments.batches import batches, share
from mase_paper.experiments.cached_model import Remembering
from mase_paper.experiments.ceiling import CEILINGS, search
from mase_paper.experiments.columns import columns_path, load
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.faithfulness import FAITHFULNESS
from mase_paper.experiments.figure4 import BUDGETS, FIGURE4
from mase_paper.experiments.journal import Journal, journal_path, read_journal
from mase_paper.experiments.paper import KS, METHODS, PAPER, printed
from mase_paper.experiments.plots import Curve, Panel, draw, save
from mase_paper.experiments.publish import publish
from mase_paper.experiments.records import CHANCE_KS, COLUMNS, DEPTH, Record, Records, dumps, loads
from mase_paper.experiments.rerun import command
from mase_paper.experiments.results import gather
from mase_paper.experiments.runner import Settings
from mase_paper.experiments.selection import Chosen, choose
from mase_paper.experiments.specs import SETTINGS, Spec, parse, spec
from mase_paper.experiments.store import compact, drop, read
from mase_paper.experiments.sweeps import SWEEPS
from mase_paper.experiments.tables import TABLE1, TABLE2
from mase_paper.experiments.testbeds import TARGETS
from mase_paper.experiments.trial import ERASER_SHARES, Bench

SENTENCE = "the plot is dull and slow but one actor is good in a grand way so i stayed to see how it would end"
WORDS = SENTENCE.split()


def judge(texts):
    """Probabilities of dull and good, by weighted words with one interaction; the texts' order does not matter."""
    rows = []
    for text in texts:
        found = set(text.split())
        score = 1.5 * ("dull" in found) + ("slow" in found) - ("good" in found) - 0.5 * ("grand" in found)
        score += 0.7 * ({"plot", "end"} <= found) + 0.02 * len(found)
        rows.append([1 / (1 + np.exp(-score)), 1 / (1 + np.exp(score))])
    return np.array(rows)


@pytest.fixture
def black_box():
    return mase.models.Callable(judge, labels=["dull", "good"], mask_token="_")


@pytest.fixture
def split():
    rng = np.random.default_rng(7)
    texts = [" ".join(rng.permutation(WORDS)[: rng.integers(3, 16)]) for _ in range(600)]
    labels = ["dull" if rng.random() < 0.6 else "good" for _ in texts]
    texts[11] = "\x20\t"  # no word at all
    ids = tuple(f"{label}/{index}" for index, label in enumerate(labels))
    return Split("imdb", "test", tuple(texts), tuple(labels), ids, "0" * 64)


def record(number=0, flips=(0, 0, 0), **changed):
    found = Record(
        number=number, row=7, words=20, target=1, order=(3, 1, 2), queries=1001, gradients=0, seconds=0.25, half=False,
        flips=flips, chance=(900, 500, 10, 0), start=950, eraser=(0.5, 0.1, -2.0), infidelity=(0.001, 0.25),
    )  # fmt: skip
    return dataclasses.replace(found, **changed)


HEADER = {
    "schema": "mase.records/1", "target": "lstm-imdb", "spec": "mase", "operators": ["unk", "pad", "delete"],
    "model": {"sha256": "a"}, "data": {"split": "test", "sha256": "b"}, "text_seed": 0, "precision": "float32",
    "columns": list(COLUMNS),
    "command": "mase reproduce", "versions": {}, "hardware": {"processor": "p", "device": "cpu"}, "method": {"name": "mase"},
}  # fmt: skip


def write(folder, target, name, flips, *, header=HEADER, **changed):
    """Write a journal whose texts 0, 1, ... have these flips (integers) under the first operator and none elsewhere."""
    file = Journal(folder, header | {"target": target, "spec": name})
    for number, bits in enumerate(flips):
        file.append(record(number, (bits, 0, 0), **changed))
    file.close()


# --- specs and scopes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "mase",
        "mase-paper+n_samples=250",
        "mase+reference=pad+sigma=0.3",
        "lime+seed=4",
        "mase+center=0.5+link=margin+seed=1",
    ],
)
def test_specs_are_what_they_are_written_as(text):
    assert str(parse(text)) == text
    assert parse(f" {text} ") == parse(text)


def test_settings_of_a_spec_have_one_order_and_no_unknown_name():
    assert (
        parse("mase+sigma=0.3+link=margin")
        == parse("mase+link=margin+sigma=0.3")
        == spec("mase", {"sigma": 0.3, "link": "margin"})
    )
    assert parse("mase").with_seed(3) == parse("mase+seed=3") == parse("mase+seed=3").with_seed(5)
    with pytest.raises(UnknownNameError, match="did you mean 'sigma'"):
        parse("mase+sigmas=0.3")
    with pytest.raises(UnknownNameError, match="unknown setting"):
        spec("mase", {"seeds": 3})
    for wrong in ("mase+sigma", "mase+sigma=wide", "mase+n_samples=2.5", "mase+seed=-1"):
        with pytest.raises(OptionError, match="with a value of type"):
            parse(wrong)


def test_settings_are_those_of_the_explainer(black_box):
    import inspect

    assert set(SETTINGS) <= set(inspect.signature(mase.Explainer.__init__).parameters)
    assert mase.Explainer(black_box, method="mase", **dict(parse("mase+n_samples=64").settings)).method.n_samples == 64


def test_scopes_and_settings_are_checked(tmp_path):
    for wrong in ({"targets": ("lstm-imbd",)}, {"n_texts": 0}, {"batches": 1}):
        with pytest.raises((UnknownNameError, OptionError)):
            Scope(**wrong)
    with pytest.raises(OptionError, match="jobs"):
        Settings(tmp_path, jobs=0)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_names_methods_that_exist(name):
    works = EXPERIMENTS[name].works(Scope(n_texts=10))
    assert len(set(works)) == len(works)
    for work in works:
        assert work.spec.method in {*mase.METHODS, *CEILINGS}
        assert parse(str(work.spec)) == work.spec
        assert 0 < work.n_texts <= 10
    assert {work.target.name for work in works} <= set(TARGETS)


def test_every_experiment_takes_names_and_seeds():
    for name in EXPERIMENTS:
        works = EXPERIMENTS[name].works(Scope(("bert-imdb",), (Spec("random"), Spec("mase")), 5, seed=2))
        assert {work.target.name for work in works} == {"bert-imdb"}
        assert {work.spec.method for work in works} == {"random", "mase"}
        assert {work.spec.seed for work in works} <= {2, 3}


def test_budgets_of_figure_4_and_targets_of_the_tables():
    works = FIGURE4.works(Scope(("lstm-imdb",), (Spec("mase-paper"), Spec("random"))))
    budgets = [dict(work.spec.settings).get("n_samples") for work in works if work.spec.method == "mase-paper"]
    assert budgets == [None, *(n for n in BUDGETS if n != 1000)]  # 1,000 are its own
    assert [work.n_texts for work in works if not work.spec.settings] == [10_000, 10_000]
    assert {work.n_texts for work in works if work.spec.settings} == {1_000}
    assert {work.target.title for work in TABLE1.works(Scope())} == {"LSTM-IMDB", "LSTM-Reuters"}
    assert {work.target.title for work in TABLE2.works(Scope())} == {"BERT-IMDB", "BERT-Reuters"}
    assert Spec("deep-shap") not in {work.spec for work in TABLE2.works(Scope())}


# --- texts ----------------------------------------------------------------------------------------------------------


def test_chosen_texts_are_right_in_one_order_and_numbered(black_box, split):
    found = list(choose(black_box, split, 0))
    order = np.random.Generator(np.random.PCG64(np.random.SeedSequence((0, 600)))).permutation(600).tolist()
    says = [black_box.labels[index] for index in judge(split.texts).argmax(axis=1)]
    expected = [row for row in order if split.texts[row].strip() and says[row] == split.labels[row]]
    assert [chosen.row for chosen in found] == expected
    assert [chosen.number for chosen in found] == list(range(len(expected)))
    assert all(split.labels[one.row] == black_box.labels[one.target] and one.id == split.ids[one.row] for one in found)
    assert list(itertools.islice(choose(black_box, split, 0), 20)) == found[:20]
    assert [chosen.row for chosen in choose(black_box, split, 1)] != expected


def test_labels_of_another_data_set_are_an_error(black_box, split):
    other = dataclasses.replace(split, labels=("earn",) * 600)
    with pytest.raises(UnknownNameError, match="labels in common"):
        next(choose(black_box, other, 0))


# --- memory ---------------------------------------------------------------------------------------------------------


class Counting:
    """A probe that counts its rows."""

    def __init__(self, probe, seen):
        self._probe, self.seen = probe, seen

    def __getattr__(self, name):
        return getattr(self._probe, name)

    def scores(self, coordinates, rows):
        self.seen.append(len(rows))
        return self._probe.scores(coordinates, rows)

    def opened(self):
        return nullcontext(self.scores)


@pytest.fixture
def counted(lstm_model, monkeypatch):
    """Return the small LSTM, and the list of the batches that its probes were asked."""
    seen = []
    bind = lstm_model.bind
    monkeypatch.setattr(lstm_model, "bind", lambda binding: Counting(bind(binding), seen), raising=False)
    return lstm_model, seen


SAME_ROWS = [("mase-paper", {}), ("mase-sparse", {}), ("mase-paper", {"n_samples": 300}), ("standard-gaussian", {})]


def test_memory_changes_no_bit_and_asks_once(counted):
    model, seen = counted
    text = " ".join(WORDS)
    plain = [mase.Explainer(model, method=name, **settings)(text).scores for name, settings in SAME_ROWS]
    asked = sum(seen)
    seen.clear()
    remembering = Remembering(model)
    found = [mase.Explainer(remembering, method=name, **settings)(text).scores for name, settings in SAME_ROWS]
    for one, two in zip(plain, found, strict=True):
        assert np.array_equal(one, two)
    assert asked == 3304  # and each time one row more, to compare
    # The noise of the last one is its own; N = 300 is a beginning of the same rows but for its last, shorter batch.
    assert 2003 <= sum(seen) <= 2303
    assert remembering.saved > 0


def test_memory_tells_noise_seeds_and_texts_apart(counted):
    model, seen = counted
    remembering = Remembering(model)
    text = " ".join(WORDS)
    for method, seed in [("standard-gaussian", 0), ("standard-gaussian", 1), ("mase-cone", 0)]:
        again = mase.Explainer(remembering, method=method, seed=seed, n_samples=64)(text).scores
        assert np.array_equal(again, mase.Explainer(model, method=method, seed=seed, n_samples=64)(text).scores)
    n_rows = sum(seen)
    remembering.forget()
    mase.Explainer(remembering, method="mase-cone", n_samples=64)(text)
    assert sum(seen) == n_rows + 65


def test_memory_knows_that_noise_belongs_to_rows_and_keys(lstm_model):
    tokens = lstm_model.encode(" ".join(WORDS))
    p = len(tokens)
    space, coordinates = SPACES["full-embedding"](), np.ones((4, p))
    remembering = Remembering(lstm_model)
    for key, rows in itertools.product([(1,), (2,)], [range(4), range(4, 8), range(4)]):
        binding = Binding(tokens, space, np.arange(p), p, key, 0.5)
        answers = [model.bind(binding).scores(coordinates, np.array(rows)) for model in (remembering, lstm_model)]
        assert np.array_equal(*answers)


def test_memory_without_instructions_for_half_precision(lstm_model, slow_bfloat16):
    remembering = Remembering(lstm_model)
    asked = mase.Explainer(remembering, method="mase-paper", n_samples=64, precision="bfloat16")(" ".join(WORDS))
    assert [note.code for note in asked.fit.warnings if "instead" in note.code] == ["float32-instead"]


def test_memory_keeps_half_precision_apart(mlp_model, fast_bfloat16):
    remembering = Remembering(mlp_model)
    text = " ".join(WORDS)
    for precision in ("float32", "bfloat16", "float32"):
        settings = {"method": "mase-paper", "sigma": 1.0, "n_samples": 64, "precision": precision}
        assert np.array_equal(
            mase.Explainer(remembering, **settings)(text).scores, mase.Explainer(mlp_model, **settings)(text).scores
        )


# --- ceilings -------------------------------------------------------------------------------------------------------


def test_a_wide_search_is_exhaustive(black_box):
    text = "plot dull slow good end grand"
    bound = masker(black_box, text, "delete")
    words, target = text.split(), bound.target
    sizes = [
        size
        for size in range(1, len(words) + 1)
        for gone in itertools.combinations(range(len(words)), size)
        if judge([" ".join(word for index, word in enumerate(words) if index not in gone)])[0].argmax() != target
    ]
    found = search(bound, target, len(words), width=1000)
    assert found.flipped
    assert len(found.order) == min(sizes) == 2
    pairs = list(itertools.combinations(range(len(words)), 2))
    chances = judge([" ".join(word for index, word in enumerate(words) if index not in pair) for pair in pairs])
    assert set(found.order) == set(pairs[int(chances[:, target].argmin())])
    assert search(bound, target, 1, width=1000) == dataclasses.replace(search(bound, target, 1, 1), flipped=False)
    assert search(bound, target, len(words), width=1).n_queries == 6 + 5


def test_a_search_gives_up_when_the_words_are_gone():
    always = masker(mase.models.Callable(lambda texts: [[0.9, 0.1]] * len(texts), labels=["a", "b"]), "one two three")
    found = search(always, 0, DEPTH, width=5)
    assert (found.flipped, len(found.order), found.n_queries) == (False, 3, 3 + 3 + 1)


# --- one text on the bench ------------------------------------------------------------------------------------------


@pytest.fixture
def answer(black_box):
    text = " ".join(WORDS[:14])
    specs = [Spec("occlusion"), Spec("random"), Spec("greedy"), Spec("gradient")]
    bench = Bench(black_box, specs, operators=("auto", "delete"))
    found = bench.answer(Chosen(4, 9, "dull/9", text, 0), [Spec("occlusion"), Spec("random"), Spec("greedy")])
    return bench, text, found


def without(words, gone, operator):
    return " ".join(("_" if operator == "mask" else "") if index in gone else word for index, word in enumerate(words))


def test_records_hold_what_a_slow_reading_of_the_definitions_gives(answer):
    _, text, found = answer
    words = text.split()
    for name in ("occlusion", "random"):
        one = found.records[Spec(name)]
        assert (one.number, one.row, one.words, one.target, one.half) == (4, 9, 14, 0, False)
        order = list(one.order)
        assert sorted(order) == list(range(14))
        for index, operator in enumerate(("mask", "delete")):
            chances = [judge([without(words, order[:k], operator)])[0] for k in range(1, DEPTH + 1)]
            assert one.flips[index] == sum(2 ** (k - 1) for k in range(1, DEPTH + 1) if chances[k - 1].argmax() != 0)
            if index == 0:
                assert one.chance == tuple(round(1000 * chances[k - 1][0]) for k in CHANCE_KS)
        whole = judge([text])[0, 0]
        assert one.start == round(1000 * whole)
        counts = [int(np.ceil(14 * part - 1e-9)) for part in ERASER_SHARES]
        comp = whole - np.mean([judge([without(words, order[:k], "mask")])[0, 0] for k in counts])
        suff = whole - np.mean([judge([without(words, order[k:], "mask")])[0, 0] for k in counts])
        odds = np.log(judge([without(words, order[:3], "mask")])[0, 0]) - np.log(whole)
        assert one.eraser == pytest.approx((comp, suff, odds), abs=5.1e-4)


def test_records_hold_the_infidelity_that_mase_evaluate_gives(answer, black_box):
    _, text, found = answer
    scores = mase.explain(text, black_box, method="occlusion", target=0).scores
    one = Case(black_box, text, 0, masker(black_box, text), scores)
    _, scaled, unexplained = Infidelity(n_samples=100).judge(one)
    assert found.records[Spec("occlusion")].infidelity == (float(f"{scaled:.3g}"), round(unexplained, 3))
    assert found.records[Spec("random")].infidelity != found.records[Spec("occlusion")].infidelity


def test_occlusion_leads_with_the_weightiest_word(answer):
    _, text, found = answer
    assert text.split()[found.records[Spec("occlusion")].order[0]] == "dull"
    assert found.records[Spec("occlusion")].queries == 16
    assert found.records[Spec("random")].queries <= 1


def test_a_ceiling_is_a_record_without_scores(answer):
    bench, _, found = answer
    one = found.records[Spec("greedy")]
    assert (one.chance, one.eraser, one.infidelity) == ((), (), ())
    fewest = len(one.order)
    assert one.flips[0] == sum(2 ** (k - 1) for k in range(fewest, DEPTH + 1))
    assert bench.describe(Spec("greedy"))["width"] == 1


def test_a_method_that_the_model_cannot_have_is_refused(answer):
    bench, _, _ = answer
    assert "embedding" in bench.refusals[Spec("gradient")]
    assert bench.describe(Spec("occlusion"))["name"] == "occlusion"


@pytest.mark.parametrize("name", ["lstm-imdb", "lstm-reuters"])
def test_zero_vectors_are_recorded_but_where_padding_is_one(name):
    assert TARGETS[name].operators == ("auto", "pad", "delete")
    assert TARGETS[name.replace("lstm", "bert")].operators == ("auto", "pad", "delete", "zero")
    model, text = mase.models.load(name), "a dull film about oil prices, with a superb cast"
    gone = np.random.default_rng(0).random((20, len(masker(model, text).words))) < 0.5
    padded, zeroed, own = (masker(model, text, operator).probabilities(gone) for operator in ("pad", "zero", "auto"))
    assert np.array_equal(padded, zeroed)
    assert not np.array_equal(padded, own)


# --- records on disk ------------------------------------------------------------------------------------------------


def test_records_survive_the_file():
    for one in (record(), record(half=True, chance=(), eraser=(), infidelity=()), record(flips=(32767, 1, 0))):
        line = dumps(one)
        assert loads(json.loads(line), "here") == one
        assert line.count("\n") == 1
    assert len(dumps(record())) < 100
    with pytest.raises(DataError, match="expected 14"):
        loads([1, 2], "here")


def test_a_torn_line_is_dropped_and_the_run_goes_on(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1, 2, 3])
    path = journal_path(tmp_path, "lstm-imdb", "mase")
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    known = read(tmp_path, "lstm-imdb")["mase"]
    assert set(known.by_number) == {0, 1}
    file = Journal(tmp_path, HEADER, known)
    assert file.done == {0, 1}
    file.append(record(2, (3, 0, 0)))
    file.close()
    assert path.read_bytes() == whole


def test_a_journal_refuses_records_of_other_weights_and_settings(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1])
    known = read(tmp_path, "lstm-imdb")["mase"]
    for key, value in [("model", {"sha256": "c"}), ("method", {"name": "mase", "sigma": 1}), ("precision", "bfloat16")]:
        with pytest.raises(DataError, match=f"with {key}.*--fresh"):
            Journal(tmp_path, HEADER | {key: value}, known)
        with pytest.raises(DataError, match=f"with {key}.*--fresh"):  # found only when it is opened
            Journal(tmp_path, HEADER | {key: value}).append(record(1))
    drop(tmp_path, "lstm-imdb", {"mase"})
    write(tmp_path, "lstm-imdb", "mase", [1], header=HEADER | {"precision": "bfloat16"})
    assert read(tmp_path, "lstm-imdb")["mase"].headers[0]["precision"] == "bfloat16"


@pytest.mark.parametrize("compacted", [False, True])
def test_another_machine_adds_a_header(compacted, tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1])
    if compacted:
        compact(tmp_path, "lstm-imdb")
    file = Journal(tmp_path, HEADER | {"hardware": {"processor": "q", "device": "cuda"}})
    file.append(record(1))
    file.append(record(0, (7, 7, 7)))
    file.close()
    found = read(tmp_path, "lstm-imdb")["mase"]
    assert [header["hardware"]["processor"] for header in found.headers] == ["p", "q"]
    assert found.by_number[0].flips == (1, 0, 0)  # the first record of a text counts
    assert set(found.by_number) == {0, 1}
    (outcomes,) = gather(tmp_path, "lstm-imdb", {parse("mase"): 5}).values()
    assert [(one["n_texts"], one["hardware"]["processor"]) for one in outcomes.made_on] == [(1, "p"), (1, "q")]
    (first,) = gather(tmp_path, "lstm-imdb", {parse("mase"): 1}).values()
    assert [one["hardware"]["processor"] for one in first.made_on] == ["p"]


def test_a_header_is_compared_as_it_is_read_back(tmp_path):
    for number in range(2):
        known = read(tmp_path, "lstm-imdb").get("mase", Records())
        file = Journal(tmp_path, HEADER | {"method": {"name": "mase", "shares": (0.1, 0.2)}}, known)
        file.append(record(number))
        file.close()
    assert len(read_journal(journal_path(tmp_path, "lstm-imdb", "mase")).headers) == 1


# --- journals and columns -------------------------------------------------------------------------------------------


def plain(found):
    """Return records by spec and number, each with its header, as text that tells 0 from 0.0."""
    return {
        (spec, number): (repr(one), json.dumps(records.headers[records.header_of[number]]))
        for spec, records in found.items()
        for number, one in records.by_number.items()
    }


def test_columns_hold_the_same_bits_as_journals(tmp_path):
    rng = np.random.default_rng(0)
    write(tmp_path, "lstm-imdb", "mase", rng.integers(1 << DEPTH, size=40).tolist(), seconds=0.1 + 0.2)
    write(tmp_path, "lstm-imdb", "greedy", [1, 2], chance=(), eraser=(), infidelity=(), half=True)
    write(tmp_path, "lstm-imdb", "lime", [3], eraser=(1e-300, -0.0, 1 / 3), infidelity=(), queries=2**40)
    write(tmp_path, "lstm-imdb", "lime", [4, 5], header=HEADER | {"hardware": {"processor": "é"}})
    write(tmp_path, "bert-imdb", "mase", [6])
    before = plain(read(tmp_path, "lstm-imdb"))
    compact(tmp_path, "lstm-imdb")
    assert plain(read(tmp_path, "lstm-imdb")) == before
    assert plain(load(columns_path(tmp_path, "lstm-imdb"))) == before
    assert len(before) == 44
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bert-imdb", "lstm-imdb.parquet"]
    assert set(read(tmp_path, "lstm-imdb", {"lime"})) == {"lime"}
    once = columns_path(tmp_path, "lstm-imdb").read_bytes()
    compact(tmp_path, "lstm-imdb")  # nothing to do
    assert columns_path(tmp_path, "lstm-imdb").read_bytes() == once


def test_columns_are_the_same_bytes_in_whichever_order_the_records_came(tmp_path):
    for folder, names in (("a", ["mase", "lime"]), ("b", ["lime", "mase"])):
        for name in names:
            write(tmp_path / folder, "lstm-imdb", name, [1, 2])
            if folder == "a":
                compact(tmp_path / folder, "lstm-imdb")
        compact(tmp_path / folder, "lstm-imdb")
    one, two = (columns_path(tmp_path / folder, "lstm-imdb").read_bytes() for folder in "ab")
    assert one == two


def test_records_of_an_earlier_version_are_read_and_moved(tmp_path):
    """They were journals, gzipped when a run was complete."""
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    path = journal_path(tmp_path, "lstm-imdb", "mase")
    path.with_name("mase.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    known = read(tmp_path, "lstm-imdb")["mase"]
    assert set(known.by_number) == {0, 1}
    file = Journal(tmp_path, HEADER, known)
    file.append(record(2))
    file.close()
    before = plain(read(tmp_path, "lstm-imdb"))
    assert len(before) == 3
    compact(tmp_path, "lstm-imdb")
    assert plain(read(tmp_path, "lstm-imdb")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["lstm-imdb.parquet"]


def test_a_kill_between_columns_and_journals_loses_and_doubles_nothing(tmp_path, monkeypatch):
    """The columns are written before the journals go: whatever is left, every record is read once."""
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    before = plain(read(tmp_path, "lstm-imdb"))
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: pytest.fail("killed"))
    with pytest.raises(pytest.fail.Exception):
        compact(tmp_path, "lstm-imdb")
    monkeypatch.undo()
    assert journal_path(tmp_path, "lstm-imdb", "mase").exists()
    assert plain(load(columns_path(tmp_path, "lstm-imdb"))) == before
    assert plain(read(tmp_path, "lstm-imdb")) == before
    compact(tmp_path, "lstm-imdb")
    assert plain(read(tmp_path, "lstm-imdb")) == before


def test_columns_that_cannot_be_written_leave_the_journals(tmp_path, monkeypatch):
    write(tmp_path, "lstm-imdb", "mase", [1])
    compact(tmp_path, "lstm-imdb")
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    before, files = plain(read(tmp_path, "lstm-imdb")), sorted(tmp_path.rglob("*"))
    with monkeypatch.context() as full:
        full.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(DataError, match="No space left"):
            compact(tmp_path, "lstm-imdb")
    assert sorted(tmp_path.rglob("*")) == files
    assert plain(read(tmp_path, "lstm-imdb")) == before


def test_dropped_records_are_gone_and_the_others_stay(tmp_path):
    for name in ("mase", "lime"):
        write(tmp_path, "lstm-imdb", name, [1])
    compact(tmp_path, "lstm-imdb")
    write(tmp_path, "lstm-imdb", "random", [1])
    drop(tmp_path, "lstm-imdb", {"mase", "random"})
    assert set(read(tmp_path, "lstm-imdb")) == {"lime"}
    drop(tmp_path, "lstm-imdb", {"lime"})
    assert list(tmp_path.iterdir()) == []
    drop(tmp_path / "none", "lstm-imdb", {"lime"})


def test_two_runs_do_not_write_one_journal(tmp_path):
    pytest.importorskip("fcntl")
    write(tmp_path, "lstm-imdb", "mase", [1])
    one, two = Journal(tmp_path, HEADER), Journal(tmp_path, HEADER)
    one.append(record(1))
    with pytest.raises(DataError, match="written by another run"):
        two.append(record(1))
    with pytest.raises(DataError, match="written by another run"):
        drop(tmp_path, "lstm-imdb", {"mase"})
    two.close()
    write(tmp_path, "lstm-imdb", "lime", [1])
    compact(tmp_path, "lstm-imdb")  # another run of other methods ends
    assert set(load(columns_path(tmp_path, "lstm-imdb"))) == {"lime"}
    one.append(record(2))
    one.close()
    compact(tmp_path, "lstm-imdb")
    assert set(load(columns_path(tmp_path, "lstm-imdb"))["mase"].by_number) == {0, 1, 2}


def test_runs_that_end_at_once_lose_no_records(tmp_path):
    """Threads stand for runs: each appends to journals of its own methods, and moves what is free, again and again."""
    pytest.importorskip("fcntl")

    def run(index):
        for number in range(6):
            known = read(tmp_path, "lstm-imdb", {f"lime+seed={index}"}).get(f"lime+seed={index}", Records())
            assert set(known.by_number) == set(range(number))
            file = Journal(tmp_path, HEADER | {"spec": f"lime+seed={index}"}, known)
            file.append(record(number))
            file.close()
            compact(tmp_path, "lstm-imdb")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    found = load(columns_path(tmp_path, "lstm-imdb"))
    assert {spec: set(one.by_number) for spec, one in found.items()} == {
        f"lime+seed={index}": set(range(6)) for index in range(4)
    }


def test_damaged_columns_are_told_and_kept(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", list(range(500)))
    compact(tmp_path, "lstm-imdb")
    path = columns_path(tmp_path, "lstm-imdb")
    whole = path.read_bytes()
    damaged = [whole[: len(whole) // 2], b"", b"PAR1", whole[:200] + bytes([whole[200] ^ 0xFF]) + whole[201:]]
    write(tmp_path, "lstm-imdb", "lime", [1])
    for content in damaged:
        path.write_bytes(content)
        for act in (lambda: read(tmp_path, "lstm-imdb"), lambda: compact(tmp_path, "lstm-imdb")):
            with pytest.raises(DataError, match=r"cannot read .*lstm-imdb\.parquet"):
                act()
        assert path.read_bytes() == content
    pq.write_table(pa.table({"spec": ["mase"]}), path)
    with pytest.raises(DataError, match="has the columns spec, expected those of records"):
        read(tmp_path, "lstm-imdb")


@pytest.mark.parametrize("content", [b"[1, 2]\n", b"{}\nno json\n", b"{}\n3\n", b"{}\n[1]\n"])
def test_other_files_are_data_errors(tmp_path, content):
    path = tmp_path / "lstm-imdb" / "x.jsonl"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(DataError):
        read(tmp_path, "lstm-imdb")
    path.unlink()
    assert read(tmp_path, "lstm-imdb") == {}
    path.with_name("x.jsonl.gz").write_bytes(b"not gzip")
    for act in (read, compact):
        with pytest.raises(DataError, match="cannot read"):
            act(tmp_path, "lstm-imdb")
    assert path.with_name("x.jsonl.gz").exists()


def test_outcomes_are_the_records_as_arrays(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [0b101, 0, 0b10])
    (one,) = gather(tmp_path, "lstm-imdb", {Spec("mase"): 2, Spec("random"): 2}).values()
    assert one.flips.shape == (2, 3, DEPTH)
    assert one.flips[0, 0, :4].tolist() == [True, False, True, False]
    assert one.flips.sum() == 2
    assert one.chance.shape == (2, 4)
    assert one.chance[0].tolist() == [0.9, 0.5, 0.01, 0.0]
    assert one.start.tolist() == [0.95, 0.95]


# --- statistics and reports -----------------------------------------------------------------------------------------


def test_batches_are_separate_where_the_texts_suffice():
    found = batches(3_500, 3)
    assert not found.resampled
    assert found.members == tuple(tuple(range(start, start + 1000)) for start in (0, 1000, 2000))
    hits = np.random.default_rng(0).random(3_500) < 0.2
    assert share(hits, 3).sd == pytest.approx(
        np.std([hits[:1000].mean(), hits[1000:2000].mean(), hits[2000:3000].mean()], ddof=1)
    )


def test_drawn_batches_spread_as_batches_of_a_thousand_texts_do():
    found = batches(1_963, 400)
    assert found.resampled
    assert {len(batch) for batch in found.members} == {1000}
    assert max(map(max, found.members)) < 1_963
    hits = np.arange(1_963) % 10 < 3
    assert share(hits, 400).sd == pytest.approx(np.sqrt(0.3 * 0.7 / 1000), rel=0.12)  # four standard errors of an sd


def test_the_papers_numbers():
    assert {target: table.label for target, table in PAPER.items()} == {
        "lstm-imdb": "tab:performance1", "lstm-reuters": "tab:performance1",
        "bert-imdb": "tab:performance2", "bert-reuters": "tab:performance2",
    }  # fmt: skip
    for table in PAPER.values():
        assert set(table.rows) == set(METHODS.values())
        assert all(len(row) == len(KS) and all(0 < cell.mean < 1 for cell in row) for row in table.rows.values())
    # What the text quotes, and where it disagrees with its own table.
    assert printed("lstm-reuters", "mase-paper", 1).mean == 0.095
    assert printed("lstm-reuters", "mase-sparse", 1).mean == 0.104
    assert printed("bert-imdb", "mase-sparse", 5).mean == 0.230
    assert printed("lstm-imdb", "mase", 1) is printed("lstm-imdb", "random", 2) is printed("other", "random", 1) is None
    assert set(METHODS) <= set(mase.METHODS)


def bits(*ks):
    return sum(2 ** (k - 1) for k in ks)


@pytest.fixture
def records(tmp_path):
    """Return records of 40 texts: `mase` flips 30 of them at k = 5, `random` none, `lime` all at k = 1 and after."""
    folder = tmp_path / "records"
    every = bits(*range(1, 16))
    write(folder, "lstm-imdb", "mase", [bits(5, 10)] * 30 + [0] * 10)
    write(folder, "lstm-imdb", "random", [0] * 40)
    write(folder, "lstm-imdb", "lime", [every] * 40)
    write(folder, "lstm-imdb", "mase+seed=1", [0] * 20, order=(3, 1, 9))
    write(folder, "lstm-imdb", "beam", [every] * 20, chance=(), eraser=(), infidelity=())
    return folder


def test_duels_are_won_lost_and_counted(records):
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    cells = {(cell["other"], cell["operator"], cell["k"]): cell for cell in found.data["duels"]}
    assert len(cells) == 2 * 3 * 4
    assert cells["random", "unk", 5]["mean"] == 0.75
    assert cells["random", "unk", 5]["low"] > 0.55
    assert cells["lime", "unk", 5]["mean"] == -0.25
    assert cells["lime", "unk", 5]["high"] < 0
    assert cells["lime", "unk", 5]["p_value"] == pytest.approx(2 * 0.5**10, abs=1e-4)
    assert "is ahead in 2, behind in 4, and in 18 the interval includes 0" in found.page
    assert "| lstm-imdb | unk | 1 | `lime` | −1.000" in found.page


def test_own_methods_are_no_rivals(records):
    """The library's other rows are compared and counted, but apart, and none of them is the best rival of a cell."""
    write(records, "lstm-imdb", "mase-nlgp", [bits(*range(1, 16))] * 40)
    write(records, "lstm-imdb", "occlusion", [bits(*range(1, 16))] * 39)  # not all of the texts
    page = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records).page
    assert "Of 48 comparisons (target x operator x k x other explainer) `mase` is ahead in 2, behind in 12" in page
    assert (
        "and random order: of 24 comparisons (target x operator x k x rival) it is ahead in 0, behind in 8, and in 16 the"
        in page
    )
    assert "| LSTM-IMDB (40) | 0.000 / **1.000** `lime` | 0.750 / **1.000** `lime` |" in page


def test_a_setting_that_changes_no_ranking_does_not_count_twice(records):
    """Where the padding token's vector is zero the two references are one method: shown, but counted once."""
    before = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    for name in ("integrated-gradients", "integrated-gradients+reference=pad"):
        write(records, "lstm-imdb", name, [bits(*range(1, 16))] * 40)
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    assert "Of 24 comparisons (target x operator x k x other explainer)" in before.page
    assert "Of 36 comparisons (target x operator x k x other explainer)" in found.page
    assert len(found.data["duels"]) == 48
    assert "| `integrated-gradients+reference=pad` | **1.000**<br>" in found.page


def test_other_metrics_say_by_how_much_the_subject_is_better(records):
    """A lead is above 0 where `mase` is better: comprehensiveness is higher, and the others are lower."""
    write(records, "lstm-imdb", "occlusion", [0] * 40, eraser=(0.4, 0.2, -1.5), infidelity=(0.001, 0.05))
    write(records, "lstm-imdb", "gradient", [0] * 40, infidelity=())
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    rows = {row["spec"]: row for row in found.data["other_metrics"]}
    assert "lead" not in rows["mase"]
    means = {name: lead["mean"] for name, lead in rows["occlusion"]["lead"].items()}
    assert means == {"comprehensiveness": 0.1, "sufficiency": 0.1, "log_odds": 0.5, "unexplained": -0.2}
    assert (
        "| 0.200<br>+0.100 (+0.100 to +0.100) | -1.500<br>+0.500 (+0.500 to +0.500) | **0.050**<br>−0.200" in found.page
    )
    assert "unexplained" not in rows["gradient"]
    assert set(rows["gradient"]["lead"]) == {"comprehensiveness", "sufficiency", "log_odds"}


def test_ceilings_stability_and_other_metrics_are_reported(records):
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records)
    (row,) = [row for row in found.data["ceilings"] if row["operator"] == "unk" and row["k"] == 5]
    assert (row["ceiling"], row["n"], row["delta_accuracy"]) == ("beam", 20, 1.0)
    assert row["shares"] == {"mase": 1.0, "random": 0.0, "lime": 1.0}  # of the first 20 texts
    assert found.data["stability"] == [{"target": "lstm-imdb", "spec": "mase", "top": 10, "n": 20, "jaccard": 0.5}]
    assert {row["spec"]: row["log_odds"] for row in found.data["other_metrics"]}["mase"] == -2.0
    assert {row["spec"]: row["unexplained"] for row in found.data["other_metrics"]}["mase"] == 0.25
    assert "share of `beam` reached by `mase` | 0% | 100%" in found.page
    assert "mase+seed=1" not in {cell["other"] for cell in found.data["duels"]}


def test_tables_put_the_papers_figure_beside_ours(records):
    write(records, "lstm-imdb", "mase-paper", [bits(1)] * 10 + [0] * 30)
    found = TABLE1.report(Scope(n_texts=40), records)
    cells = {(cell["spec"], cell["operator"], cell["k"]): cell for cell in found.data["cells"]}
    ours = cells["mase-paper", "unk", 1]
    assert (ours["mean"], ours["paper"], ours["difference"], ours["n"]) == (0.25, 0.174, 0.076, 40)
    assert "paper" not in cells["mase-paper", "pad", 1]
    assert "paper" not in cells["mase", "unk", 1]
    assert "| 0.250<br>" in found.page  # not the highest; 40 texts are no batch of 1,000: no spread
    assert "paper 0.174 ± 0.018 (+0.076)" in found.page
    assert "mase reproduce table1 --data-dir DIR --targets lstm-imdb --methods mase-paper --n-texts 40" in found.page
    assert "40 texts of the test split; masked by" in found.page


def test_figure_4_has_a_curve_per_method(records):
    for n, k in [(100, 15), (500, 10)]:
        write(records, "lstm-imdb", f"mase-paper+n_samples={n}", [bits(k)] * 3)
    write(records, "lstm-imdb", "mase-paper", [bits(10), bits(10), 0, 0])
    found = FIGURE4.report(Scope(("lstm-imdb",), n_texts=40), records)
    (masked,) = found.figures["masked"]
    (curve,) = [curve for curve in masked.curves if curve.label == "mase"]
    assert curve.ys == tuple(0.75 if k in (5, 10) else 0.0 for k in range(1, 16))
    rising, left = found.figures["evaluations"]
    (over_n,) = [curve for curve in rising.curves if curve.label == "mase-paper"]
    assert over_n.xs == (100, 500, 1000)
    assert over_n.ys == pytest.approx((0.0, 1.0, 2 / 3))  # N = 1,000 on the three texts that all have
    assert next(curve for curve in left.curves if curve.label == "mase-paper").ys == pytest.approx((1.0, 0.0, 1 / 3))
    assert "number of evaluations N, 3 texts:" in found.page
    assert "| `mase-paper` | 0.000 |  | 1.000 | 0.667 |" in found.page
    shares = {point.get("n_samples"): point["n"] for point in found.data["points"] if point["spec"] == "mase-paper"}
    assert shares == {None: 4, 100: 3, 500: 3, 1000: 3}


def test_sweeps_group_what_differs_in_one_setting(records):
    for sigma in (0.1, 0.5):
        write(records, "lstm-imdb", f"mase-paper+sigma={sigma}", [bits(1)] * 4)
    found = SWEEPS.report(Scope(("lstm-imdb",), n_texts=40), records)
    assert {tuple(point["axes"]) for point in found.data["points"]} == {("Noise level, paper",)}
    (panel,) = found.figures["sigma"]
    assert panel.curves[0].xs == (0.1, 0.5)
    assert "LSTM-IMDB: noise level, paper" in found.page
    assert "LSTM-IMDB: link" not in found.page  # nothing to compare on that axis
    write(records, "bert-imdb", "mase-paper", [bits(1)] * 4)
    assert "BERT-IMDB" not in SWEEPS.report(Scope(n_texts=40), records).page  # one spec, left by the table of the paper


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_without_records_says_so_little(name, tmp_path):
    found = EXPERIMENTS[name].report(Scope(n_texts=3), tmp_path)
    assert found.page.startswith("# ")
    assert not found.figures


def test_commands_name_what_differs_from_the_default():
    scope = Scope(("bert-imdb",), (parse("mase+sigma=0.3"), Spec("random")), 200, 5, seed=2)
    expected = "--targets bert-imdb --methods mase+sigma=0.3,random --n-texts 200 --batches 5 --seed 2"
    assert command("table2", scope) == f"mase reproduce table2 --data-dir DIR {expected}"
    assert markdown.operator("unk") == "the model's unknown token"


def asked(page):
    """Return what the first block of commands on a page asks for: (method, texts) for each of its lines."""
    block = page.partition("To make all of it again")[2].partition("```console\n")[2].partition("\n```")[0].splitlines()
    assert block[-1].endswith("--report-only --output OUT")
    contexts = [reproduce.make_context("reproduce", shlex.split(line)[3:]) for line in block[:-1]]
    assert all(context.params["output"] == "OUT" for context in contexts)
    return {(method, context.params["n_texts"]) for context in contexts for method in context.params["methods"]}


def test_the_commands_of_a_page_ask_for_each_row_and_as_many_texts(records):
    """In a folder of its own: beside the records that there are, nothing would be explained again."""
    write(records, "lstm-imdb", "gradient", [bits(1)] * 10)
    page = TABLE1.report(Scope(("lstm-imdb",), n_texts=40), records).page
    assert asked(page) == {("mase", 40), ("random", 40), ("lime", 40), ("gradient", 10)}
    assert "One row of it:\n\n```console\n$ mase reproduce table1" in page
    page = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records).page
    assert asked(page) == {("mase", 40), ("random", 40), ("lime", 40), ("gradient", 10), ("beam", 20)}
    for n in (100, 250):
        write(records, "lstm-imdb", f"mase+n_samples={n}", [bits(10)] * 3)
    page = FIGURE4.report(Scope(("lstm-imdb",), n_texts=40), records).page
    assert asked(page) == {("mase", 40), ("random", 40), ("lime", 40), ("gradient", 10), ("mase", 3), ("lime", 3)}


def test_the_file_of_an_experiment_names_the_split_and_the_precision_of_its_records(tmp_path):
    made = HEADER | {"data": HEADER["data"] | {"split": "validation"}, "precision": "bfloat16"}
    write(tmp_path / "records", "lstm-imdb", "mase", [bits(1)] * 4, header=made)
    _, data = publish(EXPERIMENTS["ablation"], Scope(n_texts=4), tmp_path)
    expected = "mase reproduce ablation --data-dir DIR --n-texts 4 --precision bfloat16 --split validation"
    plain = json.loads(data.read_text(encoding="utf-8"))
    assert plain["command"] == expected
    (source,) = plain["sources"]
    assert source["command"] == "mase reproduce --n-texts 4"
    assert source["made_on"] == [{"n_texts": 4, "hardware": HEADER["hardware"], "versions": {}}]


def test_results_go_to_a_folder_that_holds_none_of_ours():
    """By default: a short run of one's own must not write over the committed pages, or stumble over their records."""
    default = reproduce.make_context("reproduce", ["table1"]).params["output"]
    assert Path(default).parts[0] not in ("experiments", "benchmarks", "docs", "src", "tests")


def test_a_report_without_records_is_an_error(tmp_path):
    with pytest.raises(DataError, match="records has no records of table1 with these targets and methods"):
        publish(EXPERIMENTS["table1"], Scope(), tmp_path)
    assert not list(tmp_path.iterdir())


# --- curves ---------------------------------------------------------------------------------------------------------


PANEL = Panel(
    "A", "k", "share", (Curve("one", (1, 2), (0.1, 0.2), (0.0, 0.1), (0.2, 0.3)), Curve("two $x", (1, 2), (0.3, 0.1)))
)


def test_curves_are_the_same_bytes_for_the_same_numbers(tmp_path):
    pytest.importorskip("matplotlib")
    one, two = save([PANEL], tmp_path / "a.svg"), save([PANEL], tmp_path / "b.svg")
    assert one.read_bytes() == two.read_bytes()
    assert "two $x" in one.read_text(encoding="utf-8")
    assert "<dc:date>" not in one.read_text(encoding="utf-8")


def test_curves_draw_what_they_are_given():
    pytest.importorskip("matplotlib")
    figure = draw([dataclasses.replace(PANEL, log_x=True), PANEL, PANEL])
    first, second, _, empty = figure.axes
    assert first.get_xscale() == "log"
    assert [line.get_ydata().tolist() for line in second.lines] == [[0.1, 0.2], [0.3, 0.1]]
    assert len(second.collections) == 1  # the band of the one that has an interval
    assert not empty.axison
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two $x"]


def test_curves_that_cannot_be_drawn(tmp_path, monkeypatch):
    with pytest.raises(OptionError, match="no panel"):
        draw([])
    with pytest.raises(OptionError, match=r"ends in \.svg"):
        save([PANEL], tmp_path / "a.png")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"mase-xai\[plot\]"):
        draw([PANEL])


# --- what may be compared -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed", [{"text_seed": 1}, {"data": {"split": "validation", "sha256": "b"}}, {"model": {"sha256": "c"}}]
)
def test_records_of_other_texts_or_weights_are_not_compared(tmp_path, changed):
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    write(tmp_path, "lstm-imdb", "random", [1, 2], header=HEADER | changed)
    with pytest.raises(DataError, match=f"have {next(iter(changed))}"):
        TABLE1.report(Scope(("lstm-imdb",), (Spec("mase"), Spec("random")), 40), tmp_path)


def test_only_the_same_texts_are_paired(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1, 2, 3])
    write(tmp_path, "lstm-imdb", "lime", [1, 2, 3], row=8)
    one, other = gather(tmp_path, "lstm-imdb", {Spec("mase"): 9, Spec("lime"): 9}).values()
    here, there = one.common(other)
    assert len(here) == len(there) == 0
    here, there = one.common(one)
    assert here.tolist() == there.tolist() == [0, 1, 2]


@pytest.mark.parametrize("values", [[None] * 14, [0] * 14, [0, 7, 20, 1, ["x"], 1, 0, 0.2, 0, [0], [0], 9, [0], []]])
def test_a_line_that_is_no_record_is_told(values):
    with pytest.raises(DataError, match="is no record"):
        loads(values, "line 3")


def test_settings_of_the_help_are_settings_that_the_method_has():
    for text in ("mase-nlgp+sigma=0.3+n_samples=500+seed=1", "mase+design=focused(often=0.95;seldom=0.05)"):
        given = parse(text)
        assert resolve(given.method, **dict(given.settings)).name == given.method


def test_the_ceiling_ends_with_the_first_set_that_flips_a_separate_question():
    """Of separate questions the target's own probability decides, whatever the others say: one rule for all metrics."""

    def answer(texts):
        return [[0.9 - 0.2 * (3 - sum(word in text for word in ("x", "y", "z"))), 0.95] for text in texts]

    questions = masker(mase.models.Callable(answer, multilabel=True), "x y z", "delete")
    found = search(questions, 0, 3, 1)
    assert (found.flipped, len(found.order)) == (True, 3)
    assert search(questions, 0, 2, 1).flipped is False


def test_two_seeds_without_a_text_in_common_have_no_overlap(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    write(tmp_path, "lstm-imdb", "mase+seed=1", [1, 2], row=8)
    assert FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), tmp_path).data["stability"] == []


def test_a_name_may_be_looked_for_in_the_table_of_methods():
    assert "mase" in mase.METHODS
    assert "maze" not in mase.METHODS


def test_sweeps_are_on_the_texts_that_all_settings_have(tmp_path):
    write(tmp_path, "lstm-imdb", "mase-paper", [bits(1)] * 9 + [0] * 9)
    write(tmp_path, "lstm-imdb", "mase-paper+sigma=0.3", [bits(1)] * 9)
    found = SWEEPS.report(Scope(("lstm-imdb",), n_texts=40), tmp_path)
    assert "## LSTM-IMDB (9 texts)" in found.page
    assert {point["n"] for point in found.data["points"]} == {9}
