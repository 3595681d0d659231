"""The two packages of the repository are released together, and the library's has no part of the other."""

import tomllib
from pathlib import Path

import pytest

from mase.cli import main

ROOT = Path(__file__).parents[2]
if not (ROOT / "paper").is_dir():
    pytest.skip("the sister package is in the repository only", allow_module_level=True)
LIBRARY, PAPER = (
    tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8")) for folder in (ROOT, ROOT / "paper")
)


def test_both_have_one_version_and_one_home():
    library, paper = LIBRARY["project"], PAPER["project"]
    for key in ("version", "license", "requires-python", "authors"):
        assert paper[key] == library[key]
    assert paper["urls"] == library["urls"]
    major, minor, *_ = library["version"].split(".")
    lowest = library["version"] if "dev" in library["version"] else f"{major}.{minor}"
    assert any(
        one.startswith("mase-xai[") and one.endswith(f"]>={lowest},<{major}.{int(minor) + 1}")
        for one in paper["dependencies"]
    )
    assert (ROOT / "paper" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_extras_that_the_paper_needs_exist():
    (needed,) = [one for one in PAPER["project"]["dependencies"] if one.startswith("mase-xai")]
    extras = needed.partition("[")[2].partition("]")[0].split(",")
    assert set(extras) <= set(LIBRARY["project"]["optional-dependencies"])


def test_the_verbs_of_the_paper_are_those_that_the_library_names():
    verbs = PAPER["project"]["entry-points"]["mase.commands"]
    assert main.packages == dict.fromkeys(verbs, PAPER["project"]["name"])
    for verb, place in verbs.items():
        module, _, name = place.partition(":")
        source = ROOT / "paper" / "src" / f"{module.replace('.', '/')}.py"
        assert name == verb
        assert f"def {verb}(" in source.read_text(encoding="utf-8")


def test_what_the_distributions_hold_is_there():
    """Patterns begin at the root: a bare name would match in every folder, that of the other package, too."""
    for folder, project in ((ROOT, LIBRARY), (ROOT / "paper", PAPER)):
        target = project["tool"]["hatch"]["build"]["targets"]
        for pattern in target["sdist"]["include"]:
            assert pattern.startswith("/")
            assert (folder / pattern[1:]).exists()
        assert all((folder / path).exists() for path in target["sdist"].get("force-include", {}))
        for package in target["wheel"]["packages"]:
            assert (folder / package / "__init__.py").is_file()
    assert {Path(package).name for package in LIBRARY["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]} == {
        path.parent.name for path in (ROOT / "src").glob("*/__init__.py")
    }
    assert not {"experiments", "training"} & {path.name for path in (ROOT / "src" / "mase").iterdir()}
