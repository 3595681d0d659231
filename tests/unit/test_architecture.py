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
SOURCES = {"mase": SOURCE, "mase_paper": ROOT / "paper" / "src" / "mase_paper"}

# Imports point upwards in this list: a unit may import itself and units of earlier layers, never a neighbour.
# A unit is a module of src/mase, a folder, or one of the modules that stand below their folders. Those of the sister
# package have its name before them.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"characters", "defaults", "errors", "platforms"}),
    frozenset({"scalars"}),
    frozenset({"several"}),
    frozenset({"arrays", "budget", "choices", "document", "files", "lazy", "processes", "registry", "rng"}),
    frozenset({"tables", "text"}),
    frozenset({"attribution", "coordinates", "links", "provenance", "spaces.protocol", "statistics", "units"}),
    frozenset({"models.protocol"}),
    frozenset({"models.batching"}),
    frozenset({"regression"}),
    frozenset({"designs", "estimators", "models", "procedures", "progress", "spaces"}),
    frozenset({"baselines", "method"}),
    frozenset({"methods"}),
    frozenset({"compatibility", "configuration", "evidence", "measure", "options", "results", "target"}),
    frozenset({"windows"}),
    frozenset({"bound_text"}),
    frozenset({"measurement"}),
    frozenset({"zoom"}),
    frozenset({"explainer"}),
    frozenset({"citing", "datasets", "explanation", "io", "render"}),
    frozenset({"doctor", "metrics", "outputs"}),
    frozenset({"corpus"}),
    frozenset({"summary", "comparison"}),
    frozenset({"report"}),
    frozenset({"testing"}),
    frozenset({"mase"}),  # the package itself: all names of the public API
    frozenset({"serve", "widget"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
    frozenset({"mase_paper.models"}),
    frozenset({"mase_paper.experiments", "mase_paper.training"}),
    frozenset({"mase_paper.cli"}),
    frozenset({"mase_paper"}),
)
# Against the arrows, and only inside a function: methods of results that hand them to a renderer or a writer.
LAZY_EXCEPTIONS = frozenset(
    {
        ("mase.attribution.attribution", "io"),
        ("mase.attribution.attribution", "render"),
        ("mase.attribution.attributions", "io"),
        ("mase.attribution.attributions", "render"),
        ("mase.summary.summary", "report"),
    }
)
# The only places, as prefixes of module names, that may import a framework, lazily or not.
FRAMEWORKS: dict[str, tuple[str, ...]] = {
    "torch": ("mase.models", "mase.testing.modules", "mase_paper.models", "mase_paper.training"),
    "captum": ("mase.models.deep_lift",),
    "lightgbm": ("mase.estimators.boosted_trees",),
    "peft": ("mase.models.lora",),
    "safetensors": ("mase.models", "mase_paper.models", "mase_paper.training"),
    "transformers": (
        "mase.models.transformers",
        "mase.models.pretrained",
        "mase.models.bundled.minilm",
        "mase.models.language",
    ),
    "onnxruntime": ("mase.models.onnx", "mase.models.onnx_export"),
    "tokenizers": ("mase.models.tokenizer_json",),
    "keras": ("mase.models.keras", "mase.models.keras_torch"),
    "matplotlib": (
        "mase.render.dot_plot",
        "mase.render.figure",
        "mase.render.pictures",
        "mase_paper.experiments.plots",
    ),
    "pandas": (
        "mase.attribution",
        "mase.comparison",
        "mase.corpus.frames",
        "mase.models.frames",
        "mase.summary.summary",
    ),
    "duckdb": ("mase.corpus.database",),
    "pyarrow": ("mase.datasets", "mase.corpus", "mase.comparison", "mase.report", "mase.summary"),
    "ray": ("mase.corpus.engines.ray",),
    "starlette": ("mase.serve",),
    "uvicorn": ("mase.serve",),
    "anywidget": ("mase.widget",),
}
SCRIPTS = ("benchmarks", "examples", "experiments", "tools")
LONGEST_MODULE = 900
LONGEST_TEST_FILE = 900
# The tests of a room of the first folder are in the room of the second that has the same path.
MIRRORS = (("src/mase", "tests/unit"), ("paper/src/mase_paper", "paper/tests"), ("experiments", "tests/experiments"))
# Test files beside those of the top-level modules, named for what they test of the whole: documents, tools, behaviour.
BEHAVIOURS = frozenset(
    f"test_{name}"
    for name in (
        "architecture", "benchmarks", "benchmarks_inputs", "docs", "lines", "long_texts", "lowest", "notebooks",
        "packages", "peers", "plain_install", "propositions", "protocols", "readme", "scripts", "theory",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Import:
    """One import: the dotted target, the line, and whether it runs only when a function is called."""

    target: str
    line: int
    lazy: bool


def imports(tree: ast.AST, *, lazy: bool = False) -> Iterator[Import]:
    """Yield every import below a node, those inside functions and under TYPE_CHECKING too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from (Import(f"{base}.{alias.name}", node.lineno, lazy) for alias in node.names)
        else:
            yield from imports(node, lazy=lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


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
    if not parts:
        return "mase"
    below = ".".join(parts[:2])
    return below if below in ("models.batching", "models.protocol", "spaces.protocol") else parts[0]


def layer(name: str) -> int:
    """Return how high a unit stands; one that LAYERS forgot stands on top, where all of its users fail."""
    return next((index for index, members in enumerate(LAYERS) if name in members), len(LAYERS))


def target_unit(target: str) -> str | None:
    """Return the unit that an import reaches, None if it is outside of the packages or the version only."""
    if target.split(".")[0] not in SOURCES or target == "mase.__version__":
        return None
    is_public_name = target.count(".") == 1 and target not in modules()  # `from mase import Explainer`
    return "mase" if is_public_name else unit(target)


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


def test_imports_point_one_way():
    wrong = offenders(lambda name, found: name != "mase" and against_the_arrows(name, found))
    assert not wrong, f"imports from the own or a higher layer: {wrong}"


def private(found: Import) -> bool:
    """Return whether an import reaches a name of the packages that is its module's own."""
    package, *parts = found.target.split(".")
    return package in SOURCES and any(part.startswith("_") and not part.endswith("__") for part in parts)


def test_no_module_imports_private_names_of_another():
    assert not offenders(lambda _, found: private(found))
    assert private(Import("mase_paper.training.run._check", 1, lazy=False))
    assert not private(Import("mase.__version__", 1, lazy=False))


def test_imports_are_absolute():
    assert not offenders(lambda _, found: found.target.startswith("."))


def test_frameworks_stay_in_their_places():
    wrong = offenders(framework_out_of_place)
    assert not wrong, f"imports of a framework that the module does not own: {wrong}"


def test_every_exception_is_needed():
    used = {(name, target_unit(found.target)) for name in modules() for found in imports(parsed(name)) if found.lazy}
    assert used >= LAZY_EXCEPTIONS


@pytest.mark.parametrize(
    ("module", "code", "wrong"),
    [
        ("mase.designs.new", "from mase.estimators.ridge import Ridge", True),
        ("mase.designs.new", "from mase.designs.placement import single", False),
        ("mase.designs.new", "def draw():\n    from mase.methods import METHODS", True),
        ("mase.models.new", "from mase.spaces.protocol import Noise", False),
        ("mase.models.new", "from mase.spaces.cone import Cone", True),
        ("mase.errors", "import mase.arrays", True),
        ("mase.explainer", "from mase import models", False),
        ("mase.explainer", "from mase import Explainer", True),
        ("mase.explainer", "from mase import __version__", False),
        ("mase.render.html", "from mase.io.json import to_dict", True),
        ("mase.attribution.attribution", "from mase.io.json import to_dict", True),
        ("mase.attribution.attribution", "def save():\n    from mase.io.json import save", False),
        ("mase.regression.diagnostics", "if TYPE_CHECKING:\n    from mase.methods import Method", True),
        ("mase.cli.explain", "import mase", False),
        ("mase.cli.group", "def load():\n    from mase_paper.cli.train import train", True),
        ("mase.__main__", "import mase_paper", True),
        ("mase_paper.experiments.new", "from mase.cli.group import tell", False),
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
        ("mase.regression.diagnostics", "import torch", True),
        ("mase.regression.diagnostics", "def fit():\n    from torch import nn", True),
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


def test_all_names_exist():
    for name in modules():
        if any(part.startswith("_") for part in name.split(".")):
            continue
        module = importlib.import_module(name)
        assert isinstance(getattr(module, "__all__", None), list), f"{name} has no __all__"
        assert len(set(module.__all__)) == len(module.__all__), f"{name}.__all__ has a name twice"
        for one in module.__all__:
            with suppress(MissingDependencyError):
                assert getattr(module, one, None) is not None, f"{name}.__all__ has {one}, which does not exist"


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
    """Return whether a test file is named for a module of its room (and perhaps an aspect of it), or for the room.

    Beside the top-level modules it may also be a test of behaviour.
    """
    room = source / path.parent
    if path.parent == Path() and path.stem in BEHAVIOURS:
        return True
    if path.parent != Path() and path.stem == f"test_{path.parent.name}":  # of the whole room
        return (room / "__init__.py").is_file()
    return any((room / f"{name}.py").is_file() for name in beginnings(path.stem.removeprefix("test_")))


def beginnings(name: str) -> list[str]:
    """Return `a`, `a_b`, `a_b_c` for `a_b_c`."""
    words = name.split("_")
    return ["_".join(words[: count + 1]) for count in range(len(words))]


def test_tests_mirror_the_source():
    lost = [
        f"{tests}/{path}"
        for source, tests in MIRRORS
        if (ROOT / source).is_dir()  # a source distribution has no scripts
        for path in (found.relative_to(ROOT / tests) for found in (ROOT / tests).rglob("test_*.py"))
        if not mirrors(path, ROOT / source)
    ]
    assert not lost, f"rename these test files after a module of the room, or move them out of it: {lost}"


def test_every_test_of_behaviour_is_there():
    assert {path.stem for path in (ROOT / "tests" / "unit").glob("test_*.py")} >= BEHAVIOURS


def test_the_rule_of_mirrors_can_fail():
    assert mirrors(Path("cli/test_output_files_cut_short.py"), SOURCE)
    assert mirrors(Path("models/bundled/test_lstm.py"), SOURCE)
    assert not mirrors(Path("models/test_lstm.py"), SOURCE)
    assert mirrors(Path("procedures/test_procedures.py"), SOURCE)
    assert not mirrors(Path("test_procedures.py"), SOURCE)
    assert mirrors(Path("test_rng.py"), SOURCE)
    assert mirrors(Path("test_theory.py"), SOURCE)
    assert not mirrors(Path("metrics/test_theory.py"), SOURCE)
    assert not mirrors(Path("nowhere/test_explain.py"), SOURCE)
