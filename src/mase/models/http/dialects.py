"""The protocols of classifiers behind a URL: a JSON template, KServe v2, text-embeddings-inference."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Unpack

from mase.errors import CapabilityError, InvalidTextError, OptionError, ServiceError
from mase.models.function import Content, Kind
from mase.models.http.client import Client, Connection, ConnectionOptions
from mase.models.http.service import Endpoint, Service, check_batch_size
from mase.models.names import check_url
from mase.models.scores import Columns

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
                f"got an input with the fields {[*fields.keys()]!r:.100}, expected also {', '.join(missing)} as in item"
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
        `token_env`, `timeout` and the other attributes of `mase.models.http.client.Connection`.

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
        if item is not None and not any(_placeholders(item)):
            raise OptionError(
                f"item is {item!r:.100}, expected JSON with strings that are fields, such as '$text'; put other "
                "words into the texts, or into a function that asks the server"
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


_MODEL = re.compile(r"(?P<base>.*)/v2/models/(?P<model>[^/]+)(/versions/(?P<version>[^/]+))?(/infer)?")
_TEXT = "BYTES"
_REAL = ("FP16", "FP32", "FP64", "BF16")
_CLASSIFICATION = re.compile(r"(?P<score>[^:]+):(?P<index>\d+)(:(?P<label>.*))?", re.DOTALL)
_UNQUOTED_KEY = re.compile(r"([{,]\s*)(\d+)\s*:")


def is_kserve(url: str) -> bool:
    """Return whether a URL names a model of the protocol.

    Examples
    --------
    >>> is_kserve("http://localhost:8000/v2/models/sentiment"), is_kserve("http://localhost:8000")
    (True, False)
    """
    return _MODEL.fullmatch(url.rstrip("/")) is not None


@dataclass(frozen=True, slots=True)
class _Tensor:
    """An input or output in the metadata of a model."""

    name: str
    datatype: str
    shape: tuple[int, ...]

    @classmethod
    def listed(cls, metadata: Any, kind: str, place: str) -> dict[str, "_Tensor"]:
        """Return the inputs or outputs by name; none if the metadata does not list them."""
        entries = metadata.get(kind) if isinstance(metadata, Mapping) else None
        try:
            tensors = [cls(entry["name"], entry["datatype"], tuple(entry["shape"])) for entry in entries or ()]
            return {tensor.name: tensor for tensor in tensors}
        except (TypeError, KeyError):
            raise ServiceError(f"{place} describes its {kind} as {entries!r:.100}, expected names and types") from None


@dataclass(frozen=True, slots=True)
class _Infer:
    """Requests and answers of `/infer`."""

    place: str
    inputs: Mapping[str, _Tensor]
    input_name: str
    output_name: str | None

    def body(self, contents: Sequence[Content]) -> dict[str, Any]:
        records = [content if isinstance(content, Mapping) else {self.input_name: content} for content in contents]
        names = [*records[0].keys()]  # a pair unpacks as its texts
        unknown = [name for name in names if self.inputs and name not in self.inputs]
        if unknown or any([*record.keys()] != names for record in records):
            raise InvalidTextError(
                f"got an input with the fields {names!r:.100}, expected the inputs of {self.place}, "
                f"{list(self.inputs)!r:.200}; pass input_name for a plain text"
            )
        tensors = [self._tensor(name, [record[name] for record in records]) for name in names]
        asked = {} if self.output_name is None else {"outputs": [{"name": self.output_name}]}
        return {"inputs": tensors, **asked}

    def _tensor(self, name: str, values: list[Any]) -> dict[str, Any]:
        known = self.inputs.get(name)
        datatype = _datatype(values) if known is None else known.datatype
        if (datatype == _TEXT) != all(isinstance(value, str) for value in values):
            raise InvalidTextError(f"got {values[0]!r:.60} for the input {name!r} of {self.place}, expected {datatype}")
        rank = 1 if known is None else len(known.shape)
        tensor = {"name": name, "shape": [len(values)] + [1] * (rank - 1), "datatype": datatype, "data": values}
        # MLServer takes bytes for an array unless it is told that they are text. The others ignore it.
        return tensor | ({"parameters": {"content_type": "str"}} if datatype == _TEXT else {})

    def rows(self, answer: Any, n: int) -> Any:
        tensor = self._output(answer)
        datatype, shape, data = tensor.get("datatype"), tensor.get("shape"), _flat(tensor.get("data"))
        if not isinstance(shape, list) or not shape or not all(isinstance(size, int) and size > 0 for size in shape):
            self._refuse(f"the shape {shape!r:.60}", "one as in [2, 3]")
        if len(data) != math.prod(shape):
            self._refuse(f"{len(data)} numbers of shape {shape}", f"{math.prod(shape)}")
        if n == 1 and len(shape) == 1 and shape[0] != 1:  # of a model without batches
            shape = [1, *shape]
        if len(shape) > 2:
            self._refuse(f"scores of shape {shape}", f"[{n}, k]")
        rows = [
            data[start : start + len(data) // shape[0]] for start in range(0, len(data), len(data) // shape[0] or 1)
        ]
        if datatype == _TEXT:
            return [self._read(row) for row in rows]
        if datatype not in _REAL:
            self._refuse(
                f"scores of type {datatype!r:.20}", "FP32, FP64 or BYTES: scores, not classes; pass output_name"
            )
        return rows

    def _output(self, answer: Any) -> Mapping[str, Any]:
        """Return the output with the scores."""
        outputs = answer.get("outputs") if isinstance(answer, Mapping) else None
        if not isinstance(outputs, list) or not all(isinstance(output, Mapping) for output in outputs):
            self._refuse("no list of outputs", "the answer of the protocol")
        named = [output for output in outputs if self.output_name in (None, output.get("name"))]
        if len(named) != 1:
            names = [output.get("name") for output in outputs]
            self._refuse(f"the outputs {names!r:.200}", f"{self.output_name or 'one output'}; pass output_name")
        output: Mapping[str, Any] = named[0]
        return output

    def _read(self, row: list[Any]) -> Any:
        """Return the scores in the strings of one row: JSON, or Triton's ``value:index:label`` for each class."""
        if not all(isinstance(item, str) for item in row):
            self._refuse(f"{row!r:.60} as BYTES", "strings")
        matches = [_CLASSIFICATION.fullmatch(item) for item in row]
        try:
            if all(matches):
                return {match["label"] or match["index"]: float(match["score"]) for match in matches if match}
            # KServe's server for Hugging Face models writes numbers as keys without quotation marks.
            values = [json.loads(_UNQUOTED_KEY.sub(r'\1"\2":', item)) for item in row]
        except (ValueError, RecursionError):
            self._refuse(f"{row!r:.60} as BYTES", "scores as JSON, or value:index:label")
        return values[0] if len(values) == 1 else values

    def _refuse(self, got: str, expected: str) -> NoReturn:
        raise ServiceError(f"{self.place} answered {got}, expected {expected}")


def _datatype(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return _TEXT
    return {frozenset({bool}): "BOOL", frozenset({int}): "INT64"}.get(frozenset(kinds), "FP64")


def _flat(data: Any) -> list[Any]:
    """Return the elements of a tensor, which servers nest or do not."""
    elements: list[Any] = data if isinstance(data, list) else []
    while elements and all(isinstance(item, list) for item in elements):
        elements = [item for inner in elements for item in inner]
    return elements


class KServe(Service):
    """A model that is served with the KServe v2 protocol, explained by masking words.

    Pairs and records are sent with an input tensor for each field, under its name.

    Parameters
    ----------
    url
        Address of the model, as in ``"http://localhost:8000/v2/models/sentiment"`` or with ``/versions/3`` after it; or
        address of the server, with `model`.
    labels
        Names of the k classes in the order of the columns; "0", "1", ... by default, or those of the answers.
    model, version
        The model and its version, if they are not part of the URL. The server chooses the version by default.
    input_name
        The input that takes a plain text; by default the only input of the model for text, or "text" if the server
        does not describe the inputs.
    output_name
        The output with the scores; by default the only one with real numbers.
    outputs
        "probabilities", "logits" or "values", as of `mase.models.Callable`.
    batch_size
        Largest number of texts in a request.
    mask_token, multilabel, name
        As of `mase.models.Callable`.
    **connection
        `token_env`, `timeout` and the other attributes of `mase.models.http.client.Connection`.

    Raises
    ------
    OptionError
        If an option is invalid, or an input or output has to be chosen.
    ServiceError
        If the server does not answer, or has no such model.
    """

    def __init__(
        self,
        url: str,
        labels: Sequence[str] | None = None,
        *,
        model: str | None = None,
        version: str | None = None,
        input_name: str | None = None,
        output_name: str | None = None,
        outputs: Kind = "probabilities",
        batch_size: int = 32,
        mask_token: str | None = None,
        multilabel: bool = False,
        name: str | None = None,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        given: dict[str, Any] = {
            "labels": labels,
            "model": model,
            "version": version,
            "input_name": input_name,
            "output_name": output_name,
            "outputs": outputs,
            "batch_size": batch_size,
            "mask_token": mask_token,
            "multilabel": multilabel,
        }
        size = check_batch_size(batch_size)
        base, path = _path(check_url(url), model, version)
        client = Client(base, Connection(**connection))
        place = client.url + path
        metadata = client.get(path)
        inputs = _Tensor.listed(metadata, "inputs", place)
        exchange = _Infer(
            place,
            inputs,
            input_name or _input(inputs, place),
            output_name or _output(_Tensor.listed(metadata, "outputs", place), place),
        )
        if any(tensor.shape[:1] == (1,) for tensor in inputs.values()):  # a model without batches
            size = 1
        columns = Columns(labels, place, fewest=1 if outputs == "values" else 2)
        super().__init__(
            Endpoint(client, f"{path}/infer", exchange, columns, size),
            (type(self), url, given | dict(connection)),
            mask_token=mask_token,
            multilabel=multilabel,
            outputs=outputs,
            name=name or place,
        )


def _path(url: str, model: str | None, version: str | None) -> tuple[str, str]:
    """Return the address of the server and the path of the model."""
    match = _MODEL.fullmatch(url)
    if match is not None:
        if model not in (None, match["model"]) or (version is not None and match["version"] not in (None, version)):
            raise OptionError(f"the URL names the model {match['model']!r}, expected that of model={model!r}")
        url, model, version = match["base"], match["model"], version or match["version"]
    if not model:
        raise OptionError("the model is missing, expected /v2/models/NAME in the URL, or model='NAME'")
    return url, f"/v2/models/{model}" + ("" if version is None else f"/versions/{version}")


def _input(inputs: Mapping[str, _Tensor], place: str) -> str:
    """Return the name of the input for a plain text; where there are several inputs, a plain text is refused later."""
    texts = [tensor.name for tensor in inputs.values() if tensor.datatype == _TEXT]
    if inputs and not texts:
        raise OptionError(
            f"{place} has the inputs {list(inputs)!r:.200}, of which none takes text (BYTES), expected a model that "
            "contains its tokenizer"
        )
    return texts[0] if len(texts) == 1 and len(inputs) == 1 else "text"


def _output(outputs: Mapping[str, _Tensor], place: str) -> str | None:
    """Return the name of the output with the scores; None for the only one of an answer."""
    if len(outputs) < 2:
        return next(iter(outputs), None)
    real = [tensor.name for tensor in outputs.values() if tensor.datatype in _REAL]
    if len(real) != 1:
        raise OptionError(f"{place} has the outputs {list(outputs)!r:.200}, expected the name of one as output_name")
    return real[0]


_PATH = "/predict"
_INFO = "/info"
_BATCH = 32  # the default of the server


@dataclass(frozen=True, slots=True)
class _Predict:
    """Requests and answers of `/predict`. A batch is a list of lists, because a list of two strings is a pair."""

    raw_scores: bool
    truncate: bool

    def body(self, contents: Sequence[Content]) -> dict[str, Any]:
        inputs = [_sequences(content) for content in contents]
        return {"inputs": inputs, "raw_scores": self.raw_scores, "truncate": self.truncate}

    def rows(self, answer: Any, n: int) -> Any:
        del n
        return answer


def _sequences(content: Content) -> list[str]:
    """Return one or two strings. The server refuses an empty input, so that one is a space."""
    if isinstance(content, str):
        return [content or " "]
    values = [value for value in content.values() if isinstance(value, str)]
    if (len(values), len(content)) != (2, 2):
        raise InvalidTextError(
            f"got an input with the fields {[*content.keys()]!r:.100}, expected a text, or a pair of texts: "
            "text-embeddings-inference takes nothing else"
        )
    first, second = values
    return [first if first or second else " ", second]


class TextEmbeddingsInference(Service):
    """A classifier that is served by Hugging Face text-embeddings-inference, explained by masking words.

    Its labels, its name and its largest batch are read from `/info`.

    Parameters
    ----------
    url
        Address of the server, as in ``"http://localhost:8080"``.
    labels
        Labels of the server, in the order that the results shall have; that of the model by default.
    raw_scores
        Whether to ask for logits instead of probabilities. Logits stay exact where a probability is rounded to 1.
    truncate
        Whether the server may cut off texts that are too long for its model. If False, it refuses them, and the
        message says how many tokens the model takes.
    batch_size
        Largest number of texts in a request; the server's largest, but at most 32, by default.
    mask_token
        The string that replaces a masked word, such as ``"[MASK]"``; None removes the word from the text.
    multilabel
        Whether the labels are separate questions. Requires `raw_scores`, because the server would make the
        probabilities add up to 1.
    name
        Name for provenance; the server's model by default.
    **connection
        `token_env`, `timeout` and the other attributes of `mase.models.http.client.Connection`.

    Raises
    ------
    CapabilityError
        If the server's model is not a classifier.
    OptionError
        If an option is invalid.
    ServiceError
        If the server does not answer.

    Notes
    -----
    A text with all words masked is sent as one space, because the server refuses an empty text.
    """

    def __init__(
        self,
        url: str,
        labels: Sequence[str] | None = None,
        *,
        raw_scores: bool = True,
        truncate: bool = False,
        batch_size: int | None = None,
        mask_token: str | None = None,
        multilabel: bool = False,
        name: str | None = None,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        if multilabel and not raw_scores:
            raise OptionError("multilabel is True with raw_scores=False, expected raw_scores=True")
        given: dict[str, Any] = {
            "labels": labels,
            "raw_scores": raw_scores,
            "truncate": truncate,
            "batch_size": batch_size,
            "mask_token": mask_token,
            "multilabel": multilabel,
        }
        size = None if batch_size is None else check_batch_size(batch_size)
        client = Client(check_url(url).removesuffix(_PATH), Connection(**connection))
        info = client.get(_INFO)
        info = info if isinstance(info, Mapping) else {}
        columns = Columns(labels or _labels(info, client), client.url + _PATH)
        endpoint = Endpoint(client, _PATH, _Predict(raw_scores, truncate), columns, _batch_size(size, info))
        super().__init__(
            endpoint,
            (type(self), url, given | dict(connection)),
            mask_token=mask_token,
            multilabel=multilabel,
            outputs="logits" if raw_scores else "probabilities",
            name=name or str(info.get("model_id") or client.url),
        )


def _labels(info: Mapping[str, Any], client: Client) -> list[str] | None:
    """Return the labels of the server's model by their index; None if `/info` does not say."""
    kinds = info.get("model_type")
    if not isinstance(kinds, Mapping):
        return None
    kind = next(iter(kinds), "")
    if kind not in ("classifier", "reranker"):
        raise CapabilityError(f"{client.url} serves a model of the type {str(kind)!r:.40}, expected a classifier")
    details = kinds[kind]
    names = details.get("id2label") if isinstance(details, Mapping) else None
    try:
        return None if names is None else [str(names[key]) for key in sorted(names, key=int)]
    except (TypeError, ValueError, AttributeError, LookupError):
        raise ServiceError(f"{client.url}{_INFO} has an id2label that is not an object from index to label") from None


def _batch_size(asked: int | None, info: Mapping[str, Any]) -> int:
    most = info.get("max_client_batch_size")
    most = most if isinstance(most, int) and most >= 1 else _BATCH
    return min(most, _BATCH if asked is None else asked)
