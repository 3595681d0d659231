"""Tests of how the driver finds a text at which workers die, with an engine whose workers only seem to die."""

import errno
import hashlib
import json
import os
import shutil
import warnings

import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.corpora.classifiers import judge
from tests.corpora.runs import FAST, TEXTS, files, run, tables
from tests.corpora.runs import TEXTS as RUNNING_TEXTS
from tests.corpora.runs import run as running_run
from tests.language_models import ANSWER, Parrot
from tests.runs import COMPARED

import mase
from mase.errors import CapabilityError, DataError, OptionError, TextTimeoutError, UnknownNameError, WorkerError
from mase.models import Callable
from mase.models.language.answers import Generated
from mase_corpora.engines import ENGINES, QUEUED, Died
from mase_corpora.engines.local import Here
from mase_corpora.read import open_run, read_status
from mase_corpora.report import write_report
from mase_corpora.schema import TABLES

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


class Mortal(Here):
    """This process, which reports a death instead of explaining a task with a deadly text.

    `knows` says whether it reports at which text the worker died.
    """

    knows = False
    error = WorkerError
    deaths: list = []  # noqa: RUF012 (of the class, which the test clears)

    def events(self, timeout):
        if self._is_ready and self._tasks:
            task = self._tasks[0]
            deadly = next((item.row for item in task.items if "exits" in item.text), None)
            if deadly is not None:
                self._tasks.popleft()
                self.deaths.append(len(task.items))
                return [Died(task.number, "here", self.error("it died"), deadly if self.knows else None)]
        return super().events(timeout)


@pytest.fixture
def mortal(monkeypatch):
    monkeypatch.setitem(ENGINES.entries, "here", Mortal)
    monkeypatch.setattr(Mortal, "deaths", [])
    return Mortal


@pytest.mark.parametrize(
    ("knows", "error", "deaths"),
    [
        (False, WorkerError, [4, 2, 1, 1, 1]),
        (True, WorkerError, [4, 1, 1]),
        (True, TextTimeoutError, [4]),
        (False, TextTimeoutError, [4, 2, 1]),
    ],
)
@pytest.mark.slow
def test_a_deadly_text_costs_only_itself(tmp_path, expected, mortal, monkeypatch, knows, error, deaths):
    monkeypatch.setattr(mortal, "knows", knows)
    monkeypatch.setattr(mortal, "error", error)
    texts = [*TEXTS[:9], "this one exits", *TEXTS[10:]]
    made = run(tmp_path / "run", texts, jobs=1)
    rows = made.texts().to_pylist()
    assert [row["error"] for row in rows] == [None] * 9 + [error.__name__] + [None] * 10
    assert (rows[9]["message"], rows[9]["row"]) == ("it died", 9)
    assert mortal.deaths == deaths
    others = [f"part-0000{part}.parquet" for part in (0, 1, 3, 4)]
    got, wanted = tables(files(tmp_path / "run")), tables(expected)
    assert all(got[f"{table}/{name}"] == wanted[f"{table}/{name}"] for table in COMPARED for name in others)


def test_workers_that_die_of_other_reasons_cost_nothing(tmp_path, expected, mortal, monkeypatch):
    tired = Mortal.events

    def twice(engine, timeout):
        if engine._is_ready and engine._tasks and len(mortal.deaths) < 6 and len(engine._tasks[0].items) < 5:
            mortal.deaths.append(1)
            return [Died(engine._tasks.popleft().number, "here", WorkerError("killed"))]
        return tired(engine, timeout)

    monkeypatch.setattr(Mortal, "events", twice)
    made = run(tmp_path / "run")
    assert len(mortal.deaths) == 6
    assert made.texts()["error"].null_count == len(TEXTS)
    assert files(tmp_path / "run") == expected


def test_an_input_that_shrinks_ends_the_run(tmp_path):
    from tests.corpora.classifiers import judge

    from mase.sources import open_source
    from mase_corpora.plan import opening
    from mase_corpora.running import Settings, execute
    from mase_corpora.worker import Recipe

    class Shrinking:
        def __init__(self, source):
            self.source, self.kept, self.describe = source, source.kept, source.describe

        def __len__(self):
            return len(self.source)

        def items(self, start=0):
            return (item for item in self.source.items(start) if item.row < 7)

    recipe = Recipe(opening(judge, None, FAST))
    with pytest.raises(DataError, match="ended early"):
        execute(Shrinking(open_source(TEXTS)), tmp_path / "run", recipe, Settings("here", part_size=4))
    assert run(tmp_path / "run").is_complete


class LastFirst(Here):
    """An engine that explains the task that it got last."""

    def submit(self, task):
        self._tasks.appendleft(task)


class Late(Here):
    """An engine that has nothing to report for a number of calls."""

    n_waits = 0

    def events(self, timeout):
        self.n_waits -= 1
        return () if self.n_waits >= 0 else super().events(timeout)


@pytest.mark.parametrize("method", ["mase-mask", "mase"])
@pytest.mark.slow
def test_tables_are_those_of_the_explainer(tmp_path, method):
    made = running_run(tmp_path / "run", method=method)
    explainer = mase.Explainer(judge, **FAST | {"method": method}, evidence=0)
    assert made.is_complete
    assert made.texts()["row"].to_pylist() == list(range(len(RUNNING_TEXTS)))
    scores = [score for text in RUNNING_TEXTS for score in explainer(text).scores.tolist()]
    assert made.units()["score"].to_pylist() == scores
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "locks", "responses", "run.json", "texts", "timings", "units",
    ]  # fmt: skip
    assert not list((tmp_path / "run" / "locks").iterdir())


def test_the_test_of_the_best_units_is_kept(tmp_path):
    tested = running_run(tmp_path / "tested", RUNNING_TEXTS[:2], n_samples=32, evidence=2)
    explainer = mase.Explainer(judge, **FAST | {"n_samples": 32}, evidence=2)
    expected = [explainer(text).to_dict()["evidence"] for text in RUNNING_TEXTS[:2]]
    assert [json.loads(found) for found in tested.texts()["evidence"].to_pylist()] == expected
    assert expected[0]["without"]
    assert running_run(tmp_path / "plain", RUNNING_TEXTS[:2]).texts()["evidence"].null_count == 2


def test_the_order_of_tasks_does_not_matter(tmp_path, expected, monkeypatch):
    monkeypatch.setitem(ENGINES.entries, "here", LastFirst)
    assert QUEUED > 1
    running_run(tmp_path / "run")
    assert files(tmp_path / "run") == expected


@pytest.mark.parametrize(("n_waits", "n_warnings"), [(2, 0), (500, 1)])
def test_a_run_that_waits_long_for_its_first_worker_says_so_once(tmp_path, expected, monkeypatch, n_waits, n_warnings):
    monkeypatch.setattr(Late, "n_waits", n_waits)
    monkeypatch.setitem(ENGINES.entries, "here", Late)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        running_run(tmp_path / "run")
    told = [warning for warning in caught if "no worker" in str(warning.message)]
    assert [warning.category for warning in told] == [mase.errors.MaseWarning] * n_warnings
    assert files(tmp_path / "run") == expected


@pytest.mark.slow
def test_shards_make_the_whole(tmp_path, expected):
    for number in (2, 1):
        made = running_run(tmp_path / "both", shard=f"{number}/2")
    assert made.is_complete
    assert files(tmp_path / "both") == expected
    parts = [running_run(tmp_path / f"shard-{number}", shard=f"{number}/3") for number in (1, 2, 3)]
    assert sum(len(part.parts) for part in parts) == made.plan.n_parts
    copied = {name: content for number in (1, 2, 3) for name, content in files(tmp_path / f"shard-{number}").items()}
    assert copied == expected


def test_a_shard_of_another_run_is_no_part_of_the_whole(tmp_path):
    running_run(tmp_path / "run", shard="1/2")
    running_run(tmp_path / "other", shard="2/2", seed=1)
    for table in TABLES:
        shutil.copytree(tmp_path / "other" / table, tmp_path / "run" / table, dirs_exist_ok=True)
    made = open_run(tmp_path / "run")
    assert made.is_complete
    for table in TABLES:
        with pytest.raises(DataError, match=r"texts/part-00001\.parquet' is of another run"):
            made.part(table, 1)
        assert len(made.part(table, 0))
    with pytest.raises(DataError, match=r"texts/part-00001\.parquet' is of another run"):
        read_status(tmp_path / "run")


def test_a_part_that_an_earlier_release_made_is_read(tmp_path):
    """It does not say what was asked of it."""
    made = running_run(tmp_path / "run")
    part, whole = tmp_path / "run" / "texts" / "part-00001.parquet", made.texts()
    pq.write_table(made.part("texts", 1), part)
    assert open_run(tmp_path / "run").texts() == whole
    assert read_status(tmp_path / "run").is_complete


def test_a_shard_without_parts_leaves_a_run(tmp_path):
    assert running_run(tmp_path / "run", shard="9/9").parts == ()


def test_finished_parts_of_a_model_without_a_checksum_are_kept_with_a_warning(tmp_path, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        running_run(tmp_path / "run")
    with pytest.warns(UserWarning, match=r"model 'judge' has no checksum.*fresh=True"):
        running_run(tmp_path / "run")
    assert files(tmp_path / "run") == expected


def test_finished_parts_are_not_explained_again(tmp_path, expected, monkeypatch):
    running_run(tmp_path / "run")
    (tmp_path / "run" / "texts" / "part-00002.parquet").unlink()
    explained = []
    call = mase.Explainer.__call__

    def counted(explainer, text, **options):
        explained.append(text)
        return call(explainer, text, **options)

    monkeypatch.setattr(mase.Explainer, "__call__", counted)
    running_run(tmp_path / "run")
    assert explained == RUNNING_TEXTS[8:12]
    assert files(tmp_path / "run") == expected


@pytest.mark.parametrize("n_before", [0, 1, 9, 18])
@pytest.mark.slow
def test_a_full_disk_leaves_a_run_that_goes_on(tmp_path, expected, monkeypatch, n_before):
    calls = []
    fsync = os.fsync

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > n_before:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left"):
        running_run(tmp_path / "run")
    monkeypatch.setattr(os, "fsync", fsync)
    running_run(tmp_path / "run")
    assert files(tmp_path / "run") == expected


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"n_samples": 16}, r"method.n_samples 8, got 16"),
        ({"seed": 1}, r"seed 0, got 1"),
        ({"target": "1"}, r"target None, got '1'"),
        ({"part_size": 5}, r"part_size 4, got 5"),
        ({"keep_texts": False}, r"documents True, got False"),
        ({"texts": [*RUNNING_TEXTS[:-1], "another"]}, r"input\.tables"),
        ({"model": lambda texts: judge(texts)}, r"model.name"),
    ],
)
def test_another_command_is_refused_with_the_difference(tmp_path, expected, options, difference):
    running_run(tmp_path / "run")
    with pytest.raises(DataError, match=difference):
        running_run(tmp_path / "run", **options)
    assert files(tmp_path / "run") == expected


def test_the_difference_of_a_table_or_of_what_is_read_of_it_is_named(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("text\na\nb\nc\n")
    running_run(tmp_path / "run", table, limit=3)
    with pytest.raises(DataError, match=r"input\.limit 3, got 2"):
        running_run(tmp_path / "run", table, limit=2)
    with pytest.raises(DataError, match=r"input\.where\.text None, got 'a'"):
        running_run(tmp_path / "run", table, limit=3, where={"text": "a"})
    table.write_text("text\na\nb\nc\nd\n")
    with pytest.raises(DataError, match=r"input\.tables\.0\.size 11, got 13"):
        running_run(tmp_path / "run", table, limit=3)


def test_a_run_is_there_once_a_text_was_explained(tmp_path, monkeypatch):
    """So that its status can be read before the first part is finished."""
    monkeypatch.setattr("mase_corpora.running.MOST_TEXTS", 1)
    begun = []

    def predict(texts):
        begun.append((tmp_path / "run" / "run.json").exists())
        return judge(texts)

    running_run(tmp_path / "run", RUNNING_TEXTS[:4], model=predict, part_size=4)
    assert begun.index(True) < len(begun) - 1
    assert not begun[0]


@pytest.mark.slow
def test_a_run_of_a_file_whose_name_is_no_utf8_goes_on(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    path.write_text("\n".join(RUNNING_TEXTS), encoding="utf-8")
    made = running_run(tmp_path / "run", path)
    (tmp_path / "run" / "texts" / "part-00002.parquet").unlink()
    assert running_run(tmp_path / "run", path).texts().equals(made.texts())
    assert made.manifest.asked.input["tables"][0]["name"] == "caf\ufffd.txt"


@pytest.mark.slow
def test_fresh_begins_beside_the_run(tmp_path, expected):
    running_run(tmp_path / "run")
    assert running_run(tmp_path / "run", seed=1, fresh=True).folder.place == str(tmp_path / "run-2")
    assert files(tmp_path / "run") == expected


def test_other_versions_are_refused_or_recorded(tmp_path, expected):
    running_run(tmp_path / "run")
    (tmp_path / "run" / "texts" / "part-00001.parquet").unlink()
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    manifest["made_with"]["numpy"] = "1.0"
    (tmp_path / "run" / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=r"numpy '1.0', got"):
        running_run(tmp_path / "run")
    made = running_run(tmp_path / "run", allow_other_versions=True)
    assert made.is_complete
    metadata = []
    for part in (0, 1):
        with made.folder.opened("texts", part) as (file, _):
            metadata.append(file.metadata.metadata)
    assert b"made_with" not in metadata[0]
    assert json.loads(metadata[1][b"made_with"])[0]["numpy"] != "1.0"


def test_texts_that_cannot_be_explained_are_rows(tmp_path):
    texts = ["raises", "", *RUNNING_TEXTS[:3], "unsuited"]
    failed = running_run(tmp_path / "run", texts).texts().to_pylist()
    assert [row["error"] for row in failed] == ["ModelError", "EmptyTextError", None, None, None, "CapabilityError"]
    assert "not this one" in failed[0]["message"]


@pytest.mark.parametrize("n_before", [0, 4])
def test_an_error_of_the_command_ends_the_run(tmp_path, n_before):
    texts = ["raises"] * n_before + ["unsuited"] * 8
    for _ in range(2):
        with pytest.raises(CapabilityError, match="never with this method"):
            running_run(tmp_path / "run", texts)
    assert (tmp_path / "run" / "run.json").exists() == bool(n_before)


def test_an_error_of_the_command_is_recorded_where_others_were_explained(tmp_path):
    texts = [*RUNNING_TEXTS[:4], *["unsuited"] * 4]
    running_run(tmp_path / "run", texts)
    (tmp_path / "run" / "texts" / "part-00001.parquet").unlink()
    assert running_run(tmp_path / "run", texts).texts()["error"].to_pylist()[4:] == ["CapabilityError"] * 4


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"jobs": 0}, OptionError),
        ({"shard": "3/2"}, OptionError),
        ({"shard": 1}, OptionError),
        ({"engine": "nowhere"}, UnknownNameError),
        ({"address": "cluster"}, OptionError),
        ({"timeout": 1.0}, OptionError),
        ({"timeout": 0.0, "engine": "local"}, OptionError),
        ({"timeout": "5", "engine": "local"}, OptionError),
        ({"where": "split=test"}, OptionError),
        ({"part_size": 0}, OptionError),
        ({"target": "third"}, UnknownNameError),
        ({"model": mase.Explainer(judge, evidence=0)}, OptionError),
    ],
)
def test_invalid_options_leave_nothing(tmp_path, options, error):
    with pytest.raises(error):
        running_run(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("of the user")
    with pytest.raises(DataError, match=r"no run\.json"):
        running_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_drafts_that_a_killed_process_left_are_no_hindrance(tmp_path, expected):
    drafts = [f"{name}.0123456789abcdef" for name in (".run.json", "texts/.part-00001.parquet", "locks/.run.json")]
    for name in drafts:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"half")
    running_run(tmp_path)
    assert files(tmp_path) == expected
    assert not list((tmp_path / "locks").iterdir())


@pytest.mark.slow
def test_a_function_that_cannot_be_sent_runs_here(tmp_path, expected):
    with pytest.warns(UserWarning, match="this process explains the texts"):
        made = running_run(tmp_path / "run", model=lambda texts: judge(texts), engine="local")
    assert made.is_complete
    assert set(made.timings()["worker"].to_pylist()) == {"here"}


def test_an_explainer_is_run_as_it_is(tmp_path, expected):
    mase.run(
        RUNNING_TEXTS, tmp_path / "run", model=mase.Explainer(judge, **FAST, evidence=0), engine="here", part_size=4
    )
    assert files(tmp_path / "run") == expected
    assert open_run(tmp_path / "run").manifest.asked.method["n_samples"] == 8


def test_a_text_whose_batches_were_halved_for_memory_has_a_note(tmp_path):
    def hungry(texts):
        if len(texts) > 4:
            raise MemoryError
        return judge(texts)

    made = running_run(tmp_path / "run", [RUNNING_TEXTS[0], "good film"], model=hungry, n_samples=64)
    notes = made.texts()["notes"].to_pylist()
    assert [[note["code"] for note in of_text if note["code"] == "batch-halved"] for of_text in notes] == [
        ["batch-halved"], [],
    ]  # fmt: skip


def test_a_run_is_not_continued_with_changed_code(tmp_path):
    code = tmp_path / "judge.py"
    source = "def predict(texts):\n    return [[0.3, 0.7] if 'good' in text else [0.6, 0.4] for text in texts]\n"
    code.write_text(source, encoding="utf-8")
    options = {"model": f"{code}:predict", "n_samples": 8, "engine": "here"}
    found = mase.run(["a good film", "a bad film"], tmp_path / "run", **options)
    assert found.manifest.asked.model["code_sha256"] == hashlib.sha256(source.encode()).hexdigest()
    code.write_text(source.replace("0.7", "0.8").replace("0.3", "0.2"), encoding="utf-8")
    with pytest.raises(DataError, match="code_sha256"):
        mase.run(["a good film", "a bad film"], tmp_path / "run", **options)


def test_every_response_is_kept(tmp_path):
    made = running_run(tmp_path / "run", RUNNING_TEXTS[:2], target="all", method="mase")
    found = [
        mase.Explainer(judge, **FAST | {"method": "mase"}, evidence=0)(text, target="all") for text in RUNNING_TEXTS[:2]
    ]
    responses = [response for one in found for response in one.responses]
    assert made.responses()["response"].to_pylist() == [response.name for response in responses]
    assert made.responses()["split_half"].to_pylist() == [response.split_half for response in responses]
    assert made.units()["score"].to_pylist() == [score for response in responses for score in response.scores]
    assert made.texts()["notes"].to_pylist()[0] == [
        {"code": note.code, "unit": note.unit, "message": note.message} for note in found[0].own_notes
    ]
    own = [note.message for note in found[0].notes if note.response == found[0].responses[1].name]
    assert [note["message"] for note in made.responses()["response_notes"].to_pylist()[1]] == own


def test_what_a_class_is_compared_with_is_recorded(tmp_path):
    made = running_run(tmp_path / "run", RUNNING_TEXTS[:2], target=1, against=0)
    asked = open_run(tmp_path / "run").manifest.asked
    assert (asked.target, asked.against) == ("1", "0")
    assert made.responses()["against"].to_pylist() == ["0", "0"]
    with pytest.raises(DataError, match="against"):
        running_run(tmp_path / "run", RUNNING_TEXTS[:2], target=1)


@pytest.mark.slow
def test_responses_have_the_verdict_and_the_held_out_fit(tmp_path):
    options = {"n_samples": 48, "target": "all"}
    texts = ["a good film but a long one and rather dull", "the plot is good and the end is bad and loud"]
    explainer = mase.Explainer("lstm-imdb", n_samples=48, evidence=0)
    rows = mase.run(texts, tmp_path / "run", model="lstm-imdb", engine="here", **options).responses().to_pylist()
    found = [explainer(text, target="all").of(name) for text in texts for name in ("pos", "neg")]
    assert {(one.document[0].text, one.target) for one in found} == {
        (texts[row["row"]], row["response"]) for row in rows
    }
    for row in rows:
        one = next(o for o in found if (o.document[0].text, o.target) == (texts[row["row"]], row["response"]))
        assert (row["reliable"], row["r2_held_out"]) == (one.verdict.reliable, one.r2_held_out)


PAIRS = [(f"the {kind} film", f"was number {number}") for number, kind in enumerate(("good", "dull", "plain") * 4)]


TABLE = pd.DataFrame(PAIRS, columns=["question", "answer"]).assign(age=range(12), name=[f"r{n}" for n in range(12)])


OPTIONS = {
    "fields": ["question", "answer", "age"],
    "fixed": ["answer"],
    "background": {"age": 0},
    "id_column": "name",
    "keep": ["answer=said"],
}


def running_documents_judge(records):
    """A function of records whose classes have no names."""
    scores = [0.25 * ("good" in one["question"]) - 0.25 * ("dull" in one["question"]) for one in records]
    positive = [0.5 + score + one["age"] / 100 for score, one in zip(scores, records, strict=True)]
    return [[1 - p, p] for p in positive]


def running_documents_run(folder, source=TABLE, **options):
    options = {"model": running_documents_judge, "engine": "here", "n_samples": 8, "part_size": 4} | OPTIONS | options
    return mase.run(source, folder, **options)


@pytest.mark.slow
def test_a_run_holds_documents_and_the_fields_of_units(tmp_path):
    made = running_documents_run(tmp_path / "run", target="1")
    texts, units = made.texts().to_pylist(), made.units().to_pylist()
    assert [text["said"] for text in texts] == list(TABLE["answer"])
    assert json.loads(texts[3]["document"]) == [
        {"name": "question", "text": "the good film", "fixed": False},
        {"name": "answer", "text": "was number 3", "fixed": True},
        {"name": "age", "text": "3", "fixed": False, "value": 3, "background": 0},
    ]
    own = [unit for unit in units if unit["id"] == "r3"]
    assert [(unit["field"], unit["start"], unit["text"]) for unit in own] == [
        ("question", 0, "the"), ("question", 4, "good"), ("question", 9, "film"), ("age", 0, "3"),
    ]  # fmt: skip
    explainer = mase.Explainer(running_documents_judge, n_samples=8, fixed=["answer"], background={"age": 0})
    expected = explainer(TABLE, fields=OPTIONS["fields"], target="1")
    assert [unit["score"] for unit in units] == [score for found in expected for score in found.scores]
    assert made.manifest.asked.method["fixed"] == ["answer"]
    assert {effect.word for effect in mase.summarise(made, min_texts=2).words} <= {"good", "dull", "plain"}


@pytest.mark.slow
def test_a_run_of_documents_is_continued_and_refuses_other_fields(tmp_path):
    whole = running_documents_run(tmp_path / "whole")
    expected = files(tmp_path / "whole")
    running_documents_run(tmp_path / "run", shard="1/2")
    assert files(tmp_path / "run") != expected
    assert running_documents_run(tmp_path / "run").is_complete
    assert files(tmp_path / "run") == expected
    for change in ({"fields": ["question", "age"], "fixed": ()}, {"fixed": ()}, {"background": {"age": 1}}):
        with pytest.raises(DataError, match=r"has the input|fixed|background"):
            running_documents_run(tmp_path / "run", **change)
    assert mase.open_run(tmp_path / "whole").units().equals(whole.units())


def test_rows_that_are_no_documents_are_failures_of_these_rows(tmp_path):
    rows = TABLE.head(6).to_dict("records")
    rows[1]["question"], rows[2]["age"], rows[3]["age"] = {"en": "film"}, "old", 200
    del rows[4]["answer"]
    made = running_documents_run(tmp_path / "run", rows, keep=None)
    errors = made.texts()["error"].to_pylist()
    assert errors == [None, "InvalidTextError", "InvalidTextError", "ModelError", "DataError", None]
    documents = made.texts()["document"].to_pylist()
    assert [document is None for document in documents] == [False, True, True, False, True, False]
    # a document that the model cannot read is kept as it was asked about
    assert json.loads(documents[3])[1] == {"name": "answer", "text": "was number 3", "fixed": True}
    assert set(made.units()["id"].to_pylist()) == {"r0", "r5"}


@pytest.mark.slow
def test_runs_of_documents_are_compared_by_their_fields(tmp_path):
    one, other = running_documents_run(tmp_path / "one"), running_documents_run(tmp_path / "other", seed=1)
    compared = mase.compare(one, other, min_texts=2)
    assert compared.texts.compared == len(TABLE)
    changed = running_documents_run(tmp_path / "changed", TABLE.assign(age=TABLE["age"] + (TABLE["name"] == "r5")))
    different = mase.compare(one, changed, min_texts=2, common_only=True).texts
    assert (different.compared, different.different) == (len(TABLE) - 1, 1)


@pytest.mark.slow
def test_a_run_without_texts_has_no_document(tmp_path):
    made = running_documents_run(tmp_path / "run", keep_texts=False)
    assert made.texts()["document"].null_count == len(TABLE)
    assert set(made.units()["field"].to_pylist()) == {"question", "age"}


def test_lists_of_pairs_and_workers_of_other_processes(tmp_path):
    def entails(pairs):
        return [[0.5, 0.5] if "good" in pair["text"] else [0.25, 0.75] for pair in pairs]

    made = mase.run(PAIRS[:3], tmp_path / "run", model=Callable(entails, ["no", "yes"]), engine="here", n_samples=8)
    assert set(made.units()["field"].to_pylist()) == {"text", "text_pair"}


PARROT = "tests.language_models:parrot"


RUNNING_LANGUAGE_TEXTS = [
    "The cat sat on it. It was warm.",
    "Nobody came. The dog ran.",
    "",
    "The cat sat. The dog ran.",
]


RUNNING_LANGUAGE_TABLE = pd.DataFrame({
    "name": ["a", "b", "c", "d"],
    "context": RUNNING_LANGUAGE_TEXTS,
    "query": ["who sat ?", "who ran ?", "who ?", "who ?"],
    "answer": ["", "The dog ran.", "", ""],
})  # fmt: skip


RUNNING_LANGUAGE_OPTIONS = {
    "fields": ["context", "query", "answer"],
    "fixed": ["query"],
    "id_column": "name",
    "units": "sentence",
}


def running_language_run(folder, **options):
    given = {"model": PARROT, "engine": "here", "n_samples": 8, "part_size": 2} | RUNNING_LANGUAGE_OPTIONS
    return mase.run(RUNNING_LANGUAGE_TABLE, folder, **given | options)


def test_a_run_holds_the_answers_that_were_generated(tmp_path):
    made = running_language_run(tmp_path / "run")
    texts = made.texts().to_pylist()
    assert [text["explained_answer"] for text in texts] == [ANSWER, "The dog ran.", None, ANSWER]
    assert [text["error"] for text in texts] == [None, None, "EmptyTextError", None]
    assert json.loads(texts[1]["document"])[2] == {"name": "answer", "text": "The dog ran.", "fixed": True}
    assert [row["response"] for row in made.responses().to_pylist()] == ["answer"] * 3
    units = [unit for unit in made.units().to_pylist() if unit["id"] == "b"]
    assert [(unit["field"], unit["text"], unit["rank"]) for unit in units] == [
        ("context", "Nobody came.", 2), ("context", "The dog ran.", 1),
    ]  # fmt: skip
    assert [unit["cited"] for unit in units] == [False, True]
    assert made.manifest.asked.model["max_new_tokens"] == 128
    without = running_language_run(tmp_path / "without", fields=["context", "query"])
    assert [text["explained_answer"] for text in without.texts().to_pylist()] == [ANSWER, ANSWER, None, ANSWER]


@pytest.mark.slow
def test_workers_write_the_same_bytes_and_go_on_where_they_stopped(tmp_path):
    running_language_run(tmp_path / "here")
    running_language_run(tmp_path / "local", shard="1/2")
    assert not mase.open_run(tmp_path / "local").is_complete
    assert running_language_run(tmp_path / "local", engine="local", jobs=1).is_complete
    assert files(tmp_path / "local") == files(tmp_path / "here")


@pytest.mark.slow
def test_a_run_is_summed_up_and_shown(tmp_path):
    pytest.importorskip("duckdb")
    made = running_language_run(tmp_path / "run")
    found = mase.summarise(made, min_texts=2)
    assert [(row.prediction, row.probability) for row in found.predictions] == [("answer", None)]
    assert write_report(found, tmp_path / "report").is_file()


@pytest.mark.slow
def test_runs_of_other_answers_are_other_texts(tmp_path):
    pytest.importorskip("duckdb")
    first, again = running_language_run(tmp_path / "first"), running_language_run(tmp_path / "again", seed=1)
    assert mase.compare(first, again).texts.compared == 3
    other = running_language_run(tmp_path / "other", model=Parrot("The dog sat."))
    with pytest.raises(DataError, match="2 with different documents or answers"):
        mase.compare(first, other)
    assert mase.compare(first, other, common_only=True).texts.compared == 1


def test_a_run_is_not_continued_with_another_template(tmp_path):
    def prompted(template, **options):
        return running_language_run(
            tmp_path, model=Generated(Parrot(), template=template), fields=["context", "query"], **options
        )

    prompted("{context} ? {query}", shard="1/2")
    with pytest.raises(DataError, match="template"):
        prompted("{query} ? {context}")
    assert prompted("{context} ? {query}").is_complete
