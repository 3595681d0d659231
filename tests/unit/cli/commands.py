"""The command `mase` in a process of its own."""

import subprocess
import sys

PATIENCE = 600  # seconds until a process counts as one that hangs, also on a machine that is busy


def command(*arguments, **settings):
    return subprocess.run(
        [sys.executable, "-m", "mase", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        **settings,
    )
