"""Check what the command writes and how it ends.

It gives results or one line of error, never a traceback, a prompt or a hang.
"""

import json
import re

from tests.hostile.process import Ran

__all__ = ["complaint"]

# What a run tells beside its results: the files it wrote, how far it is each minute, and how many texts it explained.
_NOISE = re.compile(r"wrote |explaining: |[\d,]+ texts? explained")


def complaint(ran: Ran, n_results: int | None = None) -> str | None:
    """Return what is wrong with how a command ended, None if nothing is.

    Parameters
    ----------
    ran
        The call, made with `--json` where there are results.
    n_results
        Lines of results that a success, or a failure of some texts, writes; None where they are not JSON lines.
    """
    lines = [line for line in ran.err.splitlines() if line.strip() and not _NOISE.match(line)]
    if ran.code is None:
        return f"hung: not over after {ran.seconds:.0f} s; {ran.err[-200:]}"
    if ran.code not in (0, 1, 2) or "Traceback" in ran.err:
        return f"exit code {ran.code}: {ran.err[-1000:]}"
    if ran.code == 1 and (not lines or not all(line.startswith("mase: error: ") for line in lines)):
        return f"standard error is not lines of error: {ran.err[-600:]!r}"
    if ran.code == 1 and ran.out == b"" and len(lines) != 1:
        return f"{len(lines)} lines of error: {ran.err[-600:]!r}"
    if ran.code == 2 and not (lines and lines[-1].startswith(("Error: ", "mase: error: "))):
        return f"standard error is not a line of error: {ran.err[-600:]!r}"
    if max(map(len, lines), default=0) > 5000:
        return f"a line of error of {max(map(len, lines))} characters"
    if any(ord(c) < 32 and c not in "\n\t" for c in ran.err):
        return f"standard error holds control characters: {ran.err[-200:]!r}"
    return _results(ran, n_results) if n_results is not None and ran.out else None


def _results(ran: Ran, n_results: int) -> str | None:
    try:
        found = [json.loads(line) for line in ran.out.decode("utf-8").splitlines()]
    except ValueError as error:
        return f"standard output is not lines of JSON ({error}): {ran.out[:200]!r}"
    if len(found) != n_results:
        return f"{len(found)} results, expected {n_results}"
    failed = sum(one.get("schema") == "mase.error/1" for one in found)
    return f"exit code {ran.code} with {failed} failures" if bool(failed) != (ran.code == 1) else None
