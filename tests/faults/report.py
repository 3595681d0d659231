"""The table of `docs/reliability.md` about faults during `mase run`, and the record that it is made of."""

import json
import platform
import subprocess
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mase.platforms import processor_name
from tests.faults.trial import Tally

__all__ = ["record", "table", "where", "write"]

_RECORD = Path(__file__).with_name("record.json")
_PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
_BEGIN, _END = "<!-- faults:begin (written by `make faults`) -->", "<!-- faults:end -->"
_PACKAGES = ("numpy", "scipy", "torch", "pyarrow", "ray")
_HEADER = ("fault", "happened", "runs", "texts", "lost", "twice", "other bytes", "other", "workers end", "seconds")


def record(name: str, tally: Tally, where: str, order: Sequence[str]) -> None:
    """Keep what became of a kind of fault, and where it was measured; `order` has all kinds."""
    known = _read()
    known[name] = asdict(tally) | {"where": where}
    kept = {kind: known[kind] for kind in order if kind in known}
    _RECORD.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def table(titles: Mapping[str, str], record: Mapping[str, Any] | None = None) -> str:
    """Return the table in Markdown, one row per kind of fault in `titles`."""
    known = _read() if record is None else record
    rows = [_HEADER, ("---", *["---:"] * (len(_HEADER) - 1))]
    rows += [_row(title, known[name]) for name, title in titles.items() if name in known]
    places: dict[str, list[str]] = {}
    for name, title in titles.items():
        if name in known:
            places.setdefault(known[name]["where"], []).append(title)
    listed = [f"- {', '.join(kinds)}: {place}" for place, kinds in places.items()]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    filled = [textwrap.fill(line, 120, break_on_hyphens=False, subsequent_indent="  ") for line in listed]
    return "\n".join([*lines, "", *filled])


def write(generated: str) -> None:
    """Put the table between the marks of the page."""
    before, _, rest = _PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    _PAGE.write_text(f"{before}{_BEGIN}\n{generated}\n{_END}{after}", encoding="utf-8")


def _row(title: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    counts = (found["struck"], found["runs"], found["rows"], found["lost"], found["twice"], found["different"])
    orphans = f"{found['orphans']:.1f} s" if found["orphans"] else ""
    return (title, *(f"{n:,}" for n in counts), f"{len(found['complaints'])}", orphans, f"{found['seconds']:,.0f}")


def _read() -> dict[str, Any]:
    return dict(json.loads(_RECORD.read_text(encoding="utf-8"))) if _RECORD.is_file() else {}


def where() -> str:
    """Return the day, the commit and the machine. Ask before the faults, since the code may change meanwhile."""
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {_commit()}, {processor_name()}, {platform.system()}, "
        f"Python {platform.python_version()}, {packages}."
    )


def _commit() -> str:
    """Return the commit of the library, with a mark if it has been changed since."""
    code = _PAGE.parents[1] / "src"
    last = subprocess.run(
        ["git", "log", "-1", "--format=%h", "."], cwd=code, capture_output=True, text=True, check=True
    )
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "."], cwd=code, check=False).returncode
    return last.stdout.strip() + ("-dirty" if changed else "")
