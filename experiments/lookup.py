"""Where the source of an answer is known: does `mase.cite` put it first, and do its intervals hold what they should?

The two-layer model of `mase.testing.look_up` answers random questions about people, each of whom has one sentence in
the context. `mase.cite` explains the answers that are right, with its default method and several numbers of
evaluations; the sentences are the units. Where there are few, the model is asked about all subsets of them, so that
intervals can be compared with what they stand for. RECORDS gets a line of JSON per question; an interrupted run goes on
where it stopped. The figures go to `experiments/lookup/`; `--report-only` makes them again.

    python experiments/lookup.py RECORDS
"""

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import mase
from mase.arrays import Floats
from mase.attribution import Attribution
from mase.citing import METHOD
from mase.methods import METHODS, describe
from mase.models.language.loading import load_language_model
from mase.models.runtime import configure
from mase.provenance import environment
from mase.statistics import Mean
from mase.testing.look_up import FOLDER, Lookup, lookups
from mase_paper.experiments.lines import continued, read_lines

SEED = 2026
# Questions per cell: some of every cell first, so that an interrupted run has figures for all of them.
N_QUESTIONS = (10, 25, 50, 100)
# Numbers of sources, and of the people that a question asks about.
CELLS = ((8, 1), (8, 2), (20, 1), (20, 2))
BUDGETS = (16, 32, 64, 128, "auto")
MOST_EXACT = 8  # sources
Z = 1.96


def explained(model: Any, one: Lookup, n_samples: int | str, seed: int) -> Attribution:
    """Return which sources a right answer is from."""
    return mase.cite(
        model, context=one.sources, query=one.query, answer=one.answer, units="document", n_samples=n_samples, seed=seed
    )


def answers_rightly(model: Any, one: Lookup) -> bool:
    """Return whether the greedy answer of the model is the right one."""
    prompt = [{"role": "user", "content": "Context: {}\n\nQuery: {}".format("\n\n".join(one.sources), one.query)}]
    return bool(model.generate(prompt, 3 * len(one.used) + 1).text == one.answer)


def responses(found: Attribution, one: Lookup) -> list[tuple[Attribution, int]]:
    """Return the response of each part of an answer, with its source."""
    return [(found.of(part.response), source) for part, source in zip(found.answer.parts, one.used, strict=True)]


def covers(part: Attribution, values: Floats) -> list[bool]:
    """Return for each source whether its interval holds a value."""
    return (np.abs(part.scores - values) <= Z * part.standard_errors).tolist()


def measured(model: Any, one: Lookup, seed: int) -> dict[str, Any]:
    """Return what there is to say about a question: for each budget and part, who is first and who is covered."""
    if not answers_rightly(model, one):
        return {"right": False}
    record: dict[str, Any] = {"right": True, "budgets": {}}
    # With a budget for all subsets of the sources, the scores are what those of ever more evaluations converge to.
    few = len(one.sources) <= MOST_EXACT
    exact = responses(explained(model, one, 2 ** len(one.sources) + 1, seed), one) if few else None
    for budget in BUDGETS:
        found = explained(model, one, budget, seed)
        parts: list[dict[str, Any]] = [
            {"source": source, "order": part.order.tolist()} for part, source in responses(found, one)
        ]
        if exact is not None:
            for told, (part, _), (all_asked, _) in zip(parts, responses(found, one), exact, strict=True):
                assert all_asked.responses[0].exact
                told["covered"] = covers(part, all_asked.scores)
        record["budgets"][str(budget)] = {"n_queries": found.fit.n_queries, "parts": parts}
    return record


def measure(cell: tuple[int, int], n: int, records: Path) -> None:
    """Write those of the first n questions of a cell that its file lacks."""
    n_sources, n_asked = cell
    model = load_language_model(FOLDER)
    with continued(records / f"{n_sources}-{n_asked}.jsonl") as file:
        questions = lookups(n, SEED, n_sources=n_sources, n_asked=n_asked)
        for seed, one in list(enumerate(questions))[len(file.known) :]:
            file.append([measured(model, one, seed)])


def told(values: list[float]) -> str:
    """Return the mean of some values, with its 95 % interval."""
    array = np.array(values)
    found = Mean.of(*(np.array([one]) for one in (float(len(array)), array.sum(), (array**2).sum())))
    low, high = found.interval()
    return f"{found.value[0]:.3f} ({max(low[0], 0.0):.3f} to {min(high[0], 1.0):.3f})"


def first(part: dict[str, Any]) -> float:
    """Return whether the source of a part is first."""
    return float(part["order"][0] == part["source"])


def covered(part: dict[str, Any]) -> float:
    """Return the share of the sources whose interval holds its long-run value."""
    return float(np.mean(part["covered"]))


def covered_source(part: dict[str, Any]) -> float:
    """Return the same for the source of the part only."""
    return float(part["covered"][part["source"]])


def per_question(found: list[dict[str, Any]], budget: str, value: Callable[[dict[str, Any]], float]) -> list[float]:
    """Return the mean of a value over the parts of each answer."""
    return [float(np.mean([value(part) for part in one["budgets"][budget]["parts"]])) for one in found]


def rows(records: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of each cell and budget."""
    for n_sources, n_asked in CELLS:
        asked = read_lines(records / f"{n_sources}-{n_asked}.jsonl")
        found = [one for one in asked if one["right"]]
        for budget in map(str, BUDGETS if found else ()):
            cells = {"sources": n_sources, "parts": n_asked, "asked": len(asked), "right": len(found), "budget": budget}
            cells["evaluations"] = f"{np.mean([one['budgets'][budget]['n_queries'] for one in found]):.0f}"
            cells["true source first"] = told(per_question(found, budget, first))
            exact = n_sources <= MOST_EXACT
            cells["coverage"] = told(per_question(found, budget, covered)) if exact else "–"
            cells["of the source"] = told(per_question(found, budget, covered_source)) if exact else "–"
            yield cells


def report(records: Path, folder: Path) -> None:
    """Write the figures as Markdown, and as JSON with the settings and the machine."""
    figures = list(rows(records))
    head = list(figures[0])
    lines = [INTRODUCTION, "", f"| {' | '.join(head)} |", f"|{'---:|' * len(head)}"]
    lines += [f"| {' | '.join(str(row[name]) for name in head)} |" for row in figures]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lookup.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    model = load_language_model(FOLDER)
    settings = {"method": describe(METHODS[METHOD]), "seed": SEED, "sha256": model.sha256}
    content = {"settings": settings, "environment": environment(model), "figures": figures}
    (folder / "lookup.json").write_text(json.dumps(content, indent=1, default=str) + "\n", encoding="utf-8")


INTRODUCTION = """\
# Where the source of an answer is known

Made by `experiments/lookup.py`. A model of two layers ([how it was trained](../../src/mase/testing/look_up/README.md))
answers questions about one or two people, each of whom has a sentence in the context. Those that it answers rightly are
explained by `mase.cite` with its default method; each sentence of the context is a unit, and each sentence of the
answer a response. *True source first* is the share of sentences of answers whose source has the highest score.
*Coverage* is the share of 95 % intervals that hold the score that all subsets of the sentences give, over all sentences
of the context; *of the source* is the same for the true source alone. Means over questions, with 95 % intervals."""


def main() -> None:
    """Measure what is missing, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("--report-only", action="store_true", help="make the figures from the records that are there")
    args = parser.parse_args()
    configure(1)
    args.records.mkdir(parents=True, exist_ok=True)
    for n, cell in () if args.report_only else product(N_QUESTIONS, CELLS):
        measure(cell, n, args.records)
    report(args.records, Path(__file__).parent / "lookup")


if __name__ == "__main__":
    main()
