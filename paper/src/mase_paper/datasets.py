"""IMDB and Reuters from their archives, `mase data`.

These rules give the published counts. Every story with a topic is labelled with its first topic. Topics with at least
15 such stories are kept. The stories, in order of NEWID, are shuffled, and the first 80 % are the training split.

Notes
-----
We know of no published checksum of the official archive. Instead the counts of the rebuilt table are checked: 8,982
training and 2,246 test stories with 46 topics. This detects a damaged or wrong archive, but not changed words in a
story.
"""

import gzip
import hashlib
import os
import re
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import httpx
import numpy as np
from platformdirs import user_cache_dir

from mase.arrays import Ints
from mase.errors import DataError, OptionError
from mase.files import replacing, writing
from mase.registry import Registry
from mase.sources.files import require_pyarrow

# The share of the training split on which the bundled models were not trained.
VALIDATION_SHARE = 0.1
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Split:
    """One split of a data set: n texts with their labels.

    `ids` are unique in the split: label and number in the source, as in "pos/1234". `sha256` is the file's checksum.
    """

    name: str
    split: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    ids: tuple[str, ...]
    sha256: str

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, split: str, rows: Ints) -> "Split":
        """Return the rows `(m,)` as a split with another name."""
        chosen = rows.tolist()
        texts, labels, ids = (tuple(column[row] for row in chosen) for column in (self.texts, self.labels, self.ids))
        return Split(self.name, split, texts, labels, ids, self.sha256)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: the file name of its table, its official archive, and the counts of a correct rebuild.

    `rebuild` turns the open archive into rows. `md5` is the published checksum of the archive, or None.
    """

    name: str
    file: str
    urls: tuple[str, ...]
    md5: str | None
    n_train: int
    n_test: int
    n_labels: int
    rebuild: Callable[[IO[bytes]], list[Row]]


def cache_folder() -> Path:
    """Return the user's cache folder for downloaded data sets."""
    return Path(user_cache_dir("mase"))


def find(dataset: Dataset, data_dir: str | os.PathLike[str] | None) -> Path:
    """Return the path of the data set's table: in `data_dir` if given, else in the folder MASE_DATA or in the cache."""
    if data_dir is not None:
        folders = [Path(data_dir)]
    else:
        environment = os.environ.get("MASE_DATA")
        folders = [*([Path(environment)] if environment else []), cache_folder()]
    for folder in folders:
        try:
            if (folder / dataset.file).is_file():
                return folder / dataset.file
        except (OSError, ValueError) as error:
            raise DataError(f"{str(folder)!r:.200} cannot be the path of a folder: {error}") from error
    raise DataError(
        f"no file {dataset.file} in {' or '.join(map(str, folders))}, expected the table of data set {dataset.name!r}; "
        "pass the folder that holds it (data_dir, or the variable MASE_DATA), or download it from its official source "
        f"into the cache with mase_paper.datasets.get({dataset.name!r}), on the command line "
        f"mase data get {dataset.name}"
    )


def split_off(n: int, share: float) -> tuple[Ints, Ints]:
    """Return the rows `(n - m,)` to train on and the held-out rows `(m,)`: a fixed random share, at least one row."""
    order = np.random.default_rng(0).permutation(n)
    n_held = max(1, int(share * n))
    return np.sort(order[n_held:]), np.sort(order[:n_held])


ARCHIVE_BYTES = 512 << 20  # of a download: IMDB has 84 MB
UNPACKED_BYTES = 1 << 30  # of a whole archive: IMDB has about a third
MEMBER_BYTES = 64 << 20  # of one member that is read: a file of Reuters has 1.5 MB
HEADER_BYTES = 1 << 20  # of what describes a member, as a long name
MEMBERS = 300_000  # IMDB has 100,022
_DIGITS = 18  # numbers of up to 18 digits fit into 64 bits

# Errors of tarfile, gzip and zlib for damaged and hostile archives; gzip's own error is an OSError.
_DAMAGED = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, LookupError, ArithmeticError, RecursionError)


def members(archive: IO[bytes], pattern: str) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the match of the name and the content of each regular file of a tar.gz whose whole name matches
    `pattern`.
    """
    wanted = re.compile(pattern)
    try:
        with gzip.GzipFile(fileobj=archive) as unpacked, tarfile.open(fileobj=_bounded(unpacked), mode="r:") as tar:
            for count, member in enumerate(tar, 1):
                if count > MEMBERS:
                    raise DataError(
                        f"the archive has more than {MEMBERS:,} members, which is the limit; download it again"
                    )
                tar.members = []  # type: ignore[attr-defined]  # or tarfile would keep all members
                match = wanted.fullmatch(member.name.removeprefix("./"))
                if match:
                    yield match, _content(unpacked, member)
    except DataError:
        raise
    except _DAMAGED as error:
        raise DataError(
            f"the archive is not a complete tar.gz ({error or type(error).__name__}); download it again"
        ) from error


def decoded(match: re.Match[str], content: bytes) -> str:
    """Return the text of a member in UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"member {match[0]!r:.200} of the archive is not UTF-8 at byte {error.start}, expected the official archive"
        ) from error


def number(digits: str, where: str) -> int:
    """Return an integer that fits into 64 bits."""
    if len(digits) > _DIGITS or not digits.isascii() or not digits.isdecimal():
        raise DataError(
            f"{where} has the number {digits[:20]!r} of {len(digits):,} characters, expected up to {_DIGITS} digits"
        )
    return int(digits)


def _content(unpacked: gzip.GzipFile, member: tarfile.TarInfo) -> bytes:
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise DataError(
            f"member {member.name!r:.200} of the archive is a link, a folder or a device, expected a regular file"
        )
    if member.size > MEMBER_BYTES:
        raise DataError(
            f"member {member.name!r:.200} of the archive has {member.size:,} bytes, expected at most {MEMBER_BYTES:,}"
        )
    unpacked.seek(member.offset_data)
    content = unpacked.read(member.size)
    if len(content) < member.size:
        raise EOFError("it ends within a member")
    return content


def _bounded(file: gzip.GzipFile) -> IO[bytes]:
    return cast(IO[bytes], _Bounded(file))


class _Bounded:
    """A file with a limit on the unpacked size, because a small archive can unpack to any size."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file
        self._header = 0  # bytes of the long header that is being read

    def read(self, size: int) -> bytes:
        """Return `size` bytes of a header, which newer versions of Python read in pieces."""
        self._header = 0 if size == tarfile.BLOCKSIZE else self._header + size
        if size < 0 or self._header > HEADER_BYTES:
            raise DataError(f"the archive has a header of {self._header:,} bytes, expected at most {HEADER_BYTES:,}")
        self._check(self._file.tell())
        return self._file.read(size)

    def seek(self, offset: int) -> int:
        """Go to an offset from the start; a gzip file unpacks everything before it."""
        self._check(offset)
        return self._file.seek(offset)

    def tell(self) -> int:
        """Return the offset from the start."""
        return self._file.tell()

    def _check(self, offset: int) -> None:
        if offset > UNPACKED_BYTES:
            raise DataError(f"the archive unpacks to more than {UNPACKED_BYTES:,} bytes, which is the limit")


_IMDB_MEMBER = r"aclImdb/(?P<split>train|test)/(?P<label>neg|pos)/(?P<id>[0-9]+)_(?P<rating>[0-9]+)\.txt"


def rebuild_imdb(archive: IO[bytes]) -> list[Row]:
    """Return one row per labelled review of `aclImdb_v1.tar.gz`, sorted by split, label and number.

    Texts are unchanged, with their `<br />` tags. The unlabelled part is left out.
    """
    rows: list[Row] = [
        {
            "split": match["split"],
            "id": number(match["id"], match[0][:100]),
            "label": match["label"],
            "rating": number(match["rating"], match[0][:100]),
            "text": decoded(match, content),
        }
        for match, content in members(archive, _IMDB_MEMBER)
    ]
    return sorted(rows, key=lambda row: (row["split"], row["label"], row["id"]))


IMDB = Dataset(
    name="imdb",
    file="imdb.parquet",
    urls=("http://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",),
    md5="7c2ac02c03563afcf9b574c7e56c153a",
    n_train=25_000,
    n_test=25_000,
    n_labels=2,
    rebuild=rebuild_imdb,
)

_REUTERS_MEMBER = r"(?:.*/)?reut2-\d{3}\.sgm"
_MIN_STORIES = 15
_TRAIN_SHARE = 0.8
_SPLIT_SEED = 113  # the seed of the commonly used split of Keras
_NEWID = re.compile(r'\bNEWID="([0-9]+)"')
_TAG = re.compile(r"</?(?:AUTHOR|DATELINE|TITLE|BODY)>")
_CONTROL = re.compile(r"&#\d+;|[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # control characters and their entities
_SIGNATURE = re.compile(r"\breuter\Z", re.IGNORECASE)


def rebuild_reuters(archive: IO[bytes]) -> list[Row]:
    """Return one row per selected story of `reuters21578.tar.gz`, in shuffled order."""
    result = [story for _, content in members(archive, _REUTERS_MEMBER) for story in stories(content.decode("latin-1"))]
    counts = Counter(story["label"] for story in result)
    kept = {story["id"]: story for story in result if counts[story["label"]] >= _MIN_STORIES}
    order = np.array(sorted(kept), dtype=np.int64)
    np.random.RandomState(_SPLIT_SEED).shuffle(order)  # the legacy generator, since the split depends on it
    n_train = int(_TRAIN_SHARE * len(order))
    return [
        {"split": "train" if rank < n_train else "test", **kept[number]} for rank, number in enumerate(order.tolist())
    ]


def stories(sgml: str) -> list[Row]:
    """Return the stories of one SGML file that have a topic: id (NEWID), label (first topic), all topics, and text."""
    rows: list[Row] = []
    for head, inside in _elements(sgml, "REUTERS"):
        _, marked = next(_elements(inside, "TOPICS"), ("", ""))
        topics, result = [topic for _, topic in _elements(marked, "D")], _NEWID.search(head)
        if topics and result:
            _, text = next(_elements(inside, "TEXT"), ("", ""))
            row = {"id": number(result[1], "a story"), "label": topics[0], "topics": topics, "text": _story_text(text)}
            rows.append(row)
    return rows


def _story_text(marked: str) -> str:
    """Return "title. body" in one line, without author, dateline and the closing "Reuter"."""
    _, title = next(_elements(marked, "TITLE"), ("", ""))
    _, body = next(_elements(marked, "BODY"), ("", _TAG.sub("", _without_titles(marked))))
    plain = _SIGNATURE.sub("", _plain(body).rstrip()).strip()
    parts = [part for part in (_plain(title), plain) if part.strip()]
    return " ".join(". ".join(parts).split())


def _without_titles(marked: str) -> str:
    *titled, rest = marked.split("</TITLE>")
    return "".join([*(part.partition("<TITLE>")[0] for part in titled), rest])


def _elements(marked: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the attributes and the content of each element. An unclosed element ends the search (linear time)."""
    opening, closing, offset = re.compile(rf"<{name}\b"), f"</{name}>", 0
    while start := opening.search(marked, offset):
        inside = marked.find(">", start.end()) + 1
        end = marked.find(closing, inside)
        if not inside or end < 0:
            return
        yield marked[start.end() : inside - 1], marked[inside:end]
        offset = end + len(closing)


def _plain(marked: str) -> str:
    return _CONTROL.sub(" ", marked).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


REUTERS = Dataset(
    name="reuters",
    file="reuters46.parquet",
    urls=(
        "https://www.daviddlewis.com/resources/testcollections/reuters21578/reuters21578.tar.gz",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/reuters21578-mld/reuters21578.tar.gz",
    ),
    md5=None,
    n_train=8_982,
    n_test=2_246,
    n_labels=46,
    rebuild=rebuild_reuters,
)

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
    """Stream `url` into an open file and return the md5 of what was received."""
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


DATASETS = Registry(
    "dataset",
    {
        "imdb": "mase_paper.datasets:IMDB",
        "reuters": "mase_paper.datasets:REUTERS",
    },
    "mase.datasets",
)

_COLUMNS = ["split", "id", "label", "text"]


def read_split(path: Path, name: str, split: str) -> Split:
    """Return the rows of one split of the table at `path`, in the file's order."""
    pa, parquet = require_pyarrow()
    again = f"mase_paper.datasets.get({name!r}), on the command line mase data get {name}"
    try:
        table = parquet.read_table(path, columns=_COLUMNS)
        columns = {column: table.column(column).to_pylist() for column in _COLUMNS}
    except (pa.ArrowException, LookupError, OSError, ValueError, OverflowError) as error:
        raise DataError(
            f"{path} could not be read ({error}), expected a Parquet table with columns {', '.join(_COLUMNS)}; "
            f"remove it and download it again with {again}"
        ) from error
    invalid = next(
        (name for name in ("split", "label", "text") if not all(isinstance(v, str) for v in columns[name])), None
    )
    if invalid is not None:
        raise DataError(
            f"{path} has a {invalid} that is not a string, expected the official table; remove it and download it "
            f"again with {again}"
        )
    rows = [index for index, value in enumerate(columns["split"]) if value == split]
    if not rows:
        known = set(columns["split"])
        known |= {"validation"} if "train" in known else set()
        raise OptionError(f"data set {name!r} has no split {split!r}, expected one of: {', '.join(sorted(known))}")
    labels, ids = columns["label"], columns["id"]
    return Split(
        name=name,
        split=split,
        texts=tuple(columns["text"][index] for index in rows),
        labels=tuple(labels[index] for index in rows),
        ids=tuple(f"{labels[index]}/{ids[index]}" for index in rows),
        sha256=_sha256(path),
    )


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as a Parquet table (zstd), atomically."""
    pa, parquet = require_pyarrow()
    table = pa.Table.from_pylist(list(rows))
    with writing(path), replacing(path) as draft:
        parquet.write_table(table, draft, compression="zstd")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load(name: str, split: str, data_dir: str | os.PathLike[str] | None = None) -> Split:
    """Return one split of a data set: "train", "test", or "validation".

    The validation split is the tenth of "train" on which the bundled models were not trained. Settings are chosen on
    it.

    Parameters
    ----------
    name, split
        Names of the data set and of the split.
    data_dir
        Folder of the table (`imdb.parquet`, `reuters46.parquet`). The default is the folder in the variable MASE_DATA,
        then the cache of `get`.

    Raises
    ------
    UnknownNameError
        If there is no such data set.
    DataError
        If its file is missing or unreadable.
    OptionError
        If it has no such split.
    MissingDependencyError
        If pyarrow is not installed.
    """
    path = find(DATASETS[name], data_dir)
    if split != "validation":
        return read_split(path, name, split)
    train = read_split(path, name, "train")
    return train.part(split, split_off(len(train), VALIDATION_SHARE)[1])


def get(
    name: str,
    cache: str | os.PathLike[str] | None = None,
    *,
    archive: str | os.PathLike[str] | None = None,
    progress: "Progress | None" = None,
) -> Path:
    """Return the path of a data set's table, which is downloaded from its official source if it does not exist.

    Parameters
    ----------
    name
        Name of the data set.
    cache
        Folder for the table; the user's cache by default.
    archive
        A local copy of the official archive, to use instead of a download.
    progress
        Called with the number of bytes received so far and the total (None if unknown).
    """
    dataset: Dataset = DATASETS[name]
    folder = Path(cache) if cache is not None else cache_folder()
    if _is_file(folder / dataset.file):
        return folder / dataset.file

    return build(dataset, folder, archive=Path(archive) if archive is not None else None, progress=progress)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # not a valid path, which is reported when the folder is made
        return False
