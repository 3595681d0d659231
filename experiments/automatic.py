"""Mean Delta Accuracy of `mase` with some numbers of samples, text by text, also of an earlier version.

    python experiments/automatic.py DATA_DIR lstm-imdb --n-samples 200 1000 --n-texts 60
    python experiments/automatic.py DATA_DIR tfidf-imdb-rating --split test-later --skip 920 --n-samples auto

Prints a line of JSON for each number of samples: the mean over k = 1, 5, 10, 15 of each text, masked by the model's own
token. With an earlier version on PYTHONPATH the same texts are explained by that; `--minus FILE` prints the mean
difference to the lines of a file, with a paired bootstrap interval of 95 %.
"""

import argparse
import json
import sys
from itertools import islice
from pathlib import Path

import numpy as np

import mase
from mase_paper.experiments.selection import LATER, choose
from mase_paper.experiments.testbeds import TARGETS


def main() -> None:
    """Measure one target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", choices=list(TARGETS))
    parser.add_argument("--models", type=Path, default=Path("confirmation-models"))
    parser.add_argument("--split", choices=("validation", LATER), default="validation")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--n-texts", type=int, default=60)
    parser.add_argument("--n-samples", nargs="+", default=["auto"])
    parser.add_argument("--minus", type=Path)
    args = parser.parse_args()
    target = TARGETS[args.target]
    model = target.load(args.models)
    chosen = choose(model, target.split(args.split, args.data_dir), 22 if args.split == LATER else 0)
    texts = [one.text for one in islice(chosen, args.skip, args.skip + args.n_texts)]
    lines = []
    for name in args.n_samples:
        n_samples = name if name == "auto" else int(name)
        found = mase.evaluate(model, texts, ["mase"], n_samples=n_samples)
        values = found.values("mase")
        means = np.asarray(values, dtype=float).reshape(len(texts), -1).mean(axis=1)
        lines.append({"target": args.target, "n_samples": name, "mean": float(means.mean()), "each": means.tolist()})
    others = [] if args.minus is None else [json.loads(line) for line in args.minus.read_text("utf-8").splitlines()]
    for line in lines:
        sys.stdout.write(json.dumps(line) + "\n")
        for other in others:
            if (other["target"], len(other["each"])) == (line["target"], len(line["each"])):
                change = np.array(line["each"]) - np.array(other["each"])
                drawn = np.random.default_rng(0).choice(change, (10_000, len(change))).mean(axis=1)
                low, high = np.percentile(drawn, [2.5, 97.5])
                sys.stderr.write(
                    f"{line['target']} {line['n_samples']} minus {other['n_samples']}: {change.mean():+.4f} "
                    f"[{low:+.4f}, {high:+.4f}]\n"
                )


if __name__ == "__main__":
    main()
