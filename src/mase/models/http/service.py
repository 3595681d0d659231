"""What all models behind a URL share: batches, checked answers, and how another process opens the model again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from mase.attribution.response import Note
from mase.defaults import check_integer
from mase.errors import RequestRefusedError, ServiceError
from mase.models.function import Callable, Content, Kind
from mase.models.http.client import Client
from mase.models.origin import Reduced
from mase.models.scores import Columns, without_words


class Exchange(Protocol):
    """The two halves of a protocol: what is sent for a batch of inputs, and where the scores are in the answer."""

    def body(self, contents: Sequence[Content]) -> Any:
        """Return the JSON of the request for n inputs."""
        ...

    def rows(self, answer: Any, n: int) -> Any:
        """Return the scores in the answer to n inputs: a list with one entry per input, as `Columns` reads them."""
        ...


@dataclass(slots=True)
class Endpoint:
    """The function that a server computes: n inputs in, scores `(n, k)` out.

    Attributes
    ----------
    client
        The connection to the server.
    path
        Where it takes requests.
    exchange
        The protocol.
    columns
        The classes.
    batch_size
        Largest number of inputs in a request; half as many once the server refused one with more.
    params
        Parameters of the URL.
    refused
        What the server said of a request with more inputs; "" if it refused none.
    """

    client: Client
    path: str
    exchange: Exchange
    columns: Columns
    batch_size: int
    params: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""

    def __call__(self, contents: list[Any]) -> list[list[Any]]:
        """Return the scores `(n, k)` of n inputs, which are sent in several requests side by side."""
        try:
            return self._scores(contents)
        except RequestRefusedError as error:
            size = min(self.batch_size, len(contents))
            if size == 1:
                raise
            before = self.batch_size, self.refused
            self.batch_size, self.refused = size // 2, str(error)
            try:
                return self(contents)
            except RequestRefusedError:
                self.batch_size, self.refused = before
                raise

    def _scores(self, contents: list[Any]) -> list[list[Any]]:
        """Return the scores, or raise a RequestRefusedError if a batch is too large for the server."""
        starts = range(0, len(contents), self.batch_size)
        batches = [contents[start : start + self.batch_size] for start in starts]
        bodies = [self.exchange.body(batch) for batch in batches]
        try:
            answers = self.client.post(self.path, bodies, dict(self.params))
        except RequestRefusedError:
            raise
        except ServiceError as error:  # perhaps because of a text without words, if there is such a server
            raise ServiceError(f"{error}{without_words(contents) if self.client.reached else ''}") from error
        rows: list[Any] = []
        for batch, answer in zip(batches, answers, strict=True):
            answered = self.exchange.rows(answer, len(batch))
            if not isinstance(answered, list) or len(answered) != len(batch):
                got = f"{len(answered)} rows" if isinstance(answered, list) else type(answered).__name__
                few = isinstance(answered, list) and 0 < len(answered) < len(batch)
                kind = RequestRefusedError if few else ServiceError
                raise kind(
                    f"{self.client.url}{self.path} answered {got} to {len(batch)} inputs, expected a list with one "
                    f"row of scores per input, in their order; no score was kept{without_words(batch)}"
                )
            rows += answered
        return self.columns.table(rows)


@dataclass(frozen=True, slots=True)
class _Opened:
    """The origin of a model behind a URL: how it was opened. Credentials are not part of it, only their variables."""

    kind: type[Any]
    url: str
    options: Mapping[str, Any]

    def reduced(self, model: "Service") -> Reduced:
        """Return the call that opens the model again, with the name and the classes that it has here."""
        known = (
            {"name": model.name} if model.known_labels is None else {"name": model.name, "labels": model.known_labels}
        )
        return _reopened, (self.kind, self.url, {**self.options, **known})


def _reopened(kind: type[Any], url: str, options: Mapping[str, Any]) -> Any:
    return kind(url, **options)


class Service(Callable):
    """A black box behind a URL. Its subclasses, one per protocol, are what users open.

    Parameters
    ----------
    endpoint
        The function that the server computes.
    opened
        Everything that opens it again: the class, the URL and the other arguments.
    mask_token, multilabel, outputs, name
        As of `mase.models.Callable`.
    """

    kind: ClassVar[str] = "served model"
    waits: ClassVar[bool] = True  # for the server
    cheap: ClassVar[bool] = False

    def __init__(
        self,
        endpoint: Endpoint,
        opened: tuple[type["Service"], str, Mapping[str, Any]],
        *,
        mask_token: str | None,
        multilabel: bool,
        outputs: Kind,
        name: str,
    ) -> None:
        self._endpoint = endpoint
        labels = endpoint.columns.labels
        super().__init__(endpoint, labels, mask_token=mask_token, multilabel=multilabel, outputs=outputs, name=name)
        self.origin = _Opened(*opened)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the answers so far, and about requests that were too large."""
        size = self._endpoint.batch_size
        message = (
            f"the server refused requests with more texts ({self._endpoint.refused:.200}), so it was sent at most "
            f"{size} in one; use batch_size={size} in the description of the model to ask so from the start"
        )
        return (*super().notes, *((Note("batch-halved", message),) if self._endpoint.refused else ()))

    @property
    def known_labels(self) -> tuple[str, ...] | None:
        """Names of the classes as the server has them; None if they are not known yet."""
        return self._endpoint.columns.labels

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes; asks the server about one text if they are not known yet."""
        numbered_or_given = super().labels
        names = self.known_labels
        if names is None or (len(names) == 1 and not self.returns_values):
            return numbered_or_given
        return names


def check_batch_size(batch_size: Any) -> int:
    """Return the largest number of inputs in a request."""
    return check_integer("batch_size", batch_size, 1)
