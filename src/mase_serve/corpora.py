"""Runs and files of results as pages, each made by a process of its own."""

import codecs
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any, BinaryIO, NoReturn, TypeVar

import msgspec
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from mase.attribution.attribution import Attribution
from mase.attribution.json import SCHEMA, Failure, loads
from mase.errors import DataError, MaseError, WorkerError
from mase.files import cannot_read, command, ending, pipes, writing
from mase.models.locks import ONE_THREAD
from mase.registry import require
from mase.render.html import checksum, resource, templates
from mase.render.marks import inline
from mase.sources.rows import Item
from mase.text import shortened
from mase_corpora.folder import Folder
from mase_corpora.plan import Asked, Manifest
from mase_corpora.read import Run, open_run
from mase_corpora.report import write_report
from mase_corpora.report.pages import policy
from mase_corpora.schema import Rows
from mase_corpora.storage import storage_of
from mase_corpora.summary import summarise


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """The share of the work that is done, or the type and the message of the error that ended it.

    `policy` is the security policy of the page, in the last message of a process that has written it.
    """

    share: float = 0.0
    error: str | None = None
    message: str = ""
    policy: str = ""


class Reading:
    """A process that reads a corpus and writes its report.

    Parameters
    ----------
    source, folder, label_column, group_column
        As of `mase_serve.corpora.write_corpus`.
    """

    def __init__(self, source: str, folder: Path, label_column: str | None, group_column: str | None) -> None:
        arguments = (source, os.fspath(folder), label_column or "", group_column or "")
        scratch = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), os.fspath(folder))  # which the server deletes in any case
        try:
            self._popen = subprocess.Popen(
                command("mase_serve.corpora", *arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | ONE_THREAD | scratch,
            )
        except (OSError, ValueError) as error:
            raise WorkerError(f"a process that reads {source!r:.200} cannot be started: {error}") from error

    def follow(self, tell: Callable[[float], None]) -> Message:
        """Call `tell` with each share of the work that is done, and return the last message."""
        assert self._popen.stdout is not None
        last = Message()
        with self._popen:
            for line in self._popen.stdout:
                if line.endswith(b"\n"):  # else it was ended in the middle of it
                    last = msgspec.json.decode(line, type=Message)
                    tell(last.share)
        if not last.policy and last.error is None:
            how = ending(self._popen.returncode)
            message = f"the process that read the corpus {how} before it was done; reload this page to try again"
            return Message(error=WorkerError.__name__, message=message)
        return last

    def end(self) -> None:
        """Kill the process; `follow` then returns."""
        self._popen.kill()


# Seconds for which a version is not compared with its source: a run under way may grow faster than it is read.
FRESH = 5.0
_LARGEST_MANIFEST = 64 << 20
_KEPT_VERSIONS = 2


@dataclass(frozen=True, slots=True)
class Version:
    """A report of a corpus as it was at some moment.

    Attributes
    ----------
    number
        Its number, from 1.
    folder
        The folder of the report.
    policy
        The security policy of its page.
    state
        What the corpus was like; see `_state`.
    made
        When it was finished, by the monotonic clock.
    """

    number: int
    folder: Path
    policy: str
    state: str
    made: float


@dataclass(frozen=True, slots=True)
class Preparing:
    """A report is being made: `share` is done. `former` is the version before, if there is one."""

    share: float
    former: Version | None


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The corpus cannot be shown: the name of the type of the error, and its message."""

    error: str
    message: str


class Corpus:
    """A run or a file of results, and its reports.

    Parameters
    ----------
    source
        Folder or URI of a run, or a file of results. It is only read.
    folder
        A folder for the reports.
    pool
        Threads that wait for the processes that read: as many as may read at the same time.
    columns
        Label column and group column of a run.
    """

    def __init__(
        self, source: str, folder: Path, pool: ThreadPoolExecutor, columns: tuple[str | None, str | None]
    ) -> None:
        self.source = source
        self._folder, self._pool, self._columns = folder, pool, columns
        self._versions: dict[int, Version] = {}
        self._n_begun, self._share, self._closed = 0, 0.0, False
        self._job: Future[Version | Unavailable] | None = None
        self._reading: Reading | None = None
        self._lock = Lock()

    def look(self) -> Version | Preparing | Unavailable:
        """Return the newest version if it shows the corpus as it is; else begin to make one, or say how far that is.

        A failure is returned once, then it is tried again.
        """
        with self._lock:
            if self._job is not None and self._job.done():
                job, self._job = self._job, None
                result = job.result()
                if isinstance(result, Unavailable):
                    return result
                self._versions[result.number] = result
                self._forget()
            if self._job is None:
                newest = self.newest
                if newest is not None and (
                    time.monotonic() - newest.made < FRESH or newest.state == _state(self.source)
                ):
                    return newest
                self._n_begun += 1
                self._share = 0.0
                self._job = self._pool.submit(self._prepare, self._n_begun)
            return Preparing(self._share, self.newest)

    @property
    def newest(self) -> Version | None:
        """The newest version."""
        return self._versions.get(max(self._versions, default=0))

    @property
    def share(self) -> float | None:
        """The share of a new version that is made; None if none is being made."""
        job = self._job
        return None if job is None or job.done() else self._share

    def version(self, number: str) -> Version | None:
        """Return a version by its number as an address has it; None if there is none, or it was deleted."""
        return next((result for result in list(self._versions.values()) if str(result.number) == number), None)

    def close(self) -> None:
        """End the process that reads."""
        self._closed = True
        if self._reading is not None:
            self._reading.end()

    def _prepare(self, number: int) -> Version | Unavailable:
        folder = self._folder / str(number)
        state = _state(self.source)
        try:
            folder.mkdir(parents=True)
            self._reading = Reading(self.source, folder, *self._columns)
            if self._closed:
                self._reading.end()
            last = self._reading.follow(self._tell)
            if last.error is not None:
                shutil.rmtree(folder, ignore_errors=True)
                return Unavailable(last.error, last.message)
            return Version(number, folder / "report", last.policy, state, time.monotonic())
        except WorkerError as error:
            return Unavailable(type(error).__name__, str(error))
        except OSError as error:
            return Unavailable(DataError.__name__, f"the report of {self.source!r} cannot be written: {error}")

    def _tell(self, share: float) -> None:
        self._share = share

    def _forget(self) -> None:
        """Delete old versions. A page that is still open may need the one before the newest."""
        for number in sorted(self._versions)[:-_KEPT_VERSIONS]:
            shutil.rmtree(self._versions.pop(number).folder.parent, ignore_errors=True)


class Corpora:
    """The corpora of a server, by their numbers as addresses have them: "0", "1" and so on.

    Parameters
    ----------
    sources
        Folders or URIs of runs, and files of results.
    label_column, group_column
        Kept columns of the runs, as of `mase_corpora.summary.summarise`.
    """

    def __init__(
        self,
        sources: Sequence[str | os.PathLike[str]],
        label_column: str | None = None,
        group_column: str | None = None,
    ) -> None:
        for package in ("pyarrow", "duckdb") if sources else ():
            require(package, "corpora")
        self._scratch = TemporaryDirectory(prefix="mase-serve-", ignore_cleanup_errors=True)
        self._pool = ThreadPoolExecutor(1)  # one is read at a time, which bounds the memory
        self.by_number: Mapping[str, Corpus] = {
            str(number): Corpus(
                os.fspath(source), Path(self._scratch.name) / str(number), self._pool, (label_column, group_column)
            )
            for number, source in enumerate(sources)
        }

    @property
    def entries(self) -> list[dict[str, str]]:
        """Name and address of each corpus, for the page of the workbench; names are as `inline` shows them."""
        return [
            {"name": inline(result.source), "href": f"/corpora/{number}/"} for number, result in self.by_number.items()
        ]

    def close(self) -> None:
        """End the process that reads, and delete all that was written."""
        for corpus in self.by_number.values():
            corpus.close()
        self._pool.shutdown(cancel_futures=True)
        self._scratch.cleanup()


def _state(source: str) -> str:
    """Return what tells one state of a corpus from another: the names of a run's parts and its manifest, or a file's
    size and time. A corpus that cannot be read has its error as its state.
    """
    try:
        if "://" not in source and not Path(source).is_dir():
            result = Path(source).stat()
            return f"{result.st_ino} {result.st_size} {result.st_mtime_ns}"
        storage = storage_of(source)
        manifest = b"" if storage.size("run.json") > _LARGEST_MANIFEST else storage.read("run.json")
        names = "\n".join(storage.names("texts"))
        return hashlib.sha256(manifest + names.encode(errors="surrogateescape")).hexdigest()
    except MaseError as error:
        return str(error)
    except (OSError, ValueError) as error:
        return str(cannot_read(source, error))


# Nothing of a corpus stays with the browser, and no other page may load it: the slices of the list are scripts.
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_SLICE = re.compile(r"[a-z]+(-[0-9]+)?\.js")
_PACKAGE = "mase_serve"
_LONGEST_NAME, _LONGEST_MESSAGE = 300, 2_000
T = TypeVar("T")


def routes(corpora: Corpora) -> list[BaseRoute]:
    """Return the routes below `/corpora/`.

    `/corpora/N/` leads to the newest page of a corpus, `/corpora/N/V/`, or shows how far it is. A page that is loaded
    again leads back there if its corpus has changed.
    """
    pages = _Pages(corpora)
    return [
        Route("/corpora/{corpus}/", pages.newest),
        Route("/corpora/{corpus}/share", pages.share),
        Route("/corpora/{corpus}/{version}/", pages.page),
        Route("/corpora/{corpus}/{version}/index.html", pages.former),
        Route("/corpora/{corpus}/{version}/list/{name}", pages.listed),
    ]


@dataclass(frozen=True, slots=True)
class _Pages:
    """The answers to requests. All that they take from an address is looked up, so that none leads to another file."""

    corpora: Corpora

    def newest(self, request: Request) -> Response:
        result = self._corpus(request).look()
        if isinstance(result, Version):
            return RedirectResponse(f"{self._address(request)}{result.number}/", 303, _HEADERS)
        return _without_page(self._corpus(request), result, self._address(request))

    def page(self, request: Request) -> Response:
        result = self._corpus(request).look()
        if isinstance(result, Version) and str(result.number) == request.path_params["version"]:
            return _page(result)
        if isinstance(result, Unavailable):
            return _without_page(self._corpus(request), result, self._address(request))
        return RedirectResponse(self._address(request), 303, _HEADERS)

    def share(self, request: Request) -> Response:
        return JSONResponse({"share": self._corpus(request).share}, headers=_HEADERS)

    def former(self, request: Request) -> Response:
        return _page(self._version(request))

    def listed(self, request: Request) -> Response:
        name = request.path_params["name"]
        path = self._version(request).folder / "list" / name
        if _SLICE.fullmatch(name) is None or not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, headers=_HEADERS, media_type="text/javascript")

    def _corpus(self, request: Request) -> Corpus:
        return _known(self.corpora.by_number.get(request.path_params["corpus"]))

    def _version(self, request: Request) -> Version:
        return _known(self._corpus(request).version(request.path_params["version"]))

    def _address(self, request: Request) -> str:
        return f"{request.scope.get('root_path', '')}/corpora/{request.path_params['corpus']}/"


def _known(result: T | None) -> T:
    if result is None:
        raise HTTPException(404)
    return result


def _page(version: Version) -> Response:
    return FileResponse(
        version.folder / "index.html", headers=_HEADERS | _policy(version.policy), media_type="text/html"
    )


def _without_page(corpus: Corpus, result: Preparing | Unavailable, address: str) -> Response:
    """Return how far the page of a corpus is, or why it cannot be made."""
    style = "".join(
        resource(*place)
        for place in (("mase.render", "style.css"), ("mase.render", "page.css"), (_PACKAGE, "templates/corpus.css"))
    )
    script = resource(_PACKAGE, "templates/corpus.js") if isinstance(result, Preparing) else ""
    content = (
        templates(_PACKAGE)
        .get_template("templates/corpus.html")
        .render(
            name=_shortened(corpus.source, _LONGEST_NAME),
            share=result.share if isinstance(result, Preparing) else None,
            error="" if isinstance(result, Preparing) else _shortened(result.error, _LONGEST_NAME),
            message="" if isinstance(result, Preparing) else _shortened(result.message, _LONGEST_MESSAGE),
            former="" if corpus.newest is None else f"{address}{corpus.newest.number}/index.html",
            style=Markup(style),
            script=Markup(script),
        )
    )
    allowed = f"script-src '{checksum(script)}'; connect-src 'self'; " if script else ""
    policy = f"default-src 'none'; style-src '{checksum(style)}'; {allowed}base-uri 'none'; form-action 'none'"
    return HTMLResponse(content, 200 if script else 422, _HEADERS | _policy(policy))


def _policy(policy: str) -> dict[str, str]:
    return {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}


def _shortened(text: str, longest: int) -> str:
    return inline(shortened(text, longest))


# A part is in memory at a time.
PART_SIZE = 64
LONGEST_LINE = 64 << 20


def run_of_results(path: Path, folder: Path, tell: Callable[[float], None]) -> Run:
    """Write the results in a file of JSON lines as a run to a new folder, and return it.

    An incomplete last line is left out: another process may be writing it.

    Parameters
    ----------
    path
        The file.
    folder
        The folder of the run, which does not exist.
    tell
        Is called with the share of the file that was read.
    """
    with writing(folder):
        folder.mkdir(parents=True)
    target, made = Folder(storage_of(folder)), _Made()
    rows = _new_rows()
    for result, share in _results(path):
        item = Item(made.n, str(made.n + 1), None)
        if isinstance(result, Failure):
            rows.add_failure(item, result.error, result.message, 0.0)
        else:
            made.check(result, f"{os.fspath(path)!r}, result {made.n + 1}")
            rows.add(item, result, result.fit.seconds)
        made.n += 1
        if made.n % PART_SIZE == 0:
            target.write(made.n // PART_SIZE - 1, rows.tables(), {})
            rows = _new_rows()
        tell(share)
    if not made.n:
        raise DataError(f"{os.fspath(path)!r} has no results, expected lines of JSON of schema {SCHEMA}")
    if made.n % PART_SIZE:
        target.write(made.n // PART_SIZE, rows.tables(), {})
    target.create(made.manifest())
    return open_run(folder)


class _Made:
    """The number of results so far, and what they share."""

    def __init__(self) -> None:
        self.n = 0
        self.first: Attribution | None = None
        self.n_samples: Any = None  # that of all results; None if it differs

    def check(self, attribution: Attribution, place: str) -> None:
        """Check that a result is of the same model and method as the first one."""
        if self.first is None:
            self.first, self.n_samples = attribution, attribution.method.get("n_samples")
        first = self.first
        if attribution.method.get("n_samples") != self.n_samples:
            self.n_samples = None
        for what, got, expected in (
            ("model", attribution.model, first.model),
            ("method", attribution.method, first.method),
        ):
            if got["name"] != expected["name"]:
                raise DataError(
                    f"{place} has the {what} {got['name']!r:.100}, expected {expected['name']!r:.100} as in the first "
                    "one; make a file for each"
                )

    def manifest(self) -> Manifest:
        """Return what the results say was asked."""
        first = self.first
        settings: dict[str, Any] = {"model": {"name": "no model"}, "method": {"name": "no method"}, "seed": 0}
        if first is not None:
            method = {**first.method, "n_samples": self.n_samples}
            settings = {"model": dict(first.model), "method": method, "seed": first.seed}
        return Manifest(
            asked=Asked(**settings, target=None, input={}, n_texts=self.n, part_size=PART_SIZE),
            made_with={} if first is None else dict(first.versions),
            labels=() if first is None else first.prediction.names,
            created="",
        )


def _new_rows() -> Rows:
    return Rows((), documents=True, worker="")


def _results(path: Path) -> Iterator[tuple[Attribution | Failure, float]]:
    """Yield the results in a file, each with the share of the file that was read."""
    name = os.fspath(path)
    try:
        if path.exists() and not path.is_file():  # a pipe or a device, from which reading may never end
            raise DataError(f"{name!r} is not a regular file, expected a file of results")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), 1):
                place = f"{name!r}, line {number}"
                if len(line) == LONGEST_LINE:
                    raise DataError(f"{place} has more than {LONGEST_LINE:,} bytes, expected the result of one text")
                content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                result = _result(content, place) if content.strip() else None
                if result is not None:
                    yield result, min(1.0, file.tell() / max(size, 1))
    except DataError:
        raise
    except (OSError, ValueError) as error:  # A path with a NUL character raises ValueError.
        raise cannot_read(path, error) from error


def _result(line: bytes, place: str) -> Attribution | Failure | None:
    """Return the result in a line; None if its line end is missing and it is incomplete."""
    try:
        return loads(line, place=place)
    except DataError:
        if line.endswith(b"\n"):
            raise
        return None


# How often each part is read: by the summary (texts, responses, units, units and texts for the examples), and by the
# list (responses, units, texts).
_READINGS = 8

# Seconds between two messages.
_PAUSE = 0.2


def main(source: str, folder: str, label_column: str, group_column: str) -> None:
    """Write the report of a corpus; "" stands for no column. Each message is a line of JSON on standard output."""
    messages, answers = pipes()
    Thread(target=_end_with_server, args=(messages,), daemon=True).start()

    def tell(message: Message) -> None:
        answers.write(msgspec.json.encode(message) + b"\n")
        answers.flush()

    try:
        page = write_corpus(source, Path(folder), label_column or None, group_column or None, _paused(tell))
        tell(Message(1.0, policy=policy(page.read_text(encoding="utf-8"))))
    except MaseError as error:
        tell(Message(error=type(error).__name__, message=str(error)))
    except Exception as error:  # noqa: BLE001 (anybody may have made the corpus)
        said = " ".join(f"{type(error).__name__}: {error}".split())
        tell(Message(error=DataError.__name__, message=f"{source!r} cannot be shown ({said:.500})"))


def write_corpus(
    source: str, folder: Path, label_column: str | None, group_column: str | None, tell: Callable[[float], None]
) -> Path:
    """Write the report of a run or a file of results to the folder `report` in a folder, and return its page.

    Parameters
    ----------
    source
        Folder or URI of a run, or a file of results. The columns are of runs; a file of results has none.
    folder
        An existing folder.
    label_column, group_column
        As of `mase_corpora.summary.summarise`.
    tell
        Is called with the share that is done.
    """
    if "://" in source or Path(source).is_dir():
        run, begun = open_run(source), 0.0
    else:
        run, begun = run_of_results(Path(source), folder / "run", lambda share: tell(share / 2)), 0.5
        label_column = group_column = None
    watched = _Watched(run.folder, run.manifest, lambda share: tell(begun + (1 - begun) * share))
    summary = summarise(watched, label_column=label_column, group_column=group_column)
    return write_report(summary, folder / "report", workbench="/")


class _Watched(Run):
    """A run that tells how much of it was read."""

    def __init__(self, folder: Folder, manifest: Manifest, tell: Callable[[float], None]) -> None:
        super().__init__(folder, manifest)
        self._n_read, self._tell = 0, tell

    def part(self, table: str, part: int) -> Any:
        """Return a table of a part."""
        result = super().part(table, part)
        self._n_read += 1
        self._tell(self._n_read / (_READINGS * len(self.parts)))
        return result


def _paused(tell: Callable[[Message], None]) -> Callable[[float], None]:
    """Return a function that tells a share, but not more often than anybody wants to know."""
    told = 0.0

    def pause(share: float) -> None:
        nonlocal told
        if time.monotonic() - told >= _PAUSE:
            told = time.monotonic()
            tell(Message(share))

    return pause


def _end_with_server(messages: BinaryIO) -> NoReturn:
    """End this process when the server closes the pipe, or has ended."""
    messages.read()
    os._exit(1)
