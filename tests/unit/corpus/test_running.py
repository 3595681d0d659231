"""Tests of `mase.run`: the same tables however they were made, and nothing else in the folder."""

import errno
import hashlib
import json
import os
import shutil
import warnings

import pyarrow.parquet as pq
import pytest
from tests.unit.corpus.classifiers import judge
from tests.unit.corpus.runs import FAST, TEXTS, files, run

import mase
from mase.corpus.columns import TABLES
from mase.corpus.engines import ENGINES
from mase.corpus.engines.here import Here
from mase.corpus.engines.protocol import QUEUED
from mase.corpus.opened import open_run
from mase.corpus.status import read_status
from mase.errors import CapabilityError, DataError, OptionError, UnknownNameError

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


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
def test_tables_are_those_of_the_explainer(tmp_path, method):
    made = run(tmp_path / "run", method=method)
    explainer = mase.Explainer(judge, **FAST | {"method": method}, evidence=0)
    assert made.is_complete
    assert made.texts()["row"].to_pylist() == list(range(len(TEXTS)))
    scores = [score for text in TEXTS for score in explainer(text).scores.tolist()]
    assert made.units()["score"].to_pylist() == scores
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "locks", "responses", "run.json", "texts", "timings", "units",
    ]  # fmt: skip
    assert not list((tmp_path / "run" / "locks").iterdir())


def test_the_test_of_the_best_units_is_kept(tmp_path):
    tested = run(tmp_path / "tested", TEXTS[:2], n_samples=32, evidence=2)
    explainer = mase.Explainer(judge, **FAST | {"n_samples": 32}, evidence=2)
    expected = [explainer(text).to_dict()["evidence"] for text in TEXTS[:2]]
    assert [json.loads(found) for found in tested.texts()["evidence"].to_pylist()] == expected
    assert expected[0]["without"]
    assert run(tmp_path / "plain", TEXTS[:2]).texts()["evidence"].null_count == 2


def test_the_order_of_tasks_does_not_matter(tmp_path, expected, monkeypatch):
    monkeypatch.setitem(ENGINES.entries, "here", LastFirst)
    assert QUEUED > 1
    run(tmp_path / "run")
    assert files(tmp_path / "run") == expected


@pytest.mark.parametrize(("n_waits", "n_warnings"), [(2, 0), (500, 1)])
def test_a_run_that_waits_long_for_its_first_worker_says_so_once(tmp_path, expected, monkeypatch, n_waits, n_warnings):
    monkeypatch.setattr(Late, "n_waits", n_waits)
    monkeypatch.setitem(ENGINES.entries, "here", Late)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(tmp_path / "run")
    told = [warning for warning in caught if "no worker" in str(warning.message)]
    assert [warning.category for warning in told] == [mase.errors.MaseWarning] * n_warnings
    assert files(tmp_path / "run") == expected


def test_shards_make_the_whole(tmp_path, expected):
    for number in (2, 1):
        made = run(tmp_path / "both", shard=f"{number}/2")
    assert made.is_complete
    assert files(tmp_path / "both") == expected
    parts = [run(tmp_path / f"shard-{number}", shard=f"{number}/3") for number in (1, 2, 3)]
    assert sum(len(part.parts) for part in parts) == made.plan.n_parts
    copied = {name: content for number in (1, 2, 3) for name, content in files(tmp_path / f"shard-{number}").items()}
    assert copied == expected


def test_a_shard_of_another_run_is_no_part_of_the_whole(tmp_path):
    run(tmp_path / "run", shard="1/2")
    run(tmp_path / "other", shard="2/2", seed=1)
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
    made = run(tmp_path / "run")
    part, whole = tmp_path / "run" / "texts" / "part-00001.parquet", made.texts()
    pq.write_table(made.part("texts", 1), part)
    assert open_run(tmp_path / "run").texts() == whole
    assert read_status(tmp_path / "run").is_complete


def test_a_shard_without_parts_leaves_a_run(tmp_path):
    assert run(tmp_path / "run", shard="9/9").parts == ()


def test_finished_parts_of_a_model_without_a_checksum_are_kept_with_a_warning(tmp_path, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(tmp_path / "run")
    with pytest.warns(UserWarning, match=r"model 'judge' has no checksum.*fresh=True"):
        run(tmp_path / "run")
    assert files(tmp_path / "run") == expected


def test_finished_parts_are_not_explained_again(tmp_path, expected, monkeypatch):
    run(tmp_path / "run")
    (tmp_path / "run" / "texts" / "part-00002.parquet").unlink()
    explained = []
    call = mase.Explainer.__call__

    def counted(explainer, text, **options):
        explained.append(text)
        return call(explainer, text, **options)

    monkeypatch.setattr(mase.Explainer, "__call__", counted)
    run(tmp_path / "run")
    assert explained == TEXTS[8:12]
    assert files(tmp_path / "run") == expected


@pytest.mark.parametrize("n_before", [0, 1, 9, 18])
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
        run(tmp_path / "run")
    monkeypatch.setattr(os, "fsync", fsync)
    run(tmp_path / "run")
    assert files(tmp_path / "run") == expected


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"n_samples": 16}, r"method.n_samples 8, got 16"),
        ({"seed": 1}, r"seed 0, got 1"),
        ({"target": "1"}, r"target None, got '1'"),
        ({"part_size": 5}, r"part_size 4, got 5"),
        ({"keep_texts": False}, r"documents True, got False"),
        ({"texts": [*TEXTS[:-1], "another"]}, r"input\.tables"),
        ({"model": lambda texts: judge(texts)}, r"model.name"),
    ],
)
def test_another_command_is_refused_with_the_difference(tmp_path, expected, options, difference):
    run(tmp_path / "run")
    with pytest.raises(DataError, match=difference):
        run(tmp_path / "run", **options)
    assert files(tmp_path / "run") == expected


def test_the_difference_of_a_table_or_of_what_is_read_of_it_is_named(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("text\na\nb\nc\n")
    run(tmp_path / "run", table, limit=3)
    with pytest.raises(DataError, match=r"input\.limit 3, got 2"):
        run(tmp_path / "run", table, limit=2)
    with pytest.raises(DataError, match=r"input\.where\.text None, got 'a'"):
        run(tmp_path / "run", table, limit=3, where={"text": "a"})
    table.write_text("text\na\nb\nc\nd\n")
    with pytest.raises(DataError, match=r"input\.tables\.0\.size 11, got 13"):
        run(tmp_path / "run", table, limit=3)


def test_a_run_is_there_once_a_text_was_explained(tmp_path, monkeypatch):
    """So that its status can be read before the first part is finished."""
    monkeypatch.setattr("mase.corpus.driver.MOST_TEXTS", 1)
    begun = []

    def predict(texts):
        begun.append((tmp_path / "run" / "run.json").exists())
        return judge(texts)

    run(tmp_path / "run", TEXTS[:4], model=predict, part_size=4)
    assert begun.index(True) < len(begun) - 1
    assert not begun[0]


def test_a_run_of_a_file_whose_name_is_no_utf8_goes_on(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    made = run(tmp_path / "run", path)
    (tmp_path / "run" / "texts" / "part-00002.parquet").unlink()
    assert run(tmp_path / "run", path).texts().equals(made.texts())
    assert made.manifest.asked.input["tables"][0]["name"] == "caf\ufffd.txt"


def test_fresh_begins_beside_the_run(tmp_path, expected):
    run(tmp_path / "run")
    assert run(tmp_path / "run", seed=1, fresh=True).folder.place == str(tmp_path / "run-2")
    assert files(tmp_path / "run") == expected


def test_other_versions_are_refused_or_recorded(tmp_path, expected):
    run(tmp_path / "run")
    (tmp_path / "run" / "texts" / "part-00001.parquet").unlink()
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    manifest["made_with"]["numpy"] = "1.0"
    (tmp_path / "run" / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=r"numpy '1.0', got"):
        run(tmp_path / "run")
    made = run(tmp_path / "run", allow_other_versions=True)
    assert made.is_complete
    metadata = []
    for part in (0, 1):
        with made.folder.opened("texts", part) as (file, _):
            metadata.append(file.metadata.metadata)
    assert b"made_with" not in metadata[0]
    assert json.loads(metadata[1][b"made_with"])[0]["numpy"] != "1.0"


def test_texts_that_cannot_be_explained_are_rows(tmp_path):
    texts = ["raises", "", *TEXTS[:3], "unsuited"]
    failed = run(tmp_path / "run", texts).texts().to_pylist()
    assert [row["error"] for row in failed] == ["ModelError", "EmptyTextError", None, None, None, "CapabilityError"]
    assert "not this one" in failed[0]["message"]


@pytest.mark.parametrize("n_before", [0, 4])
def test_an_error_of_the_command_ends_the_run(tmp_path, n_before):
    texts = ["raises"] * n_before + ["unsuited"] * 8
    for _ in range(2):
        with pytest.raises(CapabilityError, match="never with this method"):
            run(tmp_path / "run", texts)
    assert (tmp_path / "run" / "run.json").exists() == bool(n_before)


def test_an_error_of_the_command_is_recorded_where_others_were_explained(tmp_path):
    texts = [*TEXTS[:4], *["unsuited"] * 4]
    run(tmp_path / "run", texts)
    (tmp_path / "run" / "texts" / "part-00001.parquet").unlink()
    assert run(tmp_path / "run", texts).texts()["error"].to_pylist()[4:] == ["CapabilityError"] * 4


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
        run(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("of the user")
    with pytest.raises(DataError, match=r"no run\.json"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_drafts_that_a_killed_process_left_are_no_hindrance(tmp_path, expected):
    drafts = [f"{name}.0123456789abcdef" for name in (".run.json", "texts/.part-00001.parquet", "locks/.run.json")]
    for name in drafts:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"half")
    run(tmp_path)
    assert files(tmp_path) == expected
    assert not list((tmp_path / "locks").iterdir())


def test_a_function_that_cannot_be_sent_runs_here(tmp_path, expected):
    with pytest.warns(UserWarning, match="this process explains the texts"):
        made = run(tmp_path / "run", model=lambda texts: judge(texts), engine="local")
    assert made.is_complete
    assert set(made.timings()["worker"].to_pylist()) == {"here"}


def test_an_explainer_is_run_as_it_is(tmp_path, expected):
    mase.run(TEXTS, tmp_path / "run", model=mase.Explainer(judge, **FAST, evidence=0), engine="here", part_size=4)
    assert files(tmp_path / "run") == expected
    assert open_run(tmp_path / "run").manifest.asked.method["n_samples"] == 8


def test_a_text_whose_batches_were_halved_for_memory_has_a_note(tmp_path):
    def hungry(texts):
        if len(texts) > 4:
            raise MemoryError
        return judge(texts)

    made = run(tmp_path / "run", [TEXTS[0], "good film"], model=hungry, n_samples=64)
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
    made = run(tmp_path / "run", TEXTS[:2], target="all", method="mase")
    found = [mase.Explainer(judge, **FAST | {"method": "mase"}, evidence=0)(text, target="all") for text in TEXTS[:2]]
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
    made = run(tmp_path / "run", TEXTS[:2], target=1, against=0)
    asked = open_run(tmp_path / "run").manifest.asked
    assert (asked.target, asked.against) == ("1", "0")
    assert made.responses()["against"].to_pylist() == ["0", "0"]
    with pytest.raises(DataError, match="against"):
        run(tmp_path / "run", TEXTS[:2], target=1)


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
