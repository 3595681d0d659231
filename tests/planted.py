"""Plant each fault of `planted_faults.toml` in a copy of the packages and see the tests named for it fail: `make
planted`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PASSED, FAILED = 0, 1  # exit codes of pytest; others mean that it could not run the tests


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong change of a file below src, and the tests of which at least one must fail with it."""

    file: str
    text: str
    replacement: str
    breaks: str
    tests: tuple[str, ...]

    def plant(self, source: Path) -> str | None:
        """Write the fault into a copy of src/; return why it cannot be planted, None if it is."""
        path = source / self.file
        if not path.is_file():
            return f"{self.file} does not exist"
        content = path.read_text(encoding="utf-8")
        if content.count(self.text) != 1:
            return f"{self.file} has {self.text!r} {content.count(self.text)} times, expected once"
        path.write_text(content.replace(self.text, self.replacement), encoding="utf-8")
        return None


def faults() -> list[Fault]:
    """Return the committed faults."""
    listed = tomllib.loads((ROOT / "tests" / "planted_faults.toml").read_text(encoding="utf-8"))["fault"]
    return [Fault(**one | {"tests": tuple(one["tests"])}) for one in listed]


def copied(folder: str) -> Path:
    """Return a copy of the packages in a folder."""
    source = Path(folder) / "src"
    for packages in (ROOT / "src", ROOT / "paper" / "src"):
        shutil.copytree(packages, source, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    return source


def ran(tests: Sequence[str], source: Path, *, seconds: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run some tests with the package in `source`, up to the first failure, for so many seconds at most."""
    command = [sys.executable, "-m", "pytest", "-q", "--exitfirst", "--import-mode=importlib", "-o", "addopts="]
    return subprocess.run(
        [*command, "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=seconds,
    )


def verdict(fault: Fault) -> str:
    """Return "caught", or what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        source = copied(folder)
        problem = fault.plant(source)
        if problem is not None:
            return f"NOT PLANTED, {problem}"
        code = ran(fault.tests, source).returncode
    return {FAILED: "caught", PASSED: "MISSED"}.get(code, f"NOT RUN, pytest ended with {code}")


def main() -> int:
    """Report every fault; 1 if one is missed or cannot be planted, or if the tests fail without any."""
    planted = faults()
    named = sorted({test for fault in planted for test in fault.tests})
    as_it_is = ran(named, ROOT / "src")
    if as_it_is.returncode != PASSED:
        print(
            as_it_is.stdout, "the tests do not pass on the code as it is: nothing can be said of the faults", sep="\n"
        )
        return 1
    caught = 0
    for fault in planted:
        found = verdict(fault)
        caught += found == "caught"
        print(f"{found}: {fault.file}: {fault.breaks}", flush=True)
    print(f"{caught} of {len(planted)} planted faults are caught")
    return int(caught < len(planted))


if __name__ == "__main__":
    sys.exit(main())
