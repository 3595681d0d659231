"""Tests of the planted faults: each can be planted in the code as it is."""

import pytest
from tests.planted import ROOT, faults


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.breaks)
def test_the_line_that_is_to_be_broken_is_there(fault):
    source = next(
        folder / fault.file for folder in (ROOT / "src", ROOT / "paper" / "src") if (folder / fault.file).exists()
    )
    assert source.read_text(encoding="utf-8").count(fault.text) == 1
