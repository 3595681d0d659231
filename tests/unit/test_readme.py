"""Links and commands of the README."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "experiments").is_dir():
    pytest.skip("the README speaks of the whole repository", allow_module_level=True)


REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]


def test_links_of_the_readme_work_on_an_index_and_lead_to_files():
    """A package index knows no files: addresses are whole, and what they name in the repository is there."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    raw = REPOSITORY.replace("github.com", "raw.githubusercontent.com")
    starts = (f"{REPOSITORY}/blob/main/", f"{raw}/main/")
    files = [link.removeprefix(start) for start in starts for link in links if link.startswith(start)]
    assert len(files) > 10
    assert [name for name in files if not (ROOT / name).exists()] == []
    owner = REPOSITORY.rsplit("/", 2)[1]
    assert [link for link in links if owner in link and not link.startswith(starts)] == []


def test_files_that_commands_of_the_readme_read_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^(?:\$ )?(?:\.venv/bin/)?mase .*$", readme, re.MULTILINE)
    written = {name for line in commands for name in re.findall(r"(?:-o|--output|--html) (\S+)", line)}
    read = {name for line in commands for name in re.findall(r"(?:-i|--input) (\S+)|--attributions \w+=(\S+)", line)}
    names = {one for pair in read for one in pair if one}
    assert names
    assert [name for name in names - written if not (ROOT / name).exists()] == []
