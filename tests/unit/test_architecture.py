"""The architecture, checked on the syntax trees of both packages.

Imports point one way, and each framework is imported only by the modules that own it.

A new design, estimator, space, model or any other file in an existing folder needs no edit here. A new folder or a new
module beside `explainer.py` takes its place in `LAYERS`.
"""

import ast
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import mase
from mase.errors import MissingDependencyError
from mase.registry import Registry

ROOT = Path(__file__).parents[2]
SOURCE = Path(mase.__file__).parent
# The sister package is beside this one in the repository, and not in the library's own source distribution.
SISTERS = ("mase_corpora", "mase_serve")
SOURCES = {
    "mase": SOURCE,
    **{name: SOURCE.parent / name for name in SISTERS},
    "mase_paper": ROOT / "paper" / "src" / "mase_paper",
}

# Imports point upwards in this list: a unit may import itself and units of earlier floors, never a neighbour. A unit is
# a module or a folder of src/mase, a sister package, or a part of mase_paper.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "platforms"}),
    frozenset({"defaults"}),
    frozenset({"arrays", "document", "files", "provenance", "registry"}),
    frozenset({"links", "rng", "spaces", "statistics", "target", "text"}),
    frozenset({"attribution", "responses", "sources", "units"}),
    frozenset({"models", "render"}),
    frozenset({"outputs", "solve"}),
    frozenset({"designs", "estimators", "evidence", "procedures", "progress"}),
    frozenset({"methods"}),
    frozenset({"options", "pipeline"}),
    frozenset({"windows"}),
    frozenset({"long_texts"}),
    frozenset({"explainer"}),
    frozenset({"conversations"}),
    frozenset({"checking", "citing", "metrics", "notebook"}),
    frozenset({"testing"}),
    frozenset({"mase"}),  # the package itself: all names of the public API
    frozenset({"cli"}),
    frozenset({"__main__", "mase_corpora"}),
    frozenset({"mase_serve"}),
    frozenset({"mase_paper.datasets"}),
    frozenset({"mase_paper.models"}),
    frozenset({"mase_paper.experiments", "mase_paper.training"}),
    frozenset({"mase_paper.cli"}),
    frozenset({"mase_paper"}),
)
# Against the arrows, and only inside a function: methods of results that hand them to a renderer or a writer.
SHOW_THEMSELVES = frozenset(
    {
        ("mase.attribution.attribution", "mase.attribution.json"),
        ("mase.attribution.attribution", "mase.outputs.formats"),
        ("mase.attribution.attribution", "mase.render.figure"),
        ("mase.attribution.attribution", "mase.render.html"),
        ("mase.attribution.attribution", "mase.render.terminal"),
        ("mase_corpora.summary", "mase_corpora.report"),
    }
)
LAZY_EXCEPTIONS = frozenset({("mase.attribution.attribution", "outputs"), ("mase.attribution.attribution", "render")})
# The only places, as prefixes of module names, that may import a framework, lazily or not.
FRAMEWORKS: dict[str, tuple[str, ...]] = {
    "torch": ("mase.models", "mase.testing.modules", "mase_paper.models", "mase_paper.training"),
    "captum": ("mase.models.torch.deep_lift",),
    "lightgbm": ("mase.estimators.boosted_trees",),
    "peft": ("mase.models.torch.lora",),
    "safetensors": ("mase.models", "mase_paper.models", "mase_paper.training"),
    "transformers": (
        "mase.models.transformers",
        "mase.models.folder",
        "mase.models.bundled.bert",
        "mase.models.language",
    ),
    "onnxruntime": ("mase.models.onnx", "mase.models.torch.onnx_export"),
    "tokenizers": ("mase.models.tokenizer_files",),
    "keras": ("mase.models.keras", "mase.models.torch.keras"),
    "matplotlib": ("mase.render.figure", "mase.render.picture", "mase_paper.experiments.plots"),
    "pandas": ("mase.attribution", "mase.models.function", "mase_corpora"),
    "duckdb": ("mase_corpora.database",),
    "pyarrow": ("mase.sources", "mase_corpora", "mase_paper.datasets"),
    "ray": ("mase_corpora.engines.ray",),
    "starlette": ("mase_serve",),
    "uvicorn": ("mase_serve",),
    "anywidget": ("mase.notebook",),
}
SCRIPTS = ("benchmarks", "examples", "experiments", "tools")
LONGEST_MODULE = 900
LONGEST_TEST_FILE = 900
# The tests of a room of the first folder are in the room of the second that has the same path.
MIRRORS = (
    ("src/mase", "tests/unit"),
    ("src/mase_corpora", "tests/corpora"),
    ("src/mase_serve", "tests/serve"),
    ("paper/src/mase_paper", "paper/tests"),
)


@dataclass(frozen=True, slots=True)
class Import:
    """One import: the dotted target, the line, whether it runs only when a function is called, or never."""

    target: str
    line: int
    lazy: bool
    for_types: bool = False


def imports(tree: ast.AST, *, lazy: bool = False, for_types: bool = False) -> Iterator[Import]:
    """Yield every import below a node, those inside functions and under TYPE_CHECKING too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, lazy, for_types) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from (Import(f"{base}.{alias.name}", node.lineno, lazy, for_types) for alias in node.names)
        else:
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            is_check = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            yield from imports(node, lazy=lazy or is_function, for_types=for_types or is_check)


@cache
def modules() -> dict[str, Path]:
    """Return every module of both packages by dotted name."""
    found = {}
    for package, source in SOURCES.items():
        for path in sorted(source.rglob("*.py")):
            parts = (package, *path.relative_to(source).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def unit(name: str) -> str:
    """Return the unit of LAYERS that a dotted name of one of the packages belongs to."""
    package, *parts = name.split(".")
    if package == "mase_paper":
        return ".".join([package, *parts[:1]])
    return parts[0] if parts and package == "mase" else package


def layer(name: str) -> int:
    """Return how high a unit stands; one that LAYERS forgot stands on top, where all of its users fail."""
    return next((index for index, members in enumerate(LAYERS) if name in members), len(LAYERS))


def target_unit(target: str) -> str | None:
    """Return the unit that an import reaches, None if it is outside of the packages or the version only."""
    if target.split(".")[0] not in SOURCES or target == "mase.__version__":
        return None
    if target.startswith("mase.") and target.count(".") == 1 and target not in modules():
        return "mase"  # `from mase import Explainer`
    return unit(target)


def against_the_arrows(module: str, found: Import) -> bool:
    to = target_unit(found.target)
    here = unit(module)
    if to is None or to == here:
        return False
    if found.lazy and (module, to) in LAZY_EXCEPTIONS:
        return False
    return layer(to) >= layer(here)


def framework_out_of_place(module: str, found: Import) -> bool:
    allowed = FRAMEWORKS.get(found.target.split(".")[0])
    return allowed is not None and not any(module == place or module.startswith(f"{place}.") for place in allowed)


def offenders(wrong: Callable[[str, Import], bool]) -> list[str]:
    """Return the imports of both packages, with file and line, that are wrong."""
    found = ((name, one) for name in modules() for one in imports(parsed(name)))
    return [f"{name}, line {one.line}: {one.target}" for name, one in found if wrong(name, one)]


@cache
def parsed(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


def test_every_module_has_a_place():
    assert len(modules()) > 100
    lost = [name for name in modules() if not any(unit(name) in members for members in LAYERS)]
    assert not lost, f"give the units of {lost} a place in LAYERS"


@pytest.mark.slow
def test_imports_point_one_way():
    wrong = offenders(lambda name, found: name != "mase" and against_the_arrows(name, found))
    assert not wrong, f"imports from the own or a higher layer: {wrong}"


def private(found: Import) -> bool:
    """Return whether an import reaches a name of the packages that is its module's own."""
    package, *parts = found.target.split(".")
    return package in SOURCES and any(part.startswith("_") and not part.endswith("__") for part in parts)


@pytest.mark.slow
def test_no_module_imports_private_names_of_another():
    assert not offenders(lambda _, found: private(found))
    assert private(Import("mase_paper.training.run._check", 1, lazy=False))
    assert not private(Import("mase.__version__", 1, lazy=False))


@pytest.mark.slow
def test_imports_are_absolute():
    assert not offenders(lambda _, found: found.target.startswith("."))


@pytest.mark.slow
def test_frameworks_stay_in_their_places():
    wrong = offenders(framework_out_of_place)
    assert not wrong, f"imports of a framework that the module does not own: {wrong}"


@pytest.mark.slow
def test_every_exception_is_needed():
    used = {(name, target_unit(found.target)) for name in modules() for found in imports(parsed(name)) if found.lazy}
    assert used >= LAZY_EXCEPTIONS


@pytest.mark.parametrize(
    ("module", "code", "wrong"),
    [
        ("mase.designs.new", "from mase.estimators.linear import Ridge", True),
        ("mase.designs.new", "from mase.designs.placement import single", False),
        ("mase.designs.new", "def draw():\n    from mase.methods import METHODS", True),
        ("mase.models.new", "from mase.spaces import Noise", False),
        ("mase.spaces.new", "from mase.models.base import Model", True),
        ("mase.errors", "import mase.arrays", True),
        ("mase.explainer", "from mase import models", False),
        ("mase.explainer", "from mase import Explainer", True),
        ("mase.explainer", "from mase import __version__", False),
        ("mase.render.html", "from mase.outputs import save", True),
        ("mase.attribution.attribution", "from mase.outputs import save", True),
        ("mase.attribution.attribution", "def save():\n    from mase.outputs import save", False),
        ("mase.solve.quality", "if TYPE_CHECKING:\n    from mase.methods import Method", True),
        ("mase.cli.explain", "import mase", False),
        ("mase.cli.explain", "from mase_corpora import Run", True),
        ("mase_corpora.new", "from mase_serve.app import Gate", True),
        ("mase.cli", "def load():\n    from mase_paper.cli.train import train", True),
        ("mase.__main__", "import mase_paper", True),
        ("mase_paper.experiments.new", "from mase.cli import tell", False),
        ("mase_paper.experiments.new", "from mase_paper.training import train", True),
        ("mase_paper.training.new", "from mase_paper.experiments.specs import Spec", True),
        ("mase_paper.training.new", "from mase_paper.cli.train import train", True),
        ("mase_paper.cli.new", "from mase_paper.training import train", False),
    ],
)
def test_the_rule_of_imports_can_fail(module, code, wrong):
    assert [against_the_arrows(module, found) for found in imports(ast.parse(code))] == [wrong]


@pytest.mark.parametrize(
    ("module", "code", "wrong"),
    [
        ("mase.solve.quality", "import torch", True),
        ("mase.solve.quality", "def fit():\n    from torch import nn", True),
        ("mase.models.new", "import torch.nn", False),
        ("mase.models.new", "import transformers", True),
        ("mase.models.transformers", "import transformers", False),
        ("mase.render.html", "class A:\n    def f(self):\n        import matplotlib.pyplot", True),
        ("mase.datasets_of_others", "import pyarrow", True),
        ("mase_paper.experiments.new", "import torch", True),
        ("mase_paper.experiments.plots", "import matplotlib", False),
    ],
)
def test_the_rule_of_frameworks_can_fail(module, code, wrong):
    assert [framework_out_of_place(module, found) for found in imports(ast.parse(code))] == [wrong]


def packages() -> list[str]:
    return [name for name, path in modules().items() if path.name == "__init__.py"]


def test_names_of_packages_exist():
    for name in packages():
        package = importlib.import_module(name)
        names = getattr(package, "__all__", [])
        assert len(set(names)) == len(names), f"{name}.__all__ has a name twice"
        for one in names:
            with suppress(MissingDependencyError):
                assert getattr(package, one, None) is not None, f"{name}.__all__ has {one}, which does not exist"
            # Once such a module is imported, it stands where the name was.
            is_hidden = f"{name}.{one}" in modules() and f"{name}.{one}" != "mase.models"
            assert not is_hidden, f"the module {name}.{one} hides the public name {one}"


def test_no_module_hides_a_name_of_its_package():
    for name in (name for name in packages() if not name.startswith("mase_paper")):
        for found in imports(parsed(name)):
            module, _, imported_name = found.target.rpartition(".")
            is_hidden = module in modules() and f"{name}.{imported_name}" in modules() and module != name
            assert not is_hidden, f"the module {name}.{imported_name} hides {found.target}"


def circles(edges: dict[str, set[str]]) -> list[str]:
    """Return the modules that reach themselves."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = list(edges.get(start, ()))
        while ahead:
            name = ahead.pop()
            if name not in seen:
                seen.add(name)
                ahead.extend(edges.get(name, ()))
        return seen

    return [name for name in edges if name in reached(name)]


@pytest.mark.slow
def test_there_is_no_circle():
    edges: dict[str, set[str]] = {}
    for name in modules():
        for found in imports(parsed(name)):
            module = next((part for part in (found.target, found.target.rpartition(".")[0]) if part in modules()), name)
            shows_itself = found.lazy and (name, module) in SHOW_THEMSELVES
            if module != name and not shows_itself and not found.for_types:
                edges.setdefault(name, set()).add(module)
    assert not circles(edges)
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]


def test_import_mase_loads_no_framework():
    code = "import sys, mase; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "mase" in loaded
    slow = {"torch", "transformers", "matplotlib", "msgspec", "numpy", "pandas", "scipy", "pyarrow", "rich", "click"}
    assert not slow & set(loaded)


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_module_and_no_script_is_long():
    paths = [*modules().values(), *(path for folder in SCRIPTS for path in (ROOT / folder).rglob("*.py"))]
    long = [str(path) for path in paths if lines_of(path) > LONGEST_MODULE]
    assert not long, f"modules of more than {LONGEST_MODULE} lines, to be split by their nouns: {long}"


def registries() -> list[tuple[str, str]]:
    """Return module and name of every `NAME = Registry(...)` of the package."""
    found = []
    for name in modules():
        for node in parsed(name).body:
            call = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Registry":
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                found.append((name, ast.unparse(target)))
    return found


def test_every_entry_of_every_registry_resolves():
    assert {"DESIGNS", "ESTIMATORS", "PROCEDURES", "SPACES"} <= {name for _, name in registries()}
    for module, name in registries():
        registry = getattr(importlib.import_module(module), name)
        assert isinstance(registry, Registry)
        assert len(registry) > 0
        assert all(registry[entry] is not None for entry in registry)


def test_no_test_file_is_long():
    files = [path for folder in ("tests", "paper/tests") for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 100
    long = [f"{path.relative_to(ROOT)}" for path in files if lines_of(path) > LONGEST_TEST_FILE]
    assert not long, f"test files of more than {LONGEST_TEST_FILE} lines, to be split by what they test: {long}"


def mirrors(path: Path, source: Path) -> bool:
    """Return whether a test file is in the room of a package."""
    return (source / path.parent).is_dir()


def test_the_rule_of_mirrors_can_fail():
    assert mirrors(Path("models/bundled/test_lstm.py"), SOURCE)
    assert not mirrors(Path("nowhere/test_explain.py"), SOURCE)


def test_tests_mirror_the_source():
    lost = [
        f"{tests}/{path}"
        for source, tests in MIRRORS
        if (ROOT / source).is_dir()  # a source distribution has no scripts
        for path in (found.relative_to(ROOT / tests) for found in (ROOT / tests).rglob("test_*.py"))
        if not mirrors(path, ROOT / source)
    ]
    assert not lost, f"move these test files into the room of the package that they test: {lost}"
