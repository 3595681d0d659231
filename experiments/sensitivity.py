"""Measure max-sensitivity, NAOPC, deletion and insertion of methods on test texts of the LSTMs.

Every text goes to RECORDS as a line of JSON as soon as it is done, so that an interrupted run continues where it
stopped. Targets may run side by side, each in a process of its own:

    python experiments/sensitivity.py DATA_DIR lstm-reuters

Without a target, the page `experiments/sensitivity/sensitivity.md` is written:

    python experiments/sensitivity.py DATA_DIR

The records do not say which default of `mase` they are of. Remove them before another one is measured.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from complement import method_of

from mase.metrics import METRICS
from mase.metrics.evaluator import Evaluator
from mase.metrics.intervals import paired_mean
from mase.models.runtime import configure
from mase_paper.experiments.lines import continued, read_lines
from mase_paper.experiments.provenance import made_with
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

NAMES = ("lstm-imdb", "lstm-reuters")
METHODS = (
    *("mase", "mase-rationale", "mase-nlgp", "lime", "kernel-shap", "kernel-shap+link=margin", "context-cite"),
    "random",
)
# The columns of the page: the metric, the name of its column, and whether higher is better.
SHOWN = {
    "max-sensitivity": ("max-sensitivity", "radius 0.02", -1),
    "NAOPC, top first": ("naopc", "top first", 1),
    "NAOPC, bottom first": ("naopc", "bottom first", -1),
    "deletion": ("deletion", "area", -1),
    "insertion": ("insertion", "area", 1),
}
HERE = Path(__file__).parent / "sensitivity"
RECORDS, DIGITS = HERE / "records", 6


def measure(target: str, args: argparse.Namespace) -> None:
    """Write the records of a target that its file lacks."""
    model = TARGETS[target].load(Path())
    split = TARGETS[target].split("test", args.data_dir)
    metrics = {name: METRICS[name]() for name, _, _ in SHOWN.values()}
    evaluator = Evaluator(model, methods=[method_of(name) for name in METHODS], metrics=metrics, units="wordpunct")
    places = [(metric, column.name) for metric, column in evaluator.columns]
    chosen_places = [places.index((metric, column)) for metric, column, _ in SHOWN.values()]
    with continued(RECORDS / f"{target}.jsonl", made_with(model, split)) as file:
        done = {one["row"] for one in file.known}
        for chosen in islice(choose(model, split, 0), args.n_texts):
            if chosen.row not in done:
                by_method = evaluator(chosen.text).by_method
                values = {
                    name: [float(np.round(one.values[place], DIGITS)) for place in chosen_places]
                    for name, one in by_method.items()
                    if one is not None
                }
                file.append([{"row": chosen.row, "values": values}])


def table(target: str, some: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of a target: the mean of every method, and how far `mase` is ahead on the same texts."""
    values = np.array([[one["values"][name] for name in METHODS] for one in some])
    yield f"## {TARGETS[target].title}, {len(some)} texts"
    yield ""
    yield f"| method | {' | '.join(SHOWN)} |"
    yield f"|---|{'---:|' * len(SHOWN)}"
    for number, name in enumerate(METHODS):
        cells = [f"`{name}`"]
        for place, (_, _, sign) in enumerate(SHOWN.values()):
            ours, theirs = values[:, 0, place], values[:, number, place]
            known = np.isfinite(ours) & np.isfinite(theirs)
            ahead = paired_mean(sign * ours[known], sign * theirs[known])
            least = "" if number == 0 else f"<br>{ahead.mean:+.3f} [{ahead.low:+.3f}, {ahead.high:+.3f}]"
            cells.append(f"{theirs[known].mean():.3f}{least}")
        yield f"| {' | '.join(cells)} |"
    yield ""


INTRODUCTION = """\
# Max-sensitivity, NAOPC, deletion and insertion

Test texts that the LSTMs classify correctly, with as many samples as `n_samples="auto"` gives.
[Metrics](../../docs/metrics.md) says what each column is. Lower is better in max-sensitivity, NAOPC bottom first and
deletion. Below each figure: by how much `mase` is better on the same texts, with a paired 95 % interval (a bootstrap
over texts, widened if they are few). A max-sensitivity or a NAOPC that does not exist is left out: that of scores that
are all 0, or of a prediction that no order changes. `random` does not look at the text, so that nothing can change it.
`experiments/sensitivity.py` made this page; its first lines say how to repeat it.
"""


def report() -> None:
    """Write the page."""
    found = {target: read_lines(RECORDS / f"{target}.jsonl") for target in NAMES}
    lines = [INTRODUCTION, *(line for target, some in found.items() if some for line in table(target, some))]
    (HERE / "sensitivity.md").write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def main() -> None:
    """Measure the methods on the texts of a target, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", nargs="?", choices=NAMES, help="whose texts are explained")
    parser.add_argument("--n-texts", type=int, default=40)
    args = parser.parse_args()
    configure(1)
    if args.target is None:
        report()
    else:
        measure(args.target, args)


if __name__ == "__main__":
    main()
