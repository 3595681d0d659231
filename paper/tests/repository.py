"""Where the repository is, for the tests of its documents and scripts; a source distribution has none of them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
needs_repository = pytest.mark.skipif(
    not (ROOT / "experiments").is_dir(), reason="checks documents and scripts of the repository"
)
