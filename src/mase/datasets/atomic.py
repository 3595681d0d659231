"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place when the block ends well, and is removed when it does not.

    Raises
    ------
    OSError
        If the folder cannot be made or written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o644)  # mkstemp gives 0o600, which other users of a shared folder could not read
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
