"""Hugging Face text-embeddings-inference: the route `/predict` of a sequence classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from mase.errors import CapabilityError, InvalidTextError, OptionError, ServiceError
from mase.models.http.address import check_url
from mase.models.http.client import Client
from mase.models.http.columns import Columns
from mase.models.http.connection import Connection, ConnectionOptions
from mase.models.http.service import Endpoint, Service, check_batch_size
from mase.models.rewriting import Content

__all__ = ["TextEmbeddingsInference"]

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
            f"got an input with the fields {list(content)!r:.100}, expected a text, or a pair of texts: "
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
        `token_env`, `timeout` and the other attributes of `mase.models.http.connection.Connection`.

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
