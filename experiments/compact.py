"""Move journals of records, also those of an earlier version (`.jsonl.gz`), into one columnar file per target.

`mase reproduce` does so when a run ends. This script is for records that no run resumes.

    python experiments/compact.py experiments/results/records experiments/validation/records
"""

import argparse
from pathlib import Path

from mase_paper.experiments.store import compact


def main() -> None:
    """Compact every target of the folders named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        for target in sorted(path.name for path in folder.iterdir() if path.is_dir()):
            compact(folder, target)


if __name__ == "__main__":
    main()
