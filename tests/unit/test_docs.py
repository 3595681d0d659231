"""The documents name what exists: objects, tests, files, commands with their options, methods; and all of the paper."""

import ast
import csv
import doctest
import importlib
import io
import re
import shlex
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import click
import pytest
from rich.console import Console
from tests.unit.test_architecture import registries

import mase
from mase.cli import main
from mase.errors import MissingDependencyError
from mase.methods import METHODS, resolve
from mase.metrics import METRICS
from mase.render.terminal import heat_map

ROOT = Path(__file__).parents[2]
if not (ROOT / "experiments").is_dir():
    pytest.skip("the documents speak of the whole repository", allow_module_level=True)
README = ROOT / "README.md"
METHODS_PAGE = ROOT / "docs" / "methods.md"
DOCUMENTS = sorted(
    [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "benchmarks/README.md")),
    ]
)
PAPER = ROOT / "docs" / "paper.md"
# Labels of arXiv 2512.04386v1, in its order (it gives tab:performance2 twice).
LABELS = (
    "fig:FrameMASE", "def:MASE", "eq:definition_1", "fig:NLGP", "def:GIP", "theorem:1", "eq:lemma1", "def:infidelity",
    "th:connectIG", "eq:optimal_explanation", "def:MASE_Sparse", "eq:definition_2", "eqn:lp", "alg:MASE",
    "eq:definition_3",
    "tab:dataset_stats", "eq:delta", "tab:performance1", "tab:performance2", "fig:result_nlp",
)  # fmt: skip
# What the paper states without a label.
UNLABELLED = (
    "Saliency", "The set M", "SmoothGrad form", "Property: local accuracy", "Property: missingness",
    "Property: consistency",
    "Proposition: LIME", "Proposition: Kernel SHAP", "Proposition: completeness", "Proposition: occlusion",
)  # fmt: skip

_OBJECT = re.compile(r"\bmase(?:_paper)?(?:\.\w+)*:\w+(?:\.\w+)*")
_TEST = re.compile(r"\b(?:paper/)?tests/[\w/]+\.py::\w+")
_FILE = re.compile(r"`((?:src|tests|paper|docs|benchmarks)/[\w./-]+\.\w+)`")
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
_SCHEMA = re.compile(r"\bmase\.[a-z_]+/(?:\d+|N)\b")
_MODULE = re.compile(r"`(mase(?:_paper)?(?:\.\w+)+)`")


def resolves(reference: str) -> bool:
    """Return whether `mase.module:name.attribute` can be imported (fields of slotted dataclasses are attributes)."""
    module, _, path = reference.partition(":")
    try:
        found = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except MissingDependencyError:  # a name that is there once its package is
        return True
    except (ImportError, AttributeError):
        return False
    return True


def dotted_name_resolves(name: str) -> bool:
    """Return whether a dotted name is a module, or something inside of one."""
    parts = name.split(".")
    cuts = range(len(parts), 0, -1)
    return any(resolves(f"{'.'.join(parts[:cut])}:{'.'.join(parts[cut:]) or '__name__'}") for cut in cuts)


@cache
def groups() -> frozenset[str]:
    """Return the groups of entry points by which other packages add to the library."""
    found = (getattr(importlib.import_module(module), name).group for module, name in registries())
    return frozenset(filter(None, found))


@cache
def schemas() -> frozenset[str]:
    """Return the schemas that a constant of a module names, as in `SCHEMA = "mase.attribution/2"`."""
    return frozenset(
        node.value.value
        for folder in ("src", "paper/src")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if _SCHEMA.fullmatch(node.value.value)
    )


def unknown_schemas(document: str) -> list[str]:
    """Return the schemas that a document names and no constant does; `mase.attribution/N` is one of any number."""
    known = schemas() | {f"{name.partition('/')[0]}/N" for name in schemas()}
    return [name for name in _SCHEMA.findall(document) if name not in known]


@cache
def defined(path: str) -> frozenset[str]:
    """Return the names of the functions of a test file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def check_test(reference: str) -> None:
    """Check that a test function is defined in its file."""
    path, _, name = reference.partition("::")
    assert (ROOT / path).is_file(), f"{path} does not exist"
    assert name in defined(path), f"{path} has no {name}"


def text(path: Path) -> str:
    """Return a document without its diagrams and the registry lines that it proposes."""
    return re.sub(r"^```text\n.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def wrong(found) -> dict[str, list]:
    """Return what a rule finds in the documents, by their paths, without those in which it finds nothing."""
    by_path = {path.relative_to(ROOT).as_posix(): found(path) for path in DOCUMENTS}
    return {name: some for name, some in by_path.items() if some}


def test_the_page_of_packages_has_a_row_for_every_group():
    page = text(ROOT / "docs" / "adding" / "plugin.md")
    assert set(re.findall(r"^\| `(mase\.\w+)` \|", page, re.MULTILINE)) == groups()


# Decisions and the changelog name what was there at their time.
@pytest.mark.filterwarnings("ignore:.* is deprecated since 0.3:DeprecationWarning")
def test_named_objects_exist():
    assert wrong(lambda path: [name for name in _OBJECT.findall(text(path)) if not resolves(name)]) == {}
    assert wrong(lambda path: [name for name in _MODULE.findall(text(path)) if not known_module(name)]) == {}


def known_module(name: str) -> bool:
    return name in groups() or dotted_name_resolves(name)


@pytest.mark.slow
def test_named_schemas_exist():
    assert wrong(lambda path: unknown_schemas(text(path))) == {}


@pytest.mark.slow
def test_named_tests_exist():
    for path in DOCUMENTS:
        for reference in _TEST.findall(text(path)):
            check_test(reference)


def test_named_files_and_links_exist():
    assert wrong(lambda path: [name for name in _FILE.findall(text(path)) if not (ROOT / name).exists()]) == {}
    assert wrong(lambda path: [link for link in _LINK.findall(text(path)) if not (path.parent / link).exists()]) == {}


def test_no_address_of_a_repository_that_does_not_exist():
    assert wrong(lambda path: re.findall(r"github\.com/mase-xai\S*", text(path))) == {}


def test_documents_are_short():
    def words(path):
        return len(path.read_text(encoding="utf-8").split())

    assert words(README) <= 700
    assert sum(map(words, (ROOT / "docs").rglob("*.md"))) <= 50_000
    releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert [release.split("\n")[0] for release in releases if len(release.split()) > 600] == []


@pytest.mark.slow
def test_every_warning_of_a_result_is_explained():
    """Codes of `Note("code", ...)` anywhere in the package."""
    page = text(ROOT / "docs" / "how_it_works.md")
    calls = [
        node
        for path in (ROOT / "src" / "mase").rglob("*.py")
        if "Note" in text(path)  # parsing takes longer than reading
        for node in ast.walk(ast.parse(text(path)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Note" and node.args
    ]
    codes = {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}
    assert len(codes) > 5
    assert not [code for code in codes if f"`{code}`" not in page]


def test_no_path_of_one_machine():
    place = re.compile(r"(?:^|[\s`(\"'])(?:/work|/root|/home|/tmp|/Users)\b", re.MULTILINE)
    assert wrong(lambda path: place.findall(text(path))) == {}


def test_wrong_names_are_found():
    named = "mase.failure/N mase.error/N mase.error/1 mase.error/7 mase.attribution/1 mase.records/1"
    assert unknown_schemas(named) == ["mase.failure/N", "mase.error/7"]
    assert resolves("mase.estimators.linear:Moment.fit")
    assert dotted_name_resolves("mase.estimators")
    assert dotted_name_resolves("mase.METHODS")
    assert not resolves("mase.estimators.linear:Momentum")
    assert not resolves("mase.estimators.momentum:Moment")
    assert not resolves("mase.estimators.linear:Moment.refit")
    assert not dotted_name_resolves("mase.METHOD")
    with pytest.raises(AssertionError, match="has no test_nothing"):
        check_test("tests/unit/test_docs.py::test_nothing")
    with pytest.raises(AssertionError, match="does not exist"):
        check_test("tests/unit/test_nothing.py::test_docs")


def sections() -> dict[str, str]:
    """Return the body of every `###` section of docs/paper.md by its title."""
    found = re.split(r"^### (.+)$", text(PAPER), flags=re.MULTILINE)
    return dict(zip(found[1::2], (body.split("\n## ")[0] for body in found[2::2]), strict=True))


@pytest.mark.pages
def test_every_statement_of_the_paper_has_a_section():
    for item in (*LABELS, *UNLABELLED):
        assert sum(f"`{item}`" in title or title.startswith(item) for title in sections()) == 1, item


@pytest.mark.pages
def test_every_section_names_function_and_test_or_says_that_there_is_none():
    for title, body in sections().items():
        tested = _OBJECT.search(body) and (_TEST.search(body) or ">>>" in body)
        assert tested or "Not in this version" in body, title


@pytest.mark.pages
def test_every_requirement_is_answered():
    assert not [number for number in range(1, 37) if not re.search(rf"\bR{number}\b", text(PAPER))]


def commands(path: Path) -> list[list[str]]:
    """Return the arguments of every command `mase ...` in the shell blocks of a document."""
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [re.sub(r"^(\$ )?(\.venv/bin/)?", "", line) for block in blocks for line in block.splitlines()]
    parts = [part for line in lines for part in re.split(r" && | \| | > ", line)]
    return [shlex.split(part, comments=True)[1:] for part in parts if part.startswith("mase ")]


def verb_and_options(arguments: list[str]) -> tuple[click.Command, dict[str, str]]:
    """Return the verb of a command and its options with their values; unknown ones raise."""
    context = click.Context(main, info_name="mase", **main.context_settings)
    _, command, rest = main.resolve_command(context, list(arguments))
    if isinstance(command, click.Group):
        _, command, rest = command.resolve_command(context, rest)
    parsed, _, _ = command.make_parser(context).parse_args(args=list(rest))
    return command, {name: value for name, value in parsed.items() if isinstance(value, str)}


COMMANDS = [arguments for path in DOCUMENTS for arguments in commands(path)]


def test_commands_are_what_the_command_takes():
    for arguments in COMMANDS:
        _, given = verb_and_options(arguments)
        named = [given["method"]] if "method" in given else given.get("methods", "").split(",")
        for name in filter(None, named):
            assert name.partition("+")[0] in METHODS, arguments
        for name in filter(None, given.get("metrics", "").split(",")):
            assert name in METRICS, arguments
        resolve("mase-nlgp", **{part: given[part] for part in ("design", "estimator") if part in given})


def test_files_that_commands_read_are_in_the_repository():
    read = [file for words in commands(README) for option, file in pairwise(words) if option in ("-i", "--input")]
    assert read
    assert [name for name in read if not (ROOT / name).exists()] == []


def test_wrong_commands_are_found():
    assert len(COMMANDS) > 10
    with pytest.raises(click.NoSuchOption):
        verb_and_options(["explain", "--methods", "mase"])
    with pytest.raises(click.UsageError):
        verb_and_options(["explained"])


@pytest.mark.pages
def test_the_page_of_methods_lists_each_once():
    table = re.search(
        r"^\| method \| what it does \|\n\|---\|---\|\n(.*?)\n\n",
        METHODS_PAGE.read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )[1]
    named = [name for row in table.splitlines() for name in re.findall(r"`([\w-]+)`", row.split("|")[1])]
    assert len(named) == len(set(named))
    assert set(named) == set(METHODS)


def test_the_first_page_shows_what_the_command_prints():
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    review, shown = re.search(r'^\$ mase explain "([^"]+)"\n(.*?)^```$', page, re.MULTILINE | re.DOTALL).groups()
    stream = io.StringIO()
    Console(file=stream, width=80, color_system=None, _environ={}).print(heat_map(mase.explain(review, evidence=5)))
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(shown, stream.getvalue(), options)


@pytest.mark.pages
def test_measured_rows_stand_in_a_page_of_results():
    """No figure is typed: each row between the marks stands in a page that a script wrote."""
    written = {line for path in (ROOT / "experiments").rglob("*.md") for line in text(path).splitlines()}
    for page in ("README.md", "docs/results.md"):
        blocks = re.findall(r"<!-- rows:begin -->\n(.*?)<!-- rows:end -->", text(ROOT / page), re.DOTALL)
        rows = [line for block in blocks for line in block.splitlines() if line.startswith("|")]
        assert len(rows) >= 5, page
        assert [row for row in rows if row not in written] == [], page


def refreshed(root: Path, block: str, page: str) -> subprocess.CompletedProcess[str]:
    """Run experiments/refresh.py below `root`, where README.md quotes `block` and one page has tables."""
    path = root / "experiments" / "eighth-confirmation" / "confirmation.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    (root / "experiments" / "large").mkdir(exist_ok=True)
    (root / "experiments" / "large" / "large.md").write_text("", encoding="utf-8")
    (root / "docs").mkdir(exist_ok=True)
    (root / "docs" / "results.md").write_text("", encoding="utf-8")
    (root / "README.md").write_text(f"<!-- rows:begin -->\n{block}<!-- rows:end -->\n", encoding="utf-8")
    command = [sys.executable, ROOT / "experiments" / "refresh.py", root]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.pages
def test_quoted_rows_are_replaced_by_those_of_the_same_table(tmp_path):
    head = "| m | k |\n|---|---|\n"
    page = f"# P\n\n## A (`x`)\n\n40 texts.\n\n{head}| `a`<br>b | 5 |\n| c (2,000) | 6 |\n\n## B\n\nOne text\n\n{head}"
    page += f"| c<br>9 texts | 7 |\n\n## C\n\n{head}| c | 8 |\n\ntwice\n\n"
    page += f"{head}| c | 9 |\n\n{head.replace('m', 'n')}| c | 4 |\n"
    # The same row stands in both tables, and each gets its own.
    block = f"**A (`x`)**, 3\ntexts.\n\n{head}| c | 1 |\n\n**B**, 0 texts\n\n{head}| c | 1 |\n"
    fresh = f"**A (`x`)**, 40 texts.\n\n{head}| c (2,000) | 6 |\n\n**B**, one text\n\n{head}| c<br>9 texts | 7 |\n"
    other = head.replace("m", "n")
    for before, after in ((block, fresh), (f"{other}| c | 1 |\n", f"{other}| c | 4 |\n")):
        assert refreshed(tmp_path, before, page).returncode == 0
        assert after in (tmp_path / "README.md").read_text(encoding="utf-8")
    for wrong in (
        block.replace("c | 1", "d | 1"),
        block.replace("| m | k |", "| m | n |"),
        f"**C**\n\n{head}| c | 1 |\n",
        f"{head}| c | 1 |\n",
    ):
        assert refreshed(tmp_path, wrong, page).returncode == 1
        assert wrong in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_example_tables_hold_the_example_texts():
    with (ROOT / "examples/reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == (ROOT / "examples/reviews.txt").read_text(encoding="utf-8").splitlines()
    assert {row["label"] for row in rows} == {"neg", "pos"}


@pytest.mark.pages
def test_accuracies_are_those_of_the_cards():
    page = METHODS_PAGE.read_text(encoding="utf-8")
    for name in ("lstm-imdb", "lstm-reuters", "bert-imdb", "bert-reuters", "mpnet-imdb", "mpnet-reuters"):
        card = (ROOT / "src/mase/models/bundled" / name / "README.md").read_text(encoding="utf-8")
        (row,) = [line for line in page.splitlines() if line.startswith(f"| [`{name}`]")]
        (stated,) = re.findall(r"([0-9.]+) % of ([0-9,]+)", row)
        assert re.search(rf"^\| test, .* \| {stated[0]} % ", card, re.MULTILINE)
        assert f"| {stated[1]} |" in card


@pytest.mark.pages
def test_costs_are_those_of_the_committed_benchmark():
    measured = (ROOT / "benchmarks/results/fast_models.md").read_text(encoding="utf-8")
    stated = re.findall(r"\| ([0-9.]+ \| [0-9.]+) \|$", METHODS_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(stated) == 6
    assert [row for row in stated if f"| {row} |" not in measured] == []
