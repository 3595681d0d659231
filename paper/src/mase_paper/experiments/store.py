"""Records on disk: one columnar file per target, and beside it the journals of runs that are under way.

A run appends each record to a journal as soon as it is known. When the run ends, what its journals hold goes to the
columnar file, which is replaced whole; until then, and after a kill, records are read from both.
"""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from mase.errors import DataError
from mase.platforms import locked
from mase_paper.experiments.columns import columns_path, load, save
from mase_paper.experiments.journal import in_use, read_journal
from mase_paper.experiments.records import Records, merged

__all__ = ["compact", "drop", "read"]

_ENDINGS = (".jsonl.gz", ".jsonl")  # the first is how an earlier version kept complete journals


def read(folder: Path, target: str, specs: Collection[str] | None = None) -> dict[str, Records]:
    """Return the records of a target by spec, all of them or those of `specs`; of two records of one text the first counts.

    Raises
    ------
    DataError
        If a file cannot be read or does not hold records.
    MissingDependencyError
        If there is a columnar file and pyarrow is not installed.
    """
    # In this order: a run that ends in between moves records from its journals to the columns.
    journals = [(spec, read_journal(path)) for spec, path in _journals(folder, target, specs)]
    parts = {spec: [records] for spec, records in load(columns_path(folder, target), specs).items()}
    for spec, records in journals:
        parts.setdefault(spec, []).append(records)
    return {spec: merged(records) for spec, records in parts.items()}


def compact(folder: Path, target: str) -> None:
    """Move the journals of a target into its columnar file, but for those that another run appends to.

    Raises
    ------
    DataError
        If a file cannot be read or written; then all is left as it was.
    MissingDependencyError
        If there are journals and pyarrow is not installed.
    """
    if not (folder / target).is_dir():
        return
    with locked(folder):
        parts = {spec: [records] for spec, records in load(columns_path(folder, target)).items()}
        moved = [(spec, path) for spec, path in _journals(folder, target) if not in_use(path)]
        for spec, path in moved:
            parts.setdefault(spec, []).append(read_journal(path))
        if moved:
            save(columns_path(folder, target), {spec: merged(records) for spec, records in parts.items()})
        _remove(moved)


def drop(folder: Path, target: str, specs: Collection[str]) -> None:
    """Remove the records of some specs on a target.

    Raises
    ------
    DataError
        If another run appends to one of them, or a file cannot be read or written.
    """
    if not folder.is_dir():
        return
    with locked(folder):
        journals = _journals(folder, target, specs)
        busy = next((path for _, path in journals if in_use(path)), None)
        if busy is not None:
            raise DataError(f"{busy} is being written by another run; wait for it, or use another --output")
        found = load(columns_path(folder, target))
        left = {spec: records for spec, records in found.items() if spec not in specs}
        if left and len(left) < len(found):
            save(columns_path(folder, target), left)
        if not left:
            columns_path(folder, target).unlink(missing_ok=True)
        _remove(journals)


def _journals(folder: Path, target: str, specs: Collection[str] | None = None) -> list[tuple[str, Path]]:
    """Return the spec and the path of each journal of a target, the oldest form first."""
    found = []
    for ending in _ENDINGS:
        for path in sorted((folder / target).glob(f"[!.]*{ending}")):
            spec = path.name.removesuffix(ending)
            if specs is None or spec in specs:
                found.append((spec, path))
    return found


def _remove(journals: Collection[tuple[str, Path]]) -> None:
    """Remove journals, and their folder with the last of them."""
    for _, path in journals:
        path.unlink(missing_ok=True)
        with suppress(OSError):  # there are others
            path.parent.rmdir()
