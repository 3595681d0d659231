"""The command where only the core dependencies are installed, and models in code that the user names."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

MISSING = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "huggingface_hub",
    "captum",
    "lightgbm",
    "pandas",
    "sklearn",
    "pyarrow",
    "starlette",
    "uvicorn",
    "anywidget",
    "duckdb",
    "keras",
    "onnxruntime",
    "matplotlib",
)
# As if these were not installed: nothing finds them, whether it imports them or only asks.
PLAIN = f"""
import sys

class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {MISSING!r} else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""
RUN = (
    PLAIN
    + """
from mase.cli import main
main(sys.argv[1:], prog_name="mase")
"""
)
# Many commands in one process, which is started once.
MANY = (
    PLAIN
    + """
import json
from click.testing import CliRunner
from mase.cli import main
for name, arguments in json.load(sys.stdin).items():
    found = CliRunner().invoke(main, arguments)
    assert found.exception is None or isinstance(found.exception, SystemExit), (name, found.exception)
    print(json.dumps([name, found.exit_code, found.stdout, found.stderr]))
"""
)

BOX = """
from beside import DULL

def predict(texts):
    return [[0.9, 0.1] if DULL in text else [0.2, 0.8] for text in texts]

class Judge:
    classes_ = ["neg", "pos"]
    def fit(self, texts, labels):
        return self
    def predict(self, texts):
        return [self.classes_[row.index(max(row))] for row in self.predict_proba(texts)]
    def predict_proba(self, texts):
        return predict(texts)

class Distances(Judge):
    predict_proba = None

judge, distances, three = Judge(), Distances(), 3
"""
ADAPTER = """
import mase

def score(texts):
    return [text.count("good") - text.count("dull") + 0.5 for text in texts]

model = mase.models.Callable(score, labels=["pos"], outputs="logits", name="counts")
"""
FILES = {
    "boxes/box.py": BOX,
    "boxes/beside.py": 'DULL = "dull"\n',
    "package/__init__.py": "",
    "package/inner.py": BOX.replace("from beside", "from package.beside"),
    "package/beside.py": 'DULL = "dull"\n',
    "adapter.py": ADAPTER,
    "lacking.py": "import a_module_that_nobody_has\n",
    "broken.py": "def predict(texts:\n",
    "failing.py": "x = 1\n\nx / 0\n",
    "leaving.py": "import sys\nsys.exit(0)\n",
    "own.py": "import mase\nmodel = mase.models.Callable(len, labels=[])\n",
    "asking.py": "word = input()\n",
    "raising.py": "def predict(texts):\n    raise ValueError('one\\ntwo')\n",
    "texts.csv": "text,label\na dull film,0\na good film,1\nso it goes,1\n",
    "named.csv": "text,label\na dull film,neg\na good film,pos\nso it goes,pos\n",
}
TEXT, FEW = "a dull film", ["--n-samples", "16"]
SPLITS = ["--metrics", "delta-accuracy", "--methods", "occlusion,random", "--json"]
WORKING = {
    "file": ["explain", "-m", "boxes/box.py:predict", TEXT, "--json", *FEW],
    "module": ["explain", "-m", "package.inner:predict", TEXT, "--json", *FEW],
    "attribute": ["explain", "-m", "package.inner:judge.predict_proba", TEXT, "--json", *FEW],
    "estimator": ["explain", "-m", "boxes/box.py:judge", TEXT, "--target", "neg", "--json", *FEW],
    "adapter": ["explain", "-m", "adapter:model", TEXT, "--target", "not pos", "--json", *FEW],
    "lime": ["explain", "-m", "boxes/box.py:predict", TEXT, "--method", "lime", "--json", *FEW],
    "page": ["explain", "-m", "boxes/box.py:predict", TEXT, "--html", "page.html", *FEW],
    "evaluate": ["evaluate", "-m", "boxes/box.py:predict", "-i", "texts.csv", *SPLITS],
    "evaluate estimator": ["evaluate", "-m", "boxes/box.py:judge", "-i", "named.csv", *SPLITS],
    "models": ["models"],
    "one model": ["models", "lstm-imdb"],
    "methods": ["methods"],
    "one method": ["methods", "mase"],
    "data": ["data", "list"],
    "explain help": ["explain", "--help"],
    "evaluate help": ["evaluate", "--help"],
    "serve help": ["serve", "--help"],
}
# What is told of commands that cannot work.
FAILING = {
    "bundled": (["explain", TEXT], "mase-xai[torch]"),
    "bundled BERT": (["explain", "-m", "bert-imdb", TEXT], "mase-xai[hf]"),
    "hub": (["explain", "-m", "owner/name", TEXT], "mase-xai[hf]"),
    "evaluate bundled": (["evaluate", "-i", "texts.csv"], "mase-xai[torch]"),
    "run": (["run", "texts.csv", "-o", "run", "-m", "boxes/box.py:predict"], "mase-xai[corpora]"),
    "dry run": (["run", "texts.csv", "--dry-run", "-m", "boxes/box.py:predict"], "mase-xai[corpora]"),
    "status": (["status", "run"], "mase-xai[corpora]"),
    "summary": (["summary", "run"], "mase-xai[corpora]"),
    "compare": (["compare", "run", "run"], "mase-xai[corpora]"),
    "serve": (["serve", "--no-browser"], "mase-xai[serve]"),
    "threads": (["explain", "-m", "boxes/box.py:predict", "--threads", "1", TEXT], "mase-xai[torch]"),
    "embeddings": (["explain", "-m", "boxes/box.py:predict", "--method", "mase-paper", TEXT], "boxes/box.py:predict"),
    "no module": (["explain", "-m", "nowhere:predict", TEXT], "nowhere:predict"),
    "no module in a package": (["explain", "-m", "package.nowhere:predict", TEXT], "package.nowhere"),
    "no file": (["explain", "-m", "nowhere.py:predict", TEXT], "nowhere.py"),
    "no file on a drive": (["explain", "-m", "C:\\boxes\\box.py:predict", TEXT], "'C:\\\\boxes\\\\box.py'"),
    "no name": (["explain", "-m", "boxes/box.py:predikt", TEXT], "'predict'"),
    "nothing named": (["explain", "-m", "boxes/box.py", TEXT], "boxes/box.py"),
    "nothing after the colon": (["explain", "-m", "boxes/box.py:", TEXT], "boxes/box.py:"),
    "no model": (["explain", "-m", "boxes/box.py:three", TEXT], "boxes/box.py:three"),
    "a class": (["explain", "-m", "boxes/box.py:Judge", TEXT], "Judge"),
    "no probabilities": (["explain", "-m", "boxes/box.py:distances", TEXT], "predict_proba"),
    "class numbers": (["evaluate", "-m", "boxes/box.py:judge.predict", "-i", "texts.csv"], "predict_proba"),
    "an import that is missing": (["explain", "-m", "lacking.py:predict", TEXT], "a_module_that_nobody_has"),
    "a missing import of a module": (["explain", "-m", "lacking:predict", TEXT], "lacking.py, line 1"),
    "broken code": (["explain", "-m", "broken.py:predict", TEXT], "line 1"),
    "failing code": (["explain", "-m", "failing.py:predict", TEXT], "line 3"),
    "leaving code": (["explain", "-m", "leaving.py:predict", TEXT], "SystemExit"),
    "asking code": (["explain", "-m", "asking.py:word", TEXT], "EOFError"),
    "an adapter that is wrong": (["explain", "-m", "own.py:model", TEXT], "labels"),
    "a function that raises": (["explain", "-m", "raising.py:predict", TEXT], "ValueError: one two"),
    "neither": (["explain", "-m", "lstm-imdb:predict", TEXT], "lstm-imdb:predict"),
    "unknown": (["explain", "-m", "lstm-imbd", TEXT], "lstm-imdb"),
}
if find_spec("mase_paper") is not None:
    FAILING |= {
        "reproduce": (["reproduce", "table1", "--n-texts", "1", "-o", "results"], "mase-xai[torch]"),
        "train": (["train", "lstm-imdb"], "mase-xai[torch]"),
    }
# Usage errors, by the option.
USELESS = {
    option[0]: ["explain", "-m", "adapter:model", *option, TEXT] for option in (["--device", "cpu"], ["--download"])
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("work")
    for name, content in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(content)
    return place


def python(code, *arguments, folder, **settings):
    """Run code in the folder, which Python does not search by itself (-P), as for the script `mase`."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # as users have it
    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, **settings)


@pytest.fixture(scope="module")
def plain(folder):
    """Exit code, standard output and standard error of every command, by its name."""
    commands = WORKING | USELESS | {name: arguments for name, (arguments, _) in FAILING.items()}
    found = python(MANY, folder=folder, input=json.dumps(commands), check=False)
    assert found.returncode == 0, found.stderr
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    return {name: (code, output, errors) for name, code, output, errors in rows}


@pytest.mark.parametrize("name", WORKING)
@pytest.mark.slow
def test_what_a_plain_install_can_do(name, plain):
    code, output, errors = plain[name]
    assert (code, "error" in errors) == (0, False), errors
    assert output or name == "page"


@pytest.mark.parametrize("name", ["file", "module", "attribute", "estimator", "adapter", "lime"])
def test_a_black_box_is_explained_without_torch(name, plain):
    found = json.loads(plain[name][1])
    (response,) = found["responses"]
    assert response["name"] in ("0", "neg", "not pos")
    assert found["units"][response["order"][0]]["text"] == "dull"
    assert found["model"]["name"] == ("counts" if name == "adapter" else WORKING[name][2])


def test_a_black_box_is_judged_without_torch(plain, folder):
    assert json.loads(plain["evaluate"][1])["n_texts"] == json.loads(plain["evaluate estimator"][1])["n_texts"] == 3
    assert "<html" in (folder / "page.html").read_text()


@pytest.mark.parametrize("name", FAILING)
def test_what_cannot_work_is_one_line_that_says_why(name, plain):
    code, output, errors = plain[name]
    told = [line for line in errors.splitlines() if line.startswith("mase: error:")]
    assert (code, output, len(told)) == (1, "", len(errors.splitlines())), errors
    assert FAILING[name][1] in told[0]


def test_the_blocked_packages_are_missing_there(folder):
    code = (
        PLAIN
        + f"""
from importlib.util import find_spec
assert [find_spec(name) for name in {MISSING!r}] == [None] * {len(MISSING)}
try:
    import torch
except ModuleNotFoundError:
    print("missing")
"""
    )
    assert python(code, folder=folder, check=True).stdout == "missing\n"


def test_the_working_directory_is_not_searched_by_python_itself(folder):
    assert python("import package", folder=folder, check=False).returncode == 1


@pytest.mark.parametrize("name", USELESS)
def test_options_that_code_has_no_use_for(name, plain):
    code, output, errors = plain[name]
    assert (code, output) == (2, "")
    assert name in errors


# --- standard streams -----------------------------------------------------------------------------------------------

NOISY = """
import os, subprocess, sys

def shout(what):
    print("printed", what)
    sys.stdout.write("written\\n")
    sys.__stdout__.write("kept\\n")
    os.write(1, b"descriptor\\n")
    subprocess.run(["cat"], check=True)
    subprocess.run(["echo", "child"], check=True)
    assert sys.stdin.read() == ""
    assert os.read(0, 10) == b""

shout("import")

def predict(texts):
    shout("asked")
    return [[0.9, 0.1] if "dull" in text else [0.2, 0.8] for text in texts]
"""


WRITING = """
import os, subprocess
from contextlib import suppress

def predict(texts):
    print("printed")
    for descriptor in (0, 1, 2):
        with suppress(OSError):
            os.write(descriptor, b"written")
    subprocess.run("echo child; echo child >&2", shell=True)
    return [[0.9, 0.1] if "dull" in text else [0.2, 0.8] for text in texts]
"""


@pytest.fixture(scope="module")
def noisy(folder):
    (folder / "noisy.py").write_text(NOISY)
    return folder


@pytest.mark.slow
def test_what_code_prints_goes_to_standard_error_and_it_reads_no_texts(noisy):
    texts = "".join(f"a dull film number {i}\n" for i in range(5))
    found = python(RUN, "explain", "-m", "noisy.py:predict", "--json", *FEW, folder=noisy, input=texts, check=True)
    assert [json.loads(line)["document"][0]["text"] for line in found.stdout.splitlines()] == texts.splitlines()
    for said in ("printed import", "printed asked", "written", "kept", "descriptor", "child"):
        assert said in found.stderr.splitlines()


@pytest.mark.slow
def test_judging_keeps_standard_output_for_results_too(noisy):
    arguments = ["evaluate", "-m", "noisy:predict", "-i", "texts.csv", *SPLITS]
    found = python(RUN, *arguments, folder=noisy, input="not to be read\n", check=True)
    assert json.loads(found.stdout)["n_texts"] == 3
    assert "printed asked" in found.stderr
    assert "not to be read" not in found.stderr


@pytest.mark.skipif(os.name != "posix", reason="the shell closes the streams")
@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-"])
@pytest.mark.slow
def test_streams_that_the_caller_closed(closed, folder):
    """A file that is opened then has the number of a closed stream, and is no place for what code writes to that."""
    (folder / "writing.py").write_text(WRITING)
    output = folder / "closed.jsonl"
    output.unlink(missing_ok=True)
    options = "-m writing.py:predict -q -o closed.jsonl --n-samples 16"
    line = f'exec "$0" -P -c "$1" explain {options} "{TEXT}" good dull {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, RUN], cwd=folder, capture_output=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(row)["document"][0]["text"] for row in output.read_text().splitlines()] == [TEXT, "good", "dull"]


@pytest.mark.slow
def test_help_describes_what_can_be_imported():
    packages = "mase, mase_corpora, mase.models, mase.testing"
    code = f"{PLAIN}\nimport pydoc, {packages}\nfor one in ({packages}):\n    pydoc.render_doc(one)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
