"""Run the whole corpus, two families at a time, and write what became of it into `docs/reliability.md`."""

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.hostile.report import Family, read, table, title, write

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_AT_ONCE = 2
# All of it, sample and rest; doctests are none of ours.
_PYTEST = (sys.executable, "-m", "pytest", "-m", "hostile or not hostile", "-q", "--tb=short", "-p", "no:cacheprovider")
# The older form of the XML is the one that counts of a test may stand in.
_XML = ("-o", "junit_family=xunit1")


def run(tests: Path, folder: Path) -> tuple[Family, bool]:
    """Run a file of tests; return its tally, and whether all held."""
    results = folder / f"{tests.stem}.xml"
    found = subprocess.run(
        [*_PYTEST, *_XML, str(tests), f"--junitxml={results}"], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    if not results.exists():
        raise RuntimeError(f"{tests.name} did not run:\n{found.stdout}{found.stderr}")
    if found.returncode:
        print(found.stdout, flush=True)  # noqa: T201
    print(f"{title(tests)}: {'held' if not found.returncode else 'BROKE'}", flush=True)  # noqa: T201
    return read(tests, results), not found.returncode


def main() -> int:
    """Return 0 if every case held."""
    chosen = [_HERE / f"test_{name}.py" for name in sys.argv[1:]] or sorted(_HERE.glob("test_*.py"))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_AT_ONCE) as pool:
        done = list(pool.map(lambda tests: run(tests, Path(folder)), chosen))
    generated = table([family for family, _ in done])
    print(generated)  # noqa: T201
    if len(sys.argv) == 1:
        write(_ROOT / "docs" / "reliability.md", generated)
    return 0 if all(held for _, held in done) else 1


if __name__ == "__main__":
    sys.exit(main())
