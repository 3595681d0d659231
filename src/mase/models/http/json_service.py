"""Any service that takes JSON and answers JSON, described by a template of the request and places in the answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from mase.errors import InvalidTextError, OptionError, ServiceError
from mase.models.callable import Kind
from mase.models.http.client import Client
from mase.models.http.columns import Columns
from mase.models.http.connection import Connection, ConnectionOptions
from mase.models.http.service import Endpoint, Service, check_batch_size
from mase.models.rewriting import Content

__all__ = ["JSONService"]

_ONE, _SEVERAL = "$input", "$inputs"


@dataclass(frozen=True, slots=True)
class _Template:
    """The request with placeholders, and where the scores are in the answer."""

    place: str
    request: Any
    item: Any
    single: bool
    rows_at: tuple[str, ...]
    scores_at: tuple[str, ...]
    labels_at: tuple[str, ...] | None

    def body(self, contents: Sequence[Content]) -> Any:
        items = [content if self.item is None else self._item(content) for content in contents]
        return _filled(self.request, {_ONE: items[0], _SEVERAL: items})

    def _item(self, content: Content) -> Any:
        fields = {"text": content} if isinstance(content, str) else content
        missing = [name for name in _placeholders(self.item) if name[1:] not in fields]
        if missing:
            raise InvalidTextError(
                f"got an input with the fields {list(fields)!r:.100}, expected also {', '.join(missing)} as in item"
            )
        return _filled(self.item, {f"${name}": value for name, value in fields.items()})

    def rows(self, answer: Any, n: int) -> Any:
        del n
        rows = self._found(answer, self.rows_at)
        if self.single:
            rows = [rows]
        return [self._scores(row) for row in rows] if isinstance(rows, list) else rows

    def _scores(self, row: Any) -> Any:
        scores = self._found(row, self.scores_at)
        if self.labels_at is None:
            return scores
        labels = self._found(row, self.labels_at)
        if not (isinstance(labels, list) and isinstance(scores, list) and len(labels) == len(scores)):
            raise ServiceError(
                f"{self.place} answered the labels {labels!r:.60} and the scores {scores!r:.60}, expected two lists of "
                "the same length"
            )
        return [{"label": label, "score": score} for label, score in zip(labels, scores, strict=True)]

    def _found(self, value: Any, path: Sequence[str]) -> Any:
        """Return the value at a JSON pointer."""
        for part in path:
            try:
                value = value[int(part)] if isinstance(value, list) else value[part]
            except (KeyError, IndexError, ValueError, TypeError):
                keys = list(value)[:5] if isinstance(value, Mapping) else type(value).__name__
                raise ServiceError(
                    f"{self.place} answered {keys!r:.100} where /{'/'.join(path)} leads, expected the part {part!r}; "
                    "pass where the scores are with rows and scores"
                ) from None
        return value


class JSONService(Service):
    """A classifier behind any service that takes and answers JSON, explained by masking words.

    Parameters
    ----------
    url
        Where requests are sent.
    labels
        Names of the k classes. They are not needed where the answers have labels.
    request
        The JSON of a request. In it, the string ``"$inputs"`` stands for the list of inputs, or ``"$input"`` for a
        single one, and everything else is sent as it is.
    item
        The JSON of one input, in which ``"$NAME"`` stands for the value of the field NAME. The fields of a pair are
        `text` and `text_pair`, that of a plain text is `text`. By default, a text is sent as a string, and a pair or a
        record as an object.
    rows
        Where the list with one entry per input is in the answer, as a JSON pointer (RFC 6901) such as
        ``"/predictions"``; the answer itself by default. With ``"$input"``: where the only entry is.
    scores
        Where the scores are in such an entry, as a JSON pointer: a list of numbers, an object from label to number, or
        a list of objects with a label and a number. The entry itself by default.
    row_labels
        Where the labels are in such an entry, if they are a list beside the scores.
    label, score
        Names of label and number in an object for one class.
    params
        Parameters of the URL that are no secret.
    outputs
        "probabilities", "logits" or "values", as of `mase.models.Callable`.
    batch_size
        Largest number of inputs in a request; 1 with ``"$input"``.
    mask_token, multilabel, name
        As of `mase.models.Callable`.
    **connection
        `token_env`, `timeout` and the other attributes of `mase.models.http.connection.Connection`.

    Raises
    ------
    OptionError
        If an option is invalid.
    """

    def __init__(
        self,
        url: str,
        labels: Sequence[str] | None = None,
        *,
        request: Any = _SEVERAL,
        item: Any = None,
        rows: str = "",
        scores: str = "",
        row_labels: str | None = None,
        label: str = "label",
        score: str = "score",
        params: Mapping[str, str] | None = None,
        outputs: Kind = "probabilities",
        batch_size: int = 32,
        mask_token: str | None = None,
        multilabel: bool = False,
        name: str | None = None,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        given: dict[str, Any] = {
            "labels": labels,
            "request": request,
            "item": item,
            "rows": rows,
            "scores": scores,
            "row_labels": row_labels,
            "label": label,
            "score": score,
            "params": params,
            "outputs": outputs,
            "batch_size": batch_size,
            "mask_token": mask_token,
            "multilabel": multilabel,
        }
        placeholders = set(_placeholders(request))
        if len(placeholders & {_ONE, _SEVERAL}) != 1:
            raise OptionError(
                f"request is {request!r:.100}, expected JSON with the string {_SEVERAL!r} for a list of inputs, or "
                f"with {_ONE!r} for a single one"
            )
        size = 1 if _ONE in placeholders else check_batch_size(batch_size)
        client = Client(url, Connection(**connection))
        template = _Template(
            client.url,
            request,
            item,
            _ONE in placeholders,
            _pointer("rows", rows),
            _pointer("scores", scores),
            None if row_labels is None else _pointer("row_labels", row_labels),
        )
        names = ("label", "score") if row_labels is not None else (label, score)
        columns = Columns(labels, client.url, *names, fewest=1 if outputs == "values" else 2)
        super().__init__(
            Endpoint(client, "/" if url.endswith("/") else "", template, columns, size, params or {}),
            (type(self), url, given | dict(connection)),
            mask_token=mask_token,
            multilabel=multilabel,
            outputs=outputs,
            name=name or client.url,
        )


def _pointer(name: str, pointer: Any) -> tuple[str, ...]:
    """Return the parts of a JSON pointer (RFC 6901)."""
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise OptionError(f"{name} is {pointer!r:.60}, expected a JSON pointer such as '/predictions', or ''")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _placeholders(template: Any) -> Iterator[str]:
    """Yield the strings of a template that begin with a dollar sign."""
    if isinstance(template, str):
        if template.startswith("$"):
            yield template
    elif isinstance(template, Mapping | list | tuple):
        for inner in template.values() if isinstance(template, Mapping) else template:
            yield from _placeholders(inner)


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with its placeholders replaced."""
    if isinstance(template, str):
        return values.get(template, template)
    if isinstance(template, Mapping):
        return {name: _filled(inner, values) for name, inner in template.items()}
    if isinstance(template, list | tuple):
        return [_filled(inner, values) for inner in template]
    return template
