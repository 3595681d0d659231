"""Choose the share of rows that keep the strongest words: `complement` of the design `focused`.

Validation texts that a classifier predicts correctly are explained by every candidate and by rivals, each with as many
samples as `n_samples="auto"` gives. Every explanation goes to RECORDS as a line of JSON as soon as it is done, so that
an interrupted run continues where it stopped. Targets may run side by side, each in a process of its own:

    python experiments/complement.py DATA_DIR lstm-reuters --n-texts 200
    python experiments/complement.py DATA_DIR bert-reuters --n-texts 12 --precision bfloat16 --methods mase lime

Without a target, the page `experiments/complement/complement.md` is written:

    python experiments/complement.py DATA_DIR
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mase.configuration import parse
from mase.method import Method
from mase.methods import resolve
from mase.metrics import METRICS
from mase.metrics.evaluator import Evaluator
from mase.metrics.intervals import paired_mean
from mase.models.runtime import configure
from mase_paper.experiments.lines import continued, read_lines
from mase_paper.experiments.provenance import made_with
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

KS = range(1, 16)
CANDIDATES = [f"mase+design=focused(complement={share})" for share in (0, 0.15, 0.35, 0.5)]
RIVALS = [
    *("kernel-shap", "kernel-shap+link=margin", "lime", "lime+link=margin", "lime-paper+link=margin"),
    *("leverage-shap", "leverage-shap+link=margin", "glime", "glime+link=margin", "context-cite", "partition-shap"),
    *("greedy-search", "beam-search", "mase-mask+link=margin"),
]
# A method with fewer texts is left out of the page.
FEWEST = 4
# The metrics of the page, and for each whether higher is better.
SHOWN = {"Delta Accuracy": 1, "comprehensiveness": 1, "sufficiency": -1, "insertion": 1}
HERE = Path(__file__).parent / "complement"


def method_of(name: str) -> Method:
    """Return the method of a configuration, with as many samples as the text asks for."""
    configuration = parse(name)
    return replace(resolve(configuration.method, **dict(configuration.settings)), name=name, n_samples="auto")


def explain(target: str, args: argparse.Namespace) -> None:
    """Write the records of a target that its file lacks."""
    model = TARGETS[target].load(args.models)
    split = TARGETS[target].split("validation", args.data_dir)
    texts = list(islice(choose(model, split, 0), args.n_texts))
    metrics: dict[str, Any] = {"Delta Accuracy": METRICS["delta-accuracy"](ks=KS)}
    metrics |= {name: METRICS[name]() for name in list(SHOWN)[1:]}
    with continued(args.records / f"{target}.jsonl", made_with(model, split, args.precision)) as file:
        done = {(one["method"], one["row"]) for one in file.known}
        for name in args.methods:
            evaluator = Evaluator(
                model, methods=[method_of(name)], metrics=metrics, precision=args.precision, units="wordpunct"
            )
            for chosen in texts:
                if (name, chosen.row) not in done:
                    found = evaluator(chosen.text).by_method[name]
                    assert found is not None
                    values = list(zip((metric for metric, _ in evaluator.columns), found.values, strict=True))
                    line = {"method": name, "row": chosen.row, "n_queries": found.n_queries}
                    file.append([line | summary(values)])


def summary(values: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return the mean over k of Delta Accuracy, and the first column of every other metric."""
    by_metric = {name: [float(value) for metric, value in values if metric == name] for name in SHOWN}
    found = {name: of_one[0] for name, of_one in by_metric.items()}
    found["Delta Accuracy"] = float(np.mean(by_metric["Delta Accuracy"]))
    return {name: round(value, 6) for name, value in found.items()}


def table(target: str, some: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of a target: every method on the texts that it shares with `mase`, and how far that is ahead."""
    by_method: dict[str, dict[int, Mapping[str, Any]]] = {}
    for one in some:
        by_method.setdefault(one["method"], {})[one["row"]] = one
    yield f"## {TARGETS[target].title}"
    yield ""
    yield f"| method | texts | evaluations | {' | '.join(SHOWN)} |"
    yield f"|---|---:|---:|{'---:|' * len(SHOWN)}"
    for name, rows in by_method.items():
        shared = [row for row in rows if row in by_method["mase"]]
        if len(shared) < FEWEST:
            continue
        cells = [f"`{name}`", str(len(shared)), f"{np.mean([rows[row]['n_queries'] for row in shared]):.0f}"]
        for metric, sign in SHOWN.items():
            theirs = [rows[row][metric] for row in shared]
            ours = [by_method["mase"][row][metric] for row in shared]
            ahead = paired_mean([sign * value for value in ours], [sign * value for value in theirs])
            least = "" if name == "mase" else f"<br>{ahead.mean:+.3f} [{ahead.low:+.3f}, {ahead.high:+.3f}]"
            cells.append(f"{np.mean(theirs):.3f}{least}")
        yield f"| {' | '.join(cells)} |"
    yield ""


INTRODUCTION = """\
# Rows that keep the strongest words

Validation texts of the four targets, explained by `mase`, by `mase` with another share of complementary rows
(`complement`), and by rivals, all with the number of samples that `n_samples="auto"` gives. Delta Accuracy is the mean
over k = 1 ... 15. Below each figure: by how much `mase` is ahead on the same texts, with a paired 95 % interval (a
bootstrap over texts, widened if they are few); of sufficiency, lower is better. A method that explained fewer texts is
compared on those. The BERTs are six-layer MiniLMs, explained in half precision, but for the rivals of BERT-IMDB and
`mase (before)`. That is the default at commit cb3979a0, whose records this version cannot repeat.
`experiments/complement.py` made this page; its first lines say how to repeat it. The records of the rivals of
LSTM-Reuters, of those of LSTM-IMDB with 150 or more texts, and of the BERTs come from an earlier script that is not
committed. [The decision](../../docs/decisions/2026-11-23-kept-words.md) says what follows.
"""


def report(folder: Path) -> None:
    """Write the page."""
    by_target = {target: some for target in TARGETS if (some := read_lines(folder / f"{target}.jsonl"))}
    lines = [INTRODUCTION, *(line for target, some in by_target.items() for line in table(target, some))]
    (HERE / "complement.md").write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def main() -> None:
    """Explain the texts of a target, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", nargs="?", choices=list(TARGETS), help="whose texts are explained")
    parser.add_argument("--methods", nargs="+", default=["mase", *CANDIDATES, *RIVALS])
    parser.add_argument("--n-texts", type=int, default=200)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--models", type=Path, default=Path("confirmation-models"), help="of `make confirmation`")
    parser.add_argument("--records", type=Path, default=HERE / "records")
    args = parser.parse_args()
    configure(1)
    if args.target is None:
        report(args.records)
    else:
        explain(args.target, args)


if __name__ == "__main__":
    main()
