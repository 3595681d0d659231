"""Write the report of an experiment: JSON with provenance, a page in Markdown, tables and figures."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from mase.designs import DESIGNS
from mase.errors import DataError
from mase.files import write_text
from mase.methods import METHODS
from mase.metrics.tables import long_table
from mase.registry import unknown
from mase.render.figure import dot_plot
from mase_paper.experiments.experiment import Experiment, Scope, collected
from mase_paper.experiments.plots import draw, save
from mase_paper.experiments.rerun import as_made, command
from mase_paper.experiments.upper_bounds import UPPER_BOUNDS

__all__ = ["earlier_versions", "publish"]
_SCHEMA = "mase.experiment/1"


def publish(experiment: Experiment, scope: Scope, folder: Path) -> list[Path]:
    """Write the JSON, the page, the tables and the figures of an experiment to a folder, and return their paths.

    These are `NAME.json`, `NAME.md`, `NAME.csv`, `NAME.tex` (with the package booktabs) and `NAME-*.svg`.
    """
    records = folder / "records"
    sources = _sources(experiment, scope, records)
    _check_methods(scope, sources)
    if not sources:
        raise DataError(
            f"{records} has no records of {experiment.name} with these targets and methods, expected some to report; "
            "run without --report-only, on data with texts that the models classify correctly"
        )
    report = experiment.report(scope, records)
    figures = {name: draw(panels, report.columns) for name, panels in report.figures.items()}
    figures |= {"means": dot_plot(report.dots)} if report.dots else {}
    drawn = [save(figure, folder / f"{experiment.name}-{name}.svg") for name, figure in figures.items()]
    page, data, numbers, latex = (folder / f"{experiment.name}.{suffix}" for suffix in ("md", "json", "csv", "tex"))
    write_text(page, report.page + earlier_versions(sources))
    write_text(numbers, long_table(report.tables).csv())
    write_text(latex, "\n".join(table.table().latex() for table in report.tables))
    line = command(experiment.name, scope) + as_made(sources[0])
    plain = {"schema": _SCHEMA, "name": experiment.name, "command": line, **report.data, "sources": sources}
    write_text(data, _dumps(plain))
    return [page, data, numbers, latex, *drawn]


def _check_methods(scope: Scope, sources: Sequence[Mapping[str, Any]]) -> None:
    known = [*METHODS, *UPPER_BOUNDS, *(source["spec"].partition("+")[0] for source in sources)]
    for configuration in scope.configurations or ():
        if configuration.method not in known:
            raise unknown("method", configuration.method, list(dict.fromkeys(known)))


def earlier_versions(sources: Iterable[Mapping[str, Any]]) -> str:
    """Return a paragraph that names the records of earlier versions whose designs had other settings than today's."""
    methods: dict[tuple[str, str], set[str]] = {}
    for source in sources:
        design = dict(source["method"].get("design", {}))
        name = design.pop("name", None)
        if name in DESIGNS and not design.keys() <= {setting.name for setting in fields(DESIGNS[name])}:
            for part in source["made_on"]:
                key = (part["versions"]["mase-xai"], name)
                methods.setdefault(key, set()).add(source["spec"].partition("+")[0])
    paragraphs = []
    for (version, kind), names in sorted(methods.items()):
        listed = ", ".join(f"`{name}`" for name in sorted(names))
        paragraphs.append(
            f"\nRecords of {listed} were made with version {version}, in which the design `{kind}` had other "
            "settings.\nThis version gives other scores.\n"
        )
    return "".join(paragraphs)


def _dumps(plain: Mapping[str, Any]) -> str:
    """Return JSON with one line per entry of a list, which is easy to read and to diff."""
    parts = []
    for name, value in plain.items():
        rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in value) if isinstance(value, list) else ""
        shown = f"[\n  {rows}\n ]" if rows else json.dumps(value, ensure_ascii=False)
        parts.append(f" {json.dumps(name)}: {shown}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _sources(experiment: Experiment, scope: Scope, records: Path) -> list[Mapping[str, Any]]:
    """Return the provenance and the number of the records of each configuration."""
    by_target = collected(experiment.works(scope), records)
    return [
        {key: value for key, value in outcome.header.items() if key != "columns"}
        | {"command": f"{outcome.header['command']} --n-texts {outcome.numbers.max() + 1}", "n_texts": len(outcome)}
        | {"made_on": outcome.made_on}
        for outcomes in by_target.values()
        for outcome in outcomes.values()
    ]
