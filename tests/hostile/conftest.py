"""The tally of a family: how many cases it tried, for the table of `make hostile`."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

Judged = Iterable[tuple[Any, str | None]]


@pytest.fixture
def judge(record_property: Callable[[str, object], None]) -> Callable[[Judged], None]:
    """Return the function that counts cases with their verdicts, and fails if one broke."""

    def judged(cases: Judged) -> None:
        verdicts = list(cases)
        broke = [f"{name!s:.120}: {_short(verdict)}" for name, verdict in verdicts if verdict is not None]
        record_property("tried", len(verdicts))
        record_property("broke", len(broke))
        assert verdicts, "no case was tried"
        assert not broke, f"{len(broke)} of {len(verdicts)} broke:\n" + "\n".join(broke)

    return judged


def _short(verdict: str) -> str:
    return verdict if len(verdict) < 1200 else f"{verdict[:500]} ... {verdict[-600:]}"
