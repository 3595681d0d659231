"""Records on disk: one columnar file per target, and the journals of unfinished runs.

A run appends each new record to a journal. When the run ends, the records of its journals are moved to the columnar
file, which is replaced atomically. Until then, and after a kill, records are read from both.
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
_ENDINGS = (".jsonl.gz", ".jsonl")  # an earlier version compressed complete journals


def read(folder: Path, target: str, configurations: Collection[str] | None = None) -> dict[str, Records]:
    """Return the records of a target by configuration; only those of `configurations` if given.

    If there are two records of a text, the first one counts.
    """
    # Read the journals first: a run that ends in between moves records from its journals to the columnar file.
    journals = [
        (configuration, read_journal(path)) for configuration, path in _journals(folder, target, configurations)
    ]
    parts = {
        configuration: [records]
        for configuration, records in load(columns_path(folder, target), configurations).items()
    }
    for configuration, records in journals:
        parts.setdefault(configuration, []).append(records)
    return {configuration: merged(records) for configuration, records in parts.items()}


def compact(folder: Path, target: str) -> None:
    """Move the journals of a target into its columnar file, except those that another run appends to."""
    if not (folder / target).is_dir():
        return
    with locked(folder):
        parts = {configuration: [records] for configuration, records in load(columns_path(folder, target)).items()}
        moved = [(configuration, path) for configuration, path in _journals(folder, target) if not in_use(path)]
        for configuration, path in moved:
            parts.setdefault(configuration, []).append(read_journal(path))
        if moved:
            save(
                columns_path(folder, target),
                {configuration: merged(records) for configuration, records in parts.items()},
            )
        _remove(moved)


def drop(folder: Path, target: str, configurations: Collection[str]) -> None:
    """Remove the records of these configurations on a target."""
    if not folder.is_dir():
        return
    with locked(folder):
        journals = _journals(folder, target, configurations)
        busy = next((path for _, path in journals if in_use(path)), None)
        if busy is not None:
            raise DataError(f"{busy} is being written by another run; wait for it, or use another --output")
        result = load(columns_path(folder, target))
        left = {
            configuration: records for configuration, records in result.items() if configuration not in configurations
        }
        if left and len(left) < len(result):
            save(columns_path(folder, target), left)
        if not left:
            columns_path(folder, target).unlink(missing_ok=True)
        _remove(journals)


def _journals(folder: Path, target: str, configurations: Collection[str] | None = None) -> list[tuple[str, Path]]:
    """Return the configuration and the path of each journal of a target, the older format first."""
    journals: list[tuple[str, Path]] = []
    try:
        names = sorted(path.name for path in (folder / target).iterdir())
    except FileNotFoundError:  # another run moved the last journal
        return journals
    for ending in _ENDINGS:
        for name in names:
            configuration = name.removesuffix(ending)
            if name.endswith(ending) and name[0] != "." and (configurations is None or configuration in configurations):
                journals.append((configuration, folder / target / name))
    return journals


def _remove(journals: Collection[tuple[str, Path]]) -> None:
    """Remove journals, and their folder if it is then empty."""
    for _, path in journals:
        path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            path.parent.rmdir()
