"""Write the pages of the registered comparison from its records: what was won, and all that was lost.

    python experiments/registered.py

The complete pages, with every interval, operator and cost, are written by `mase reproduce confirmation --report-only`
(docs/reproduce.md).
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
RECORDS = HERE / "eighth-confirmation" / "records"
RIVALS = (
    "lime,lime+link=margin,kernel-shap,kernel-shap+link=margin,partition-shap,partition-shap+link=margin,"
    "leverage-shap,glime,context-cite,greedy-search,beam-search,occlusion,random"
)
# Of each page the options of the report.
PAGES = {
    "eighth-confirmation": (),
    "eighth-rationale": ("--targets", ",".join(sorted(path.stem for path in RECORDS.glob("*.parquet"))),
                         "--methods", f"mase-rationale,mase,{RIVALS}"),
}  # fmt: skip
STANDINGS = ("won", "ahead", "level", "open", "behind", "lost")


def report(options: tuple[str, ...]) -> str:
    """Return the complete page, made without asking a model."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(RECORDS, Path(folder) / "records")
        command = [sys.executable, "-m", "mase", "reproduce", "confirmation", "--report-only", "--output", folder]
        subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
        return (Path(folder) / "confirmation.md").read_text(encoding="utf-8")


def cells(row: str) -> list[str]:
    """Return the cells of a row of a table."""
    return [cell.strip() for cell in row.strip("|").split("|")]


def counts(table: list[list[str]]) -> Iterator[str]:
    """Yield a table of how often the method stands where, over all targets."""
    totals: dict[str, list[int]] = {}
    for name, *numbers in table:
        total = totals.setdefault(name.partition(": ")[2] or "all", [0] * len(STANDINGS))
        for place, number in enumerate(numbers):
            total[place] += int(number)
    yield f"| measure | {' | '.join(STANDINGS)} |"
    yield "|---|" + "---:|" * len(STANDINGS)
    for name, total in totals.items():
        yield f"| {name} | {' | '.join(map(str, total))} |"


def losses(table: list[list[str]]) -> Iterator[str]:
    """Yield a row for each target and measure in which others are ahead, with their leads."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for target, measure, operator, k, rival, lead, standing in table:
        number = lead.partition(" ")[0].lstrip("−")
        mark = "*" if standing == "behind" else ""
        groups.setdefault((target, measure.removesuffix(" at k"), k, operator), []).append(f"{rival} {number}{mark}")
    yield "| target | measure | k | masked by | ahead, by |"
    yield "|---|---|---|---|---|"
    for (target, measure, k, operator), rivals in sorted(groups.items()):
        yield f"| {target} | {measure} | {k} | {operator} | {', '.join(rivals)} |"


def shortened(page: str) -> str:
    """Return a complete page without its details."""
    top = page.split("\n## ")
    head, short = top[0], top[1]
    leads, standings, lost = ([line for line in block.splitlines() if line.startswith("|")]
                              for block in re.split(r"\n(?=\| target)", short))  # fmt: skip
    title, first = short.split("\n|", 1)[0].split("\n\n", 1)
    parts = [
        f"{head}\n## {title}\n\n{first}",
        "\n".join(leads),
        "## All comparisons, over all targets",
        "\n".join(counts([cells(row) for row in standings[2:]])),
        "## Behind or lost\n\nBy how much each of the others is ahead; * not after Holm's correction.",
        "\n".join(losses([cells(row) for row in lost[2:]])),
        "Written by `experiments/registered.py`.",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def main() -> None:
    """Write both pages."""
    for name, options in PAGES.items():
        path = HERE / name / "confirmation.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(shortened(report(options)), encoding="utf-8")


if __name__ == "__main__":
    main()
