"""Download official archives, check them, and convert them to tables."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx

from mase.datasets.archive import ARCHIVE_BYTES
from mase.datasets.dataset import Dataset, Row
from mase.datasets.table import require_pyarrow, write_rows
from mase.errors import DataError
from mase.files import writing

__all__ = ["Progress", "build", "download"]

# Called with the number of bytes received so far and the total, or None if the server does not report it.
Progress = Callable[[int, int | None], None]

_CHUNK = 1 << 20
_TIMEOUT_S = 60.0
_LONGEST_LENGTH = 18  # digits of a reported length


def build(
    dataset: Dataset,
    folder: Path,
    *,
    archive: Path | None = None,
    client: httpx.Client | None = None,
    progress: Progress | None = None,
) -> Path:
    """Return the path of the data set's table in `folder`, rebuilt from the official archive.

    Parameters
    ----------
    dataset, folder
        The data set, and the folder of its table.
    archive
        A local copy of the archive; downloaded if None.
    client
        HTTP client, for proxies and tests.
    progress
        Called with the number of bytes received and the total.

    Raises
    ------
    DataError
        If the download fails, its checksum is wrong, or the counts of the table are wrong.
    MissingDependencyError
        If pyarrow is not installed.
    """
    require_pyarrow()  # before the download, not after
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot make the folder {str(folder)!r:.200}: {_reason(error)}; choose another") from error
    source = _local(archive) if archive is not None else _remote(dataset, folder, client, progress)
    with source as (file, md5):
        _check_md5(dataset, md5)
        rows = dataset.rebuild(file)
    _check_counts(dataset, rows)
    write_rows(folder / dataset.file, rows)
    return folder / dataset.file


def download(url: str, target: IO[bytes], client: httpx.Client, progress: Progress | None = None) -> str:
    """Stream `url` into an open file and return the md5 of what was received.

    Raises
    ------
    httpx.HTTPError
        If the server cannot be reached, answers with an error or stops half-way.
    DataError
        If it sends more bytes than any official archive has.
    """
    digest = hashlib.md5(usedforsecurity=False)
    # Some servers declare a .tar.gz as a content encoding, but the checksum is that of the published file.
    with client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as response:
        response.raise_for_status()
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() and len(length) < _LONGEST_LENGTH else None
        for chunk in response.iter_raw(_CHUNK):
            if response.num_bytes_downloaded > ARCHIVE_BYTES:
                raise DataError(f"{url} sends more than {ARCHIVE_BYTES:,} bytes, which is the limit")
            target.write(chunk)
            digest.update(chunk)
            if progress is not None:
                progress(response.num_bytes_downloaded, total)
    return digest.hexdigest()


@contextmanager
def _local(archive: Path) -> Iterator[tuple[IO[bytes], str]]:
    try:
        if archive.exists() and not archive.is_file():  # reading a pipe could wait forever
            raise DataError(f"{archive} is a folder, a pipe or a device, expected the official archive")
        file = archive.open("rb")
    except DataError:
        raise
    except (OSError, ValueError) as error:
        raise DataError(
            f"cannot read {str(archive)!r:.200} ({_reason(error)}), expected the official archive"
        ) from error
    with file:
        md5 = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        file.seek(0)
        yield file, md5


@contextmanager
def _remote(
    dataset: Dataset, folder: Path, client: httpx.Client | None, progress: Progress | None
) -> Iterator[tuple[IO[bytes], str]]:
    """Yield the downloaded archive and its md5.

    The file has no name, if the system allows that, so that even a killed process leaves nothing.
    """
    with writing(folder), tempfile.TemporaryFile(dir=folder) as file:
        if client is not None:
            md5 = _first_response(dataset, file, client, progress)
        else:
            with _client() as new_client:
                md5 = _first_response(dataset, file, new_client, progress)
        file.seek(0)
        yield file, md5


def _client() -> httpx.Client:
    """Return a client that uses the proxies of the environment."""
    try:
        return httpx.Client(follow_redirects=True, timeout=_TIMEOUT_S)
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise DataError(
            f"the proxy of this environment cannot be used ({error}), expected http:// or https:// in HTTP_PROXY, "
            "HTTPS_PROXY and ALL_PROXY"
        ) from error


def _first_response(dataset: Dataset, file: IO[bytes], client: httpx.Client, progress: Progress | None) -> str:
    failures = []
    for url in dataset.urls:
        file.seek(0)
        file.truncate()
        try:
            return download(url, file, client, progress)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            failures.append(f"{url}: {error or type(error).__name__}")
    raise DataError(
        f"could not download data set {dataset.name!r} ({'; '.join(failures)}); check the connection, or get the "
        "archive by other means and pass archive='path/to/it'"
    )


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _check_md5(dataset: Dataset, md5: str) -> None:
    if dataset.md5 is not None and md5 != dataset.md5:
        raise DataError(
            f"the archive of data set {dataset.name!r} has md5 {md5}, expected {dataset.md5}: it is damaged or "
            "was changed; nothing was kept, download it again"
        )


def _check_counts(dataset: Dataset, rows: list[Row]) -> None:
    splits = [row["split"] for row in rows]
    got = (splits.count("train"), splits.count("test"), len({row["label"] for row in rows}))
    expected = (dataset.n_train, dataset.n_test, dataset.n_labels)
    if got != expected:
        raise DataError(
            f"the table of data set {dataset.name!r} rebuilt from the archive has {got[0]} train rows, {got[1]} test "
            f"rows and {got[2]} labels, expected {expected[0]}, {expected[1]} and {expected[2]}; the archive is not "
            "the official one"
        )
