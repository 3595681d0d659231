"""What another package adds: a real one, installed by pip, and packages that are wrong in one way each."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

import mase
from mase.cli import main
from mase.designs import DESIGNS
from mase.errors import PluginError, UnknownNameError
from mase.links import LINKS
from mase.metrics import METRICS, OPERATORS
from mase.models import ADAPTERS, adapt
from mase.outputs import OUTPUTS, form_of
from mase.registry import Registry
from mase_serve.app import choices
from mase_serve.security import Limits
from mase_serve.worker import Settings

SOURCE = Path(__file__).parents[1] / "plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder that pip installed the package into."""
    folder = tmp_path_factory.mktemp("site")
    source = shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", folder / "site", source]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "site"


@pytest.fixture
def python(site, tmp_path):
    """Run Python in an empty folder, with the package installed."""

    def run(*arguments):
        env = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(site)])}
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


PROGRAM = """
import json, mase, sys
from mase.designs import DESIGNS
from mase.estimators import ESTIMATORS
from mase.metrics import METRICS, evaluate
from mase.outputs.formats import OutputFile
assert "mase_example_plugin" not in sys.modules
names = list(DESIGNS)
from mase.testing import check_design, check_estimator
check_design(DESIGNS["coins"]())
check_estimator(ESTIMATORS.build("block-mean(blocks=3)"), tolerance=1e-6)
from mase_example_plugin import LEXICON
found = mase.Explainer(LEXICON, method="coins-in-blocks")("a good film")
found.save("found.json")
with OutputFile("found.md") as file:
    file.add(1, found)
judged = evaluate(LEXICON, ["a good film"], ["coins-in-blocks"], metrics=["switching-point"])
print(json.dumps({
    "names": names, "scores": found.scores.tolist(), "link": found.link, "design": found.method["design"],
    "share": judged.summaries("coins-in-blocks")[0].mean, "methods": list(mase.METHODS),
}))
"""


@pytest.mark.slow
def test_every_addition_works_in_python(python, tmp_path):
    found = python("-c", PROGRAM)
    assert not found.stderr
    said = json.loads(found.stdout)
    assert said["names"] == [*DESIGNS, "coins"]
    assert said["methods"] == [*mase.METHODS, "coins-in-blocks"]
    assert said["scores"] == pytest.approx(
        [0, 6.389056, 0], abs=1e-6
    )  # e^2 - 1: the odds are e^2 with the word, else 1
    assert (said["link"], said["design"], said["share"]) == ("odds", {"name": "coins"}, pytest.approx(1 / 3))
    assert (tmp_path / "found.md").read_text() == "- 1: **good**, pos\n\n---\n"
    assert mase.load(tmp_path / "found.json").link == "odds"  # here, where the package is not installed


@pytest.mark.slow
def test_every_addition_works_in_the_command(python, tmp_path):
    model = ("-m", "mase_example_plugin:LEXICON")
    options = "--method coins-in-blocks+design=bernoulli+estimator=block-mean(blocks=2) --link logit --json -o found.md"
    found = python("-m", "mase", "explain", *model, *options.split(), "a good film", "dull, dull")
    assert found.returncode == 0, found.stderr
    one, _ = map(json.loads, found.stdout.splitlines())
    assert one["method"]["estimator"] == {"name": "block-mean", "blocks": 2}
    assert (tmp_path / "found.md").read_text().startswith("- 1: **good**, pos\n- 2:")
    (tmp_path / "in.csv").write_text("text\na good film\na dull film\n")
    options = "-i in.csv --methods coins-in-blocks --metrics switching-point --json"
    judged = python("-m", "mase", "evaluate", *model, *options.split())
    assert judged.returncode == 0, judged.stderr
    assert "switching-point" in judged.stdout
    assert "switching-point" in "".join(python("-m", "mase", "evaluate", "--help").stdout.split())
    assert "coins-in-blocks" in python("-m", "mase", "methods").stdout
    assert "block-mean" in python("-m", "mase", "methods", "coins-in-blocks").stdout


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make a package with one entry point, and put it on the search path."""

    def make(name, group, entry, code):
        folder = tmp_path / name
        info = folder / f"{name}-0.1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{entry} = {name}:ADDED\n")
        (folder / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, name, raising=False)  # that of an earlier test

    return make


def test_a_package_that_cannot_be_imported_costs_its_own_name_only(package):
    package("broken_links", "mase.links", "broken", "import no_such_module")
    assert "broken" in LINKS
    with pytest.raises(PluginError, match=r"link 'broken' of the package broken_links 0\.1 .*no_such_module"):
        LINKS["broken"]
    assert LINKS["logit"] is not None
    assert list(LINKS)[-1] == "broken"


def test_a_name_that_is_built_in_is_refused(package):
    package("greedy", "mase.designs", "iid", "ADDED = None")
    assert DESIGNS["iid"] is not None
    assert "greedy" not in sys.modules
    with pytest.raises(PluginError, match=r"the package greedy 0\.1 adds the design 'iid', which is built in"):
        list(DESIGNS)
    with pytest.raises(UnknownNameError, match="did you mean 'iid'"):
        DESIGNS["iidd"]


def test_a_name_of_two_packages_belongs_to_neither(package):
    package("first", "mase.metrics", "same", "ADDED = None")
    package("second", "mase.metrics", "same", "ADDED = None")
    assert list(METRICS).count("same") == 1
    with pytest.raises(
        PluginError, match=r"metric 'same' is added by the package first 0\.1 and the package second 0\.1"
    ):
        METRICS["same"]


WHOLE = {"summary": "Coins", "space": "token-mask", "design": "bernoulli", "estimator": "ridge"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"colour": "red"}, "keys from"),
        ({"summary": "Coins", "space": "token-mask", "estimator": "ridge"}, "no design"),
        ({"design": "bernoulli", "estimator": "ridge"}, "no space and no summary"),
        (WHOLE | {"sigma": 0.1}, "sigma"),
        (WHOLE | {"procedure": "occlusions"}, "unknown procedure 'occlusions'"),
        (WHOLE | {"n_samples": -4}, "-4"),
    ],
)
def test_a_row_that_is_no_method_names_its_package_and_costs_its_own_name_only(package, row, said):
    package("rowless", "mase.methods", "rowless", f"ADDED = {row!r}")
    with pytest.raises(PluginError, match=f"method 'rowless' of the package rowless 0.1 .*{said}"):
        mase.METHODS["rowless"]
    listed = CliRunner().invoke(main, ["methods"])
    assert listed.exit_code == 0
    assert re.search(r"^rowless +not available", listed.stdout, re.M)


def test_a_broken_data_set_does_not_hide_the_others(package):
    package("broken_data", "mase.datasets", "aaa", "import no_such_module")
    package("more_data", "mase.datasets", "zzz", "from mase_paper.datasets import DATASETS\nADDED = DATASETS['imdb']")
    listed = CliRunner().invoke(main, ["data", "list"])
    assert listed.exit_code == 0
    assert re.search(r"^aaa +not available: .*broken_data 0\.1.*no_such_module", listed.stdout, re.M)
    assert "zzz" in listed.stdout


def test_a_broken_adapter_is_passed_over_and_told_where_nothing_else_fits(package):
    package("broken_adapter", "mase.adapters", "broken", "raise RuntimeError('out of order')")
    assert adapt(lambda texts: [[0.5, 0.5]] * len(texts)).labels == ("0", "1")
    with pytest.raises(mase.MaseError, match=r"a function from texts.*broken_adapter 0\.1.*out of order"):
        adapt(3.5)


@pytest.mark.parametrize(
    "code",
    [
        "ADDED = 5",
        "class ADDED:\n    understands = 'x'\n    def __init__(self, more): ...",
        "class ADDED:\n    understands = 'x'\n    def recognises(self, model): return model.kind == 'x'",
    ],
    ids=["no class", "other arguments", "an error while it looks"],
)
def test_an_adapter_that_fails_is_passed_over_and_told_where_nothing_else_fits(package, code):
    package("failing_adapter", "mase.adapters", "failing", code)
    assert adapt(lambda texts: [[0.5, 0.5]] * len(texts)).labels == ("0", "1")
    with pytest.raises(mase.MaseError, match=r"adapter 'failing' of the package failing_adapter 0\.1 fails"):
        adapt(3.5)


def test_an_error_of_a_built_in_adapter_is_not_hidden(monkeypatch):
    monkeypatch.setattr("mase.models.open.FunctionAdapter.recognises", lambda self, model: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        adapt(3.5)


def test_a_broken_method_does_not_hide_the_others(package):
    package("broken_method", "mase.methods", "broken", "import no_such_module")
    lines = CliRunner().invoke(main, ["methods"]).stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(mase.METHODS)
    assert re.match(r"broken +not available: .* broken_method 0\.1 .*no_such_module", lines[-1])


@pytest.mark.parametrize(
    ("group", "name"),
    [("mase.designs", "focused"), ("mase.estimators", "ridge"), ("mase.links", "logit"), ("mase.outputs", "csv"),
     ("mase.units", "word"), ("mase.metrics", "insertion"), ("mase.methods", "mase"), ("mase.engines", "local")],
)  # fmt: skip
@pytest.mark.slow
def test_a_package_that_takes_a_built_in_name_does_not_stop_the_command(package, group, name):
    package("greedy", group, name, "raise SystemExit")
    program = (
        "import sys; from click.testing import CliRunner; from mase.cli import main; "
        "from mase_serve.app import choices; from mase_serve.security import Limits; choices([], [], Limits()); "
        "sys.exit(any(CliRunner().invoke(main, [verb, '--help']).exit_code for verb in sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "explain", "run", "evaluate", "cite"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command, env=env, check=True)


def test_a_link_that_the_browser_offers_can_be_asked_for(package):
    package("own_link", "mase.links", "own", "ADDED = None")
    links = choices([], [], Limits())["links"]
    assert links[-1] == "own"
    assert [msgspec.convert({"link": link}, Settings).link for link in links] == links


def test_suffixes_are_those_of_all_outputs(package):
    package("tabular", "mase.outputs", "xlsx", "ADDED = None")
    assert form_of("found.XLSX") == "xlsx"


@pytest.mark.parametrize("registry", [ADAPTERS, DESIGNS, LINKS, mase.METHODS, METRICS, OPERATORS, OUTPUTS])
def test_names_without_packages_are_the_built_in_ones(registry):
    assert isinstance(registry, Registry)
    assert registry.added == ()
    assert list(registry) == list(registry.entries)


VERB = "import click\nADDED = click.Command('added', short_help='Added.', callback=lambda: print('it runs'))"


def called(*arguments):
    found = CliRunner().invoke(main, arguments)
    assert found.exception is None or isinstance(found.exception, SystemExit)
    return found.exit_code, " ".join(found.output.split())


def test_a_verb_of_a_package_runs(package):
    package("verbose", "mase.commands", "added", VERB)
    assert called("added") == (0, "it runs")
    assert "added Added." in called("--help")[1]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import no_such_module", "no_such_module"), ("raise SystemExit(3)", "SystemExit"),
        ("ADDED = 'no command'", "expected a click command"),
    ],
)  # fmt: skip
def test_a_broken_verb_costs_itself_only(package, code, reason):
    package("broken_verb", "mase.commands", "broken", code)
    package("verbose_too", "mase.commands", "added", VERB)
    status, text = called("--help")
    assert status == 0
    assert "explain Score the words" in text
    assert "added Added." in text
    assert re.search(r"broken Not available: .*package broken_verb 0\.1.*" + reason, text)
    for arguments in ((), ("--help",), ("any", "--thing")):
        found = CliRunner().invoke(main, ["broken", *arguments])
        assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (1, "", 1)
        assert "package broken_verb 0.1" in found.stderr
        assert reason in found.stderr
    assert called("added") == (0, "it runs")


def test_a_verb_of_two_packages_belongs_to_neither(package):
    package("first_verb", "mase.commands", "twice", VERB)
    package("second_verb", "mase.commands", "twice", VERB)
    both = "is added by the package first_verb 0.1 and the package second_verb 0.1"
    assert both in called("--help")[1]
    status, text = called("twice")
    assert status == 1
    assert both in text


def test_a_verb_that_is_built_in_is_not_replaced_and_the_help_says_so(package):
    package("greedy_verb", "mase.commands", "models", VERB)
    status, text = called("--help")
    assert status == 0
    assert "the package greedy_verb 0.1 adds the command 'models', which is built in" in text
    assert "lstm-imdb" in called("models")[1]


def test_a_damaged_list_of_entry_points_names_its_package(package, tmp_path):
    package("damaged", "mase.links", "broken", "")
    (tmp_path / "damaged" / "damaged-0.1.dist-info" / "entry_points.txt").write_text("[console_scripts]\nno sign\n")
    with pytest.raises(PluginError, match=r"entry_points\.txt of the package damaged 0\.1 .*reinstall or uninstall"):
        list(LINKS)
