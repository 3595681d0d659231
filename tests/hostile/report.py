"""The table of `docs/reliability.md`: of every family how many cases were tried, held and broke."""

import ast
import platform
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["Family", "read", "table", "write"]

BEGIN, END = "<!-- hostile:begin (written by `make hostile`) -->", "<!-- hostile:end -->"
_PACKAGES = ("numpy", "scipy", "torch", "transformers", "tokenizers", "safetensors", "pyarrow", "httpx", "click")


@dataclass(frozen=True, slots=True)
class Family:
    """What became of the cases of one file; `skipped` counts tests, whose cases nobody counted."""

    title: str
    tried: int
    broke: int
    skipped: int
    seconds: float


def read(tests: Path, results: Path) -> Family:
    """Return the tally of a file of tests from the JUnit XML that pytest wrote of it."""
    cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    tried = broke = skipped = 0
    for case in cases:
        told = {found.get("name"): int(found.get("value", 0)) for found in case.iter("property")}
        failed = case.find("failure") is not None or case.find("error") is not None
        skipped += case.find("skipped") is not None
        tried += told.get("tried", 0 if case.find("skipped") is not None else 1)
        broke += told.get("broke", int(failed)) or int(failed)
    return Family(title(tests), tried, broke, skipped, sum(float(case.get("time", 0)) for case in cases))


def title(tests: Path) -> str:
    """Return what a file of tests is about: the first line of its docstring, without the full stop."""
    return (ast.get_docstring(ast.parse(tests.read_text(encoding="utf-8"))) or tests.stem).splitlines()[0].rstrip(".")


def table(families: Sequence[Family]) -> str:
    """Return the table in Markdown, with the day and the machine."""
    rows = [("family", "tried", "held", "broke", "seconds"), ("---", "---:", "---:", "---:", "---:")]
    rows += [(f.title, f"{f.tried:,}", f"{f.tried - f.broke:,}", f"{f.broke:,}", f"{f.seconds:,.0f}") for f in families]
    tried, broke = sum(f.tried for f in families), sum(f.broke for f in families)
    rows.append(
        (
            "**all**",
            f"**{tried:,}**",
            f"**{tried - broke:,}**",
            f"**{broke:,}**",
            f"**{sum(f.seconds for f in families):,.0f}**",
        )
    )
    skipped = sum(f.skipped for f in families)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", _where(), *([f"{skipped} tests were skipped."] if skipped else [])])


def _where() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    python = f"Python {platform.python_version()}"
    where = f"{datetime.now(UTC):%Y-%m-%d}, {_processor()}, {platform.system()}, {python}, {packages}."
    return textwrap.fill(where, 120, break_on_hyphens=False)


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of {names[0]}" if names else platform.machine()


def write(page: Path, generated: str) -> None:
    """Put the table between the marks of the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{generated}\n{END}{after}", encoding="utf-8")
