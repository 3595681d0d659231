"""Move journals of records, also those of an earlier version (`.jsonl.gz`), into one columnar file per target.

`mase reproduce` does so when a run ends. This script is for records that no run resumes.

    python experiments/compact.py experiments/results/records experiments/validation/records
"""

import sys
from pathlib import Path

from mase_paper.experiments.store import compact


def main() -> None:
    """Compact every target of the folders named on the command line."""
    for folder in map(Path, sys.argv[1:]):
        for target in sorted(path.name for path in folder.iterdir() if path.is_dir()):
            compact(folder, target)


if __name__ == "__main__":
    main()
