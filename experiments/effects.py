"""Choose what the two effects of a word stand for: the shares of the laws of the design `focused`.

Validation texts that a classifier predicts correctly are explained with 1,000 samples under every candidate, from the
same rows, and the words are ranked by its scores. Every text goes to RECORDS as a line of JSON for each candidate as
soon as it is done, so that an interrupted run continues where it stopped. Targets may run side by side:

    python experiments/effects.py DATA_DIR lstm-reuters --n-texts 40

Without a target, the page `experiments/effects/effects.md` is written:

    python experiments/effects.py DATA_DIR
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from complement import KS, SHOWN, summary, table

from mase.arrays import Floats
from mase.designs.focused import Focused
from mase.methods import Method, resolve
from mase.metrics import METRICS
from mase.metrics.evaluator import Evaluator
from mase.models.runtime import configure
from mase.regression.laws import Aim, Mixture
from mase_paper.experiments.cached_model import CachedModel
from mase_paper.experiments.lines import continued, read_lines
from mase_paper.experiments.provenance import made_with
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

# Shares of fair coins, of rows that mask every word with the highest rate, of rows that mask the strong words, and of
# rows that keep them. `mase` and `mase-rationale` are the ones that were chosen.
CANDIDATES = {
    "mase": (0.1, 0.3, 0.6, 0.0),
    "one effect (before)": (0.1, 0.0, 0.675, 0.225),
    "removed, .3 0 .7 0": (0.3, 0.0, 0.7, 0.0),
    "removed, .1 .1 .8 0": (0.1, 0.1, 0.8, 0.0),
    "removed, .1 .2 .7 0": (0.1, 0.2, 0.7, 0.0),
    "removed, .1 .4 .5 0": (0.1, 0.4, 0.5, 0.0),
    "removed, .1 .2 .6 .1": (0.1, 0.2, 0.6, 0.1),
    "fair coins": (1.0, 0.0, 0.0, 0.0),
    "mase-rationale": (0.1, 0.0, 0.3, 0.6),
    "kept, .1 0 .4 .5": (0.1, 0.0, 0.4, 0.5),
    "kept, 0 0 .3 .7": (0.0, 0.0, 0.3, 0.7),
}
HERE = Path(__file__).with_suffix("")


@dataclass(frozen=True, slots=True)
class Candidate(Focused):
    """The design `focused` with one effect of other shares."""

    of_laws: tuple[float, ...] = CANDIDATES["mase"]

    @property
    def further(self) -> Mapping[str, Aim]:
        """No further effects."""
        return {}

    def aim(self, gamma: Floats) -> list[Mixture]:
        """Return the mixture of laws that each of w scores `(w, p)` stands for."""
        shares, rates, every = np.array(self.of_laws), self._rates(gamma), np.ones(gamma.shape)
        kept = np.stack([0.5 * every, (1 - self.p_high) * every, 1 - rates, rates], axis=1)[:, shares > 0]
        return [Mixture(np.outer(shares[shares > 0], every[0]), one) for one in kept]


def method_of(name: str, design: Focused) -> Method:
    """Return the method of a candidate."""
    return replace(resolve("mase", design=design, n_samples=1000), name=name)


def explain(target: str, args: argparse.Namespace, candidates: Sequence[Method]) -> None:
    """Write the records of a target that its file lacks."""
    model = TARGETS[target].load(args.models)
    split = TARGETS[target].split("validation", args.data_dir)
    metrics: dict[str, Any] = {"Delta Accuracy": METRICS["delta-accuracy"](ks=KS)}
    metrics |= {name: METRICS[name]() for name in list(SHOWN)[1:]}
    cached = CachedModel(model)
    with continued(args.records / f"{target}.jsonl", made_with(model, split, args.precision)) as file:
        done = {(one["method"], one["row"]) for one in file.known}
        for chosen in islice(choose(model, split, 0), args.n_texts):
            methods = [one for one in candidates if (one.name, chosen.row) not in done]
            if not methods:
                continue
            lines = []
            evaluator = Evaluator(cached, methods=methods, metrics=metrics, units="wordpunct", precision=args.precision)
            for name, found in evaluator(chosen.text).by_method.items():
                assert found is not None
                values = list(zip((metric for metric, _ in evaluator.columns), found.values, strict=True))
                line = {"method": name, "row": chosen.row, "n_queries": found.n_queries} | summary(values)
                lines.append(line)
            file.append(lines)
            cached.clear()


INTRODUCTION = """\
# What the two effects of a word stand for

Validation texts, explained with 1,000 samples in float32 (AMD EPYC). All candidates have the same rows, and differ in
the laws that the scores stand for: the four figures are the shares of fair coins, of rows that mask every word with the
rate .9, of rows that mask the strong words, and of rows that keep them. Delta Accuracy is the mean over k = 1 ... 15.
Below each figure: by how much `mase` is ahead on the same texts, with a paired 95 % interval (a bootstrap over texts,
widened if they are few); of sufficiency, lower is better. `experiments/effects.py` made this page; its first lines say
how to repeat it. [The decision](../../docs/decisions/2026-11-24-two-effects.md) says what follows.
"""


def report(folder: Path, introduction: str, page: Path) -> None:
    """Write a page."""
    by_target: dict[str, Sequence[Mapping[str, Any]]] = {
        target: some for target in TARGETS if (some := read_lines(folder / f"{target}.jsonl"))
    }
    tables: Iterator[str] = (line for target, some in by_target.items() for line in table(target, some))
    page.write_text("\n".join([introduction, *tables]).rstrip("\n") + "\n", encoding="utf-8")


def arguments(description: str, here: Path) -> argparse.Namespace:
    """Return the arguments of the command; the records are in a folder of the page by default."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", nargs="?", choices=list(TARGETS), help="whose texts are explained")
    parser.add_argument("--n-texts", type=int, default=40)
    parser.add_argument("--models", type=Path, default=Path("confirmation-models"), help="of `make confirmation`")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32", help="of the explanations")
    parser.add_argument("--records", type=Path, default=here / "records")
    return parser.parse_args()


def main() -> None:
    """Explain the texts of a target, or write the page."""
    args = arguments(__doc__, HERE)
    configure(1)
    if args.target is None:
        report(args.records, INTRODUCTION, HERE / "effects.md")
    else:
        explain(args.target, args, [method_of(name, Candidate(of_laws=some)) for name, some in CANDIDATES.items()])


if __name__ == "__main__":
    main()
