"""Run the commands that the guides show, and compare what they print: python tools/site/examples.py [PAGE]...

Every page gets a folder of its own, with a copy of examples/, a table reviews.csv that has more columns, and the files
that its blocks with a title hold. Each command of a block `console` must succeed. Output that the page shows must be
printed; `...` stands for anything.
"""

import csv
import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = (DOCS / "index.md", DOCS / "start.md", DOCS / "corpora.md", *sorted((DOCS / "guides").glob("*.md")))

_FILE = re.compile(r'^```\w+ title="([\w.-]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands(page: str) -> list[tuple[str, str]]:
    """Return the commands of a page, each with the output that is shown."""
    blocks = "".join(_CONSOLE.findall(page))
    parts = re.split(r"^\$ ", blocks.replace("\\\n", ""), flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def set_up(page: str, folder: Path) -> None:
    """Write the files that the commands of a page read."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name, content in _FILE.findall(page):
        (folder / name).write_text(content, encoding="utf-8")
    with (ROOT / "examples" / "reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "reviews.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["id", "country", *rows[0]])
        writer.writeheader()
        writer.writerows(
            {"id": number, "country": "IE" if number % 2 else "NZ"} | row for number, row in enumerate(rows)
        )


def failures(path: Path, folder: Path) -> list[str]:
    """Run the commands of one page in a folder, and return what is wrong with them."""
    page = path.read_text(encoding="utf-8")
    set_up(page, folder)
    environment = os.environ | {"COLUMNS": "80", "HF_HUB_OFFLINE": "1"}
    environment["PATH"] = os.pathsep.join([os.fspath(Path(sys.executable).parent), environment["PATH"]])
    wrong = []
    for command, expected in commands(page):
        ran = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if ran.returncode:
            wrong.append(f"{path.name}: {command}\nexit code {ran.returncode}\n{ran.stderr}")
        elif expected and not doctest.OutputChecker().check_output(expected, ran.stdout, _OPTIONS):
            wrong.append(f"{path.name}: {command}\nexpected\n{expected}\ngot\n{ran.stdout}")
    return wrong


def main(pages: list[Path]) -> int:
    """Print what is wrong and how many commands ran; return the exit code."""
    wrong: list[str] = []
    for path in pages:
        with tempfile.TemporaryDirectory() as folder:
            wrong += failures(path, Path(folder))
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    number = sum(len(commands(path.read_text(encoding="utf-8"))) for path in pages)
    sys.stdout.write(f"{number} commands on {len(pages)} pages: {len(wrong)} wrong\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]] or list(PAGES)))
