"""The KServe v2 ("open inference") protocol over HTTP, as KServe, Triton and MLServer speak it."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Unpack

from mase.errors import InvalidTextError, OptionError, ServiceError
from mase.models.callable import Kind
from mase.models.http.address import check_url
from mase.models.http.client import Client
from mase.models.http.columns import Columns
from mase.models.http.connection import Connection, ConnectionOptions
from mase.models.http.service import Endpoint, Service, check_batch_size
from mase.models.rewriting import Content

__all__ = ["KServe", "is_kserve"]

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
        names = list(records[0])
        unknown = [name for name in names if self.inputs and name not in self.inputs]
        if unknown or any(list(record) != names for record in records):
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
        `token_env`, `timeout` and the other attributes of `mase.models.http.connection.Connection`.

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
        columns = Columns(labels, place)
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
