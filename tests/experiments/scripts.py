"""Scripts of the repository as modules; a source distribution has none of them."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "experiments"
needs_repository = pytest.mark.skipif(not FOLDER.is_dir(), reason="checks scripts of the repository")


def script(name):
    """Return the module of a script in `experiments`."""
    spec = importlib.util.spec_from_file_location(f"experiments.{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
