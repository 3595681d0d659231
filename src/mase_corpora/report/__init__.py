"""The report of a run: a folder that is written whole or not at all."""

import os
import secrets
import shutil
import stat
from itertools import islice
from pathlib import Path

from mase.errors import DataError
from mase.files import cannot_write, writing
from mase_corpora.report.pages import FIRST_TEXTS, GENERATOR, page
from mase_corpora.report.texts import FILE, FOLDER, Entry, Flags, ListWriter, Workbench, entries
from mase_corpora.summary import Summary

__all__ = ["check_free", "write_report"]
PAGE = "index.html"
_HEAD = 1_000


def write_report(
    summary: Summary, folder: str | os.PathLike[str], *, texts: bool = True, workbench: str | None = None
) -> Path:
    """Write the report of the run of a summary to a folder, and return its page.

    The page is less than 3 MB. The texts are streamed from the run, so that memory does not grow with their number.

    Parameters
    ----------
    summary
        The summary of the run.
    folder
        The folder of the report. It is new, empty, or a former report, which is replaced.
    texts
        Whether to list the texts and show words in context. A run without texts has neither.
    workbench
        Address of the workbench of the server that shows the report, to which each text then leads; None for a report
        that is opened as a file.
    """
    target, run = check_free(folder), summary.run
    listed = texts and run.manifest.asked.documents
    bench = None if workbench is None else Workbench.of(workbench, run)
    draft = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}"
    with writing(folder):
        try:
            draft.mkdir(parents=True)
            first = _write_list(summary, draft / FOLDER) if listed else []
            (draft / PAGE).write_text(page(summary, first, texts=listed, workbench=bench), encoding="utf-8")
            _replace(target, draft)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return Path(folder) / PAGE


def check_free(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder that is new, empty or a former report."""
    try:
        target = Path(folder).resolve()
        if not target.exists():
            return target
        if not target.is_dir():
            raise DataError(f"cannot write {os.fspath(folder)!r}: it is a file, expected the path of a folder")
        foreign = _foreign(target)
    except (OSError, ValueError) as error:  # A path with a NUL character raises ValueError.
        raise error if isinstance(error, DataError) else cannot_write(folder, error) from error
    if foreign is not None:
        raise DataError(
            f"cannot write the report to {os.fspath(folder)!r}: it has {foreign!r}, expected a new or empty folder, or "
            "a former report; choose another folder"
        )
    return target


def _write_list(summary: Summary, folder: Path) -> list[Entry]:
    """Write the list of texts, and return the first of them."""
    folder.mkdir()
    flags = Flags(summary.settings.label_column, summary.settings.low_confidence)
    writer = ListWriter(folder, summary.run.manifest.asked.kept)
    stream = entries(summary.run, flags)
    first = list(islice(stream, FIRST_TEXTS))
    for entry in first:
        writer.add(entry)
    for entry in stream:
        writer.add(entry)
    writer.close()
    return first


def _foreign(folder: Path) -> str | None:
    """Return the name of something in a folder that is not of a report; None if there is nothing."""
    names = sorted(path.name for path in folder.iterdir())
    if not names:
        return None
    page_of_report = folder / PAGE
    if not page_of_report.is_file() or GENERATOR.encode() not in page_of_report.read_bytes()[:_HEAD]:
        return names[0]
    others = (name for name in names if name not in (PAGE, FOLDER))
    listed = sorted(path.name for path in (folder / FOLDER).iterdir()) if FOLDER in names else []
    foreign = (f"{FOLDER}/{name}" for name in listed if FILE.fullmatch(name) is None)
    return next(others, None) or next(foreign, None)


def _replace(target: Path, draft: Path) -> None:
    """Put what is in a draft into its target; what was there before comes back if that fails.

    A folder that is there stays: it may be the working directory of a shell, and its permissions are the user's.
    """
    if not target.exists():
        draft.rename(target)
        return
    former = draft.with_name(f"{draft.name}.former")
    former.mkdir(stat.S_IRWXU)
    moved: list[tuple[Path, Path]] = []
    try:
        for source, folder in ((target, former), (draft, target)):
            moved.extend((item, item.rename(folder / item.name)) for item in sorted(source.iterdir()))
    except BaseException:  # Ctrl-C, too
        for before, now in reversed(moved):
            now.rename(before)
        former.rmdir()
        raise
    shutil.rmtree(former, ignore_errors=True)
