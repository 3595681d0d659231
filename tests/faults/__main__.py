"""Let faults happen during `mase run`, and write what became of them into `docs/reliability.md`.

`python -m tests.faults` runs all kinds; `python -m tests.faults driver worker --n 5` some kinds, five faults of each.
The table is written for kinds whose faults were all tried.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.faults.cluster import KillActor, KillMachine, KillOnRay
from tests.faults.kinds import FullDisk, Kill, KillWorker, ReadOnly, Terminate
from tests.faults.report import record, table, where, write
from tests.faults.scene import Scene, cheap, lstm
from tests.faults.trial import Fault, Tally, Trial

_NAMESPACE = "MASE_FAULTS_NAMESPACE"


@dataclass(frozen=True)
class Kind:
    """A row of the table: faults of one kind, their number, and how many of them interrupt one run."""

    title: str
    fault: Callable[[], Fault]
    n: int
    per_run: int
    scene: Callable[[Path], Scene] = cheap
    mounts: bool = False


KINDS = {
    "driver": Kind("kill -9 of the driver", Kill, 180, 45),
    "driver-lstm": Kind("kill -9 of the driver, `lstm-imdb`", Kill, 20, 20, lstm),
    "worker": Kind("kill -9 of a worker", KillWorker, 180, 60),
    "worker-lstm": Kind("kill -9 of a worker, `lstm-imdb`", KillWorker, 20, 20, lstm),
    "disk": Kind("full disk", FullDisk, 20, 10, mounts=True),
    "read-only": Kind("read-only moment", ReadOnly, 20, 10, mounts=True),
    "sigterm": Kind("SIGTERM", Terminate, 20, 10),
    "ray-driver": Kind("Ray: kill -9 of the driver", KillOnRay, 20, 10),
    "ray-actor": Kind("Ray: kill -9 of an actor", KillActor, 20, 10),
    "ray-machine": Kind("Ray: one of two machines lost", KillMachine, 20, 10),
}


def tried(kind: Kind, n: int, folder: Path, seed: int) -> Tally:
    """Return what became of `n` faults of a kind."""
    folder.mkdir(exist_ok=True)
    scene, fault = kind.scene(folder), kind.fault()
    try:
        return Trial(scene, fault, kind.per_run, seed).run(n)
    finally:
        fault.close()


def in_namespace() -> bool:
    """Return whether this process may mount file systems that nobody else sees; start anew where it may if needed."""
    if _NAMESPACE in os.environ:
        return True
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is not None and not subprocess.run([*unshare, "true"], check=False).returncode:
        again = [*unshare, sys.executable, "-m", "tests.faults", *sys.argv[1:]]
        os.execvpe(again[0], again, os.environ | {_NAMESPACE: "1"})
    return False


def main() -> int:
    """Return 0 if all faults of all kinds were withstood."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--n", type=int, help="faults of each kind, instead of the number in the table")
    parser.add_argument("--seed", type=int, default=18)
    chosen = parser.parse_args()
    names = chosen.kinds or list(KINDS)
    if unknown := set(names) - KINDS.keys():
        parser.error(f"unknown kinds {', '.join(sorted(unknown))}")
    if any(KINDS[name].mounts for name in names) and not in_namespace():
        print("no user namespaces here: full disks and read-only moments are left out", flush=True)  # noqa: T201
        names = [name for name in names if not KINDS[name].mounts]
    all_held = True
    with tempfile.TemporaryDirectory(prefix="mase-faults-") as scratch:
        for name in names:
            kind, place = KINDS[name], where()
            tally = tried(kind, chosen.n or kind.n, Path(scratch) / kind.scene.__name__, chosen.seed)
            print(f"{name}: {'held' if tally.held else 'BROKE'}: {tally}", flush=True)  # noqa: T201
            all_held = all_held and tally.held
            if tally.struck >= kind.n:
                record(name, tally, place, list(KINDS))
                write(table({name: kind.title for name, kind in KINDS.items()}))
    return 0 if all_held else 1


if __name__ == "__main__":
    sys.exit(main())
