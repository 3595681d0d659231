"""What the server and the process of a model say to each other."""

from typing import Any

import msgspec

from mase.budget import NSamples
from mase.choices import Long
from mase.citing import METHOD, UNITS
from mase.defaults import EVIDENCE
from mase.document import Scalar
from mase.errors import OptionError

__all__ = [
    "CITE",
    "Answer",
    "Ask",
    "Asked",
    "Cancel",
    "Cancelled",
    "Changed",
    "Content",
    "Explain",
    "Explained",
    "Failed",
    "FromModel",
    "Open",
    "Predict",
    "Predicted",
    "Ready",
    "Regenerate",
    "Request",
    "Round",
    "Said",
    "Settings",
    "ToModel",
    "Unable",
    "Without",
    "decode",
    "encode",
]


# A text, or the fields of a document by name.
Content = str | dict[str, Scalar]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The options of `mase.Explainer` that a page can choose; what is absent is as the method has it."""

    method: str = "mase"
    units: str = "word"
    n_samples: NSamples | None = None
    reference: str | None = None
    link: str | None = None
    seed: int = 0
    evidence: int = EVIDENCE
    zoom: int = 0
    long: Long | None = None
    fixed: tuple[str, ...] = ()
    background: dict[str, Scalar] = {}

    @property
    def options(self) -> dict[str, Any]:
        """The options that are given, by name."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


# What `mase.cite` has where nothing else is chosen.
CITE = Settings(method=METHOD, units=UNITS, evidence=0)


class _Message(msgspec.Struct, frozen=True, tag=True):
    pass


class Open(_Message, frozen=True, tag=True):
    """Open a model, as `mase explain -m` does, or with a server as `mase cite --server` does."""

    model: str
    download: bool = False
    device: str | None = None
    trust_remote_code: bool = False
    threads: int | None = None
    server: str | None = None


class Predict(_Message, frozen=True, tag=True):
    """Return the probabilities of a text, or the values."""

    text: Content


class Explain(_Message, frozen=True, tag=True):
    """Explain a text.

    For a language model, the text is what it is prompted with: its texts, the query in the field "query", and the
    answer in the field "answer", which is generated if there is none. `against` is another answer.
    """

    text: Content
    target: str | None
    settings: Settings
    against: str | None = None


class Without(_Message, frozen=True, tag=True):
    """Return the prediction without some units of an explanation, whose attribution is a line of JSON."""

    attribution: str
    explained: Explain
    units: tuple[int, ...]


class Regenerate(_Message, frozen=True, tag=True):
    """Return what a language model answers without some units of an explanation, as in `Without`."""

    attribution: str
    explained: Explain
    units: tuple[int, ...]


Ask = Predict | Explain | Without | Regenerate


class Request(_Message, frozen=True, tag=True):
    """A numbered request."""

    number: int
    ask: Ask


class Cancel(_Message, frozen=True, tag=True):
    """End the request of this number as soon as the model has answered a batch."""

    number: int


class Ready(_Message, frozen=True, tag=True):
    """The model is open; one that answers is a language model. Results name it as it calls itself."""

    name: str
    labels: tuple[str, ...]
    references: tuple[str, ...]
    answers: bool


class Unable(_Message, frozen=True, tag=True):
    """The model cannot be opened."""

    error: str
    message: str


class Asked(_Message, frozen=True, tag=True):
    """So many evaluations are done."""

    number: int
    asked: int
    of: int


class Round(_Message, frozen=True, tag=True):
    """The article of the attribution so far."""

    number: int
    html: str


class Predicted(_Message, frozen=True, tag=True):
    """The probabilities of the classes, or the values of a model without classes."""

    number: int
    numbers: tuple[float, ...]
    are_values: bool


class Explained(_Message, frozen=True, tag=True):
    """The article of an attribution, and the attribution as a line of JSON."""

    number: int
    html: str
    attribution: str


class Changed(_Message, frozen=True, tag=True):
    """The prediction without some units, and what the scores lead to expect."""

    number: int
    label: str
    probability: float | None
    target_probability: float | None
    response: float
    expected_response: float | None
    expected_probability: float | None


class Said(_Message, frozen=True, tag=True):
    """The answer that will be explained."""

    number: int
    text: str


class Answer(_Message, frozen=True, tag=True):
    """What a language model answers."""

    number: int
    text: str


class Failed(_Message, frozen=True, tag=True):
    """The request failed."""

    number: int
    error: str
    message: str


class Cancelled(_Message, frozen=True, tag=True):
    """The request was cancelled."""

    number: int


ToModel = Open | Request | Cancel
FromModel = Ready | Unable | Asked | Round | Said | Predicted | Explained | Changed | Answer | Failed | Cancelled

_ENCODER = msgspec.msgpack.Encoder()
_LENGTH = 4


def encode(message: ToModel | FromModel) -> bytes:
    """Return a message as a frame: its length in four bytes, and its content."""
    try:
        content = _ENCODER.encode(message)
    except OverflowError as error:
        raise OptionError("an integer has more than 64 bits, expected a smaller one") from error
    return len(content).to_bytes(_LENGTH, "big") + content


def decode(kind: Any) -> Any:
    """Return the function that turns the content of a frame into a message of a kind."""
    return msgspec.msgpack.Decoder(kind).decode
