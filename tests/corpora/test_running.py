"""Tests of runs that are continued: by which model, and with the failed texts again."""

import json
import shutil
import threading
import time

import pyarrow.parquet as pq
import pytest
from tests.corpora.classifiers import judge
from tests.corpora.runs import TEXTS, files, run
from tests.unit.models.language.causal_models import byte_tokenizer, causal_model
from tests.unit.models.tiny import family

import mase
from mase.errors import DataError, OptionError
from mase.models import Chat
from mase.testing import SmallLSTM, Wrapped, whitespace_ids
from mase_corpora.read import count_failures

CODE = "def predict(texts):\n    return [[0.3, 0.7] if 'good' in text else [0.6, 0.4] for text in texts]\n"
READ = ["w0 w1 w2 w3 w4 w5 w6", "w3 w4 w5"]
without_checksum = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


def test_the_checksum_of_code_does_not_tell_what_it_loads(tmp_path):
    code = tmp_path / "judge.py"
    code.write_text(CODE, encoding="utf-8")
    options = {"model": f"{code}:predict", "n_samples": 8, "engine": "here"}
    mase.run(["a good film", "a bad film"], tmp_path / "run", **options)
    with pytest.warns(UserWarning, match="has no checksum but that of its source file"):
        mase.run(["a good film", "a bad film"], tmp_path / "run", **options)


@without_checksum
def test_a_run_is_not_continued_with_other_classes(tmp_path):
    named, turned = (mase.models.Callable(judge, labels, name="judge") for labels in (["a", "b"], ["b", "a"]))
    made = run(tmp_path / "run", model=named)
    with pytest.raises(DataError, match=r"class labels \['a', 'b'\], got \['b', 'a'\]; give the model that began"):
        run(tmp_path / "run", model=turned)
    assert run(tmp_path / "run", model=named).texts().equals(made.texts())


@without_checksum
@pytest.mark.slow
def test_a_run_of_the_gaussian_process_is_read_and_compared_and_not_continued(tmp_path):
    options = {
        "model": mase.models.Callable(judge, ["a", "b"], name="judge"),
        "method": "mase-mask+estimator=kernel-ridge",
    }
    made = run(tmp_path / "run", **options)
    path = tmp_path / "run" / "run.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    assert manifest["asked"]["method"]["estimator"]["name"] == "kernel-ridge"
    manifest["asked"]["method"]["estimator"]["name"] = "gaussian-process"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(DataError, match=r"gaussian-process, which version 0[.]3 replaced by kernel-ridge"):
        run(tmp_path / "run", **options)
    assert mase.open_run(tmp_path / "run").texts().equals(made.texts())
    other = run(tmp_path / "other", **options)
    assert mase.compare(mase.open_run(tmp_path / "run"), other)


@pytest.mark.parametrize(
    ("option", "value"),
    [("max_length", 6), ("keep", "end"), ("enter", "words"), ("tokenizer", "another")],
)
def test_a_run_is_not_continued_by_a_model_that_reads_texts_in_another_way(tmp_path, option, value):
    module, tokenizer = family("bert")
    model = mase.models.HuggingFace(module, tokenizer, name="tiny")
    made = run(tmp_path / "run", READ, model=model)
    if option == "tokenizer":
        tokenizer.add_tokens(["w1 w2"])
    other = mase.models.HuggingFace(
        module, tokenizer, name="tiny", **({} if option == "tokenizer" else {option: value})
    )
    with pytest.raises(DataError, match=rf"setting model\.reads\.{option}.*; repeat the command"):
        run(tmp_path / "run", READ, model=other)
    assert run(tmp_path / "new", READ, model=other).is_complete
    assert mase.open_run(tmp_path / "run").units().equals(made.units())


@without_checksum
@pytest.mark.parametrize(("table", "n_bytes"), [("texts", 40), ("units", 40), ("units", None)])
def test_a_part_that_was_copied_in_part_is_explained_again_as_the_error_says(tmp_path, expected, table, n_bytes):
    folder = tmp_path / "run"
    run(folder)
    damaged = folder / table / "part-00001.parquet"
    whole = damaged.read_bytes()
    damaged.unlink()
    if n_bytes is not None:
        damaged.write_bytes(whole[:n_bytes])
    with pytest.raises(DataError, match=r"remove '.*/texts/part-00001\.parquet'"):
        getattr(mase.open_run(folder), table)()
    (folder / "texts" / "part-00001.parquet").unlink()
    run(folder)
    assert files(folder) == expected


@pytest.mark.parametrize("what", ["tokenizer", "chat_template"])
@pytest.mark.parametrize("labels", [None, ["red", "good"]])
def test_a_run_is_not_continued_by_a_language_model_that_reads_prompts_in_another_way(tmp_path, labels, what):
    module, tokenizer = causal_model(), byte_tokenizer()

    def model():
        return mase.models.CausalLM(module, tokenizer, labels=labels, name="tiny")

    run(tmp_path / "run", READ, model=model())
    run(tmp_path / "run", READ, model=model())
    if what == "tokenizer":
        tokenizer.add_tokens(["w1 w2"])
    else:
        tokenizer.chat_template = "{{ messages[0]['content'] }}"
    with pytest.raises(DataError, match=rf"setting model\.reads\.{what}_sha256"):
        run(tmp_path / "run", READ, model=model())


@pytest.mark.parametrize("options", [{"max_length": 3}, {"keep": "end"}, {"mask_id": 2}, {"special_ids": [3]}])
def test_a_run_is_not_continued_with_other_options_of_a_torch_module(tmp_path, options):
    module, given = Wrapped(lambda z: z), {"tokenize": whitespace_ids, "unk_id": 1}
    run(tmp_path / "run", TEXTS[:2], model=mase.models.TorchModule(module, **given))
    with pytest.raises(DataError, match=r"setting model\.reads\."):
        run(tmp_path / "run", TEXTS[:2], model=mase.models.TorchModule(module, **given, **options))


def test_a_run_that_does_not_say_how_texts_are_read_is_continued(tmp_path):
    model = mase.models.HuggingFace(*family("bert"), name="tiny")
    run(tmp_path / "run", READ, model=model)
    description = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert description["asked"]["model"].pop("reads")["max_length"] == 30
    (tmp_path / "run" / "run.json").write_text(json.dumps(description), encoding="utf-8")
    (tmp_path / "run" / "texts" / "part-00000.parquet").unlink()
    assert run(tmp_path / "run", READ, model=model).is_complete


class Server:
    """A model that cannot be reached for some texts, until it can."""

    def __init__(self, absent):
        self.absent, self.asked = absent, set()

    def __call__(self, texts):
        self.asked |= {text for text in texts if text in TEXTS}
        if any(text in self.absent for text in texts):
            raise ConnectionError("no answer")
        return judge(texts)


def model_of(server):
    return mase.models.Callable(server, name=judge.__name__)


@without_checksum
@pytest.mark.parametrize("size", [1, 32])
@pytest.mark.parametrize("rows", [(0,), (5, 6), (4, 7), (3, 9, 10, 19), range(8, 12), range(1, 20)])
@pytest.mark.slow
def test_failed_texts_are_tried_again(tmp_path, expected, monkeypatch, rows, size):
    monkeypatch.setattr("mase_corpora.running.MOST_TEXTS", size)
    server = Server({TEXTS[row] for row in rows})
    made = run(tmp_path / "run", model=model_of(server))
    assert sum(count_failures(made.folder, part) for part in made.parts) == len(rows)
    server.absent, server.asked = set(), set()
    assert run(tmp_path / "run", model=model_of(server)).is_complete
    assert server.asked == set()
    made = run(tmp_path / "run", model=model_of(server), retry_failed=True)
    assert server.asked == {TEXTS[row] for row in rows}
    assert made.is_complete
    assert files(tmp_path / "run") == expected
    run(tmp_path / "run", model=model_of(server), retry_failed=True)


@without_checksum
@pytest.mark.slow
def test_texts_that_fail_again_cost_no_other(tmp_path, expected):
    server = Server({TEXTS[5], TEXTS[6]})
    run(tmp_path / "run", model=model_of(server))
    before = files(tmp_path / "run")
    run(tmp_path / "run", model=model_of(server), retry_failed=True)
    assert files(tmp_path / "run") == before
    (tmp_path / "run" / "texts" / "part-00003.parquet").unlink()
    server.absent = {TEXTS[6]}
    made = run(tmp_path / "run", model=model_of(server), retry_failed=True)
    assert [row for row, error in enumerate(made.texts()["error"].to_pylist()) if error is not None] == [6]
    server.absent = set()
    run(tmp_path / "run", model=model_of(server), retry_failed=True)
    assert files(tmp_path / "run") == expected


@without_checksum
def test_a_part_of_which_texts_were_tried_again_says_with_what_it_was_made(tmp_path, monkeypatch):
    server = Server({TEXTS[0], TEXTS[1]})
    run(tmp_path / "run", TEXTS[:4], model=model_of(server))
    more = {"model": model_of(server), "retry_failed": True, "allow_other_versions": True}
    for number in (1, 0):
        server.absent = {TEXTS[row] for row in range(number)}
        monkeypatch.setattr("mase_corpora.worker.environment", lambda _, number=number: {"cpu": f"another {number}"})
        run(tmp_path / "run", TEXTS[:4], **more)
    metadata = pq.read_schema(tmp_path / "run" / "texts" / "part-00000.parquet").metadata
    assert metadata[b"made_with"] == b'[{"cpu":"another 1"},{"cpu":"another 0"}]'


@without_checksum
def test_a_part_that_cannot_be_written_again_is_kept(tmp_path, monkeypatch):
    server = Server({TEXTS[5]})
    run(tmp_path / "run", model=model_of(server))
    before = files(tmp_path / "run")
    server.absent = set()
    with monkeypatch.context() as patch:
        patch.setattr("mase_corpora.folder.LARGEST_PART", 1)
        with pytest.raises(DataError, match="use a smaller part_size"):
            run(tmp_path / "run", model=model_of(server), retry_failed=True)
    assert files(tmp_path / "run") == before


def test_a_folder_that_is_moved_is_not_made_again(tmp_path, expected):
    old, new = tmp_path / "run", tmp_path / "moved"
    moved = threading.Event()

    def moving(texts):
        if TEXTS[12] in texts and not moved.is_set():
            while len(list((old / "texts").glob("part-*.parquet"))) < 3:
                time.sleep(0.01)
            shutil.move(old, new)
            moved.set()
        return judge(texts)

    model = mase.models.Callable(moving, name=judge.__name__)
    with pytest.raises(DataError, match="is gone, or was moved"):
        run(old, model=model)
    assert not old.exists()
    shutil.rmtree(new / "locks")  # of this process, which goes on
    with pytest.warns(UserWarning, match="no checksum"):
        run(new, model=model)
    assert files(new) == expected


def test_a_run_is_not_continued_with_another_kind_of_scores(tmp_path):
    module = SmallLSTM(classes=3)

    def run(shard, **kind):
        model = mase.models.TorchModule(
            module, tokenize=whitespace_ids, labels=["a", "b", "c"], outputs="logits", **kind
        )
        return mase.run(["a b", "c d"], tmp_path, model=model, engine="here", part_size=1, n_samples=8, shard=shard)

    run("1/2")
    with pytest.raises(DataError, match=r"model\.output\.multilabel False, got True"):
        run("2/2", multilabel=True)
    assert run("2/2").n_left == 0


@pytest.mark.parametrize("bound", [{"max_total_tokens": 600}, {"archive": "answers.jsonl"}])
def test_a_chat_model_with_bounds_has_one_worker(tmp_path, monkeypatch, bound):
    monkeypatch.chdir(tmp_path)
    chat = Chat(lambda messages: "good", labels=["good", "bad"], name="m", **bound)
    for model in (chat, mase.Explainer(chat)):
        with pytest.raises(OptionError, match=f"{next(iter(bound))}, which several worker processes cannot share"):
            mase.run(["a b"], tmp_path / "run", model=model)
    assert len(mase.run(["a b"], tmp_path / "run", model=chat, engine="here", n_samples=8)) == 1
