"""The plan of a run: `run.json`, its parts and its shards."""

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import msgspec

from mase.attribution.json import differences, shown
from mase.defaults import check_integer
from mase.document import valid_text
from mase.errors import DataError, OptionError
from mase.explainer import Explainer
from mase.models.user_code import is_code, open_code
from mase.options import ExplainerOptions, current

_SMALLEST, _MOST_PARTS = 32, 2_500


def automatic_part_size(n: int) -> int:
    """Return the texts per part: the smallest power of two from 32 on that makes at most 2,500 parts of n texts.

    Examples
    --------
    >>> automatic_part_size(1_000), automatic_part_size(1_000_000)
    (32, 512)
    """
    size = _SMALLEST
    while n > size * _MOST_PARTS:
        size *= 2
    return size


@dataclass(frozen=True, slots=True)
class Shard:
    """Share number `number` (from 1) of `of` shares of the parts."""

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise OptionError(f"shard is {self.number}/{self.of}, expected I/N with I from 1 to N, as in 1/4")

    @classmethod
    def parse(cls, typed: str) -> Self:
        """Return the shard that is written as ``I/N``."""
        result = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", typed) if isinstance(typed, str) else None
        if result is None:
            raise OptionError(f"shard is {typed!r}, expected I/N, as in 1/4")
        return cls(int(result[1]), int(result[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts of a corpus of `n` texts: slices of `part_size` texts, of which a shard has every N-th."""

    n: int
    part_size: int
    shard: Shard = Shard()

    def __post_init__(self) -> None:
        check_integer("part_size", self.part_size, 1)
        if self.n < 0:
            raise OptionError(f"n is {self.n}, expected the number of texts")

    @property
    def n_parts(self) -> int:
        """Number of parts of the whole corpus."""
        return -(-self.n // self.part_size)

    @property
    def parts(self) -> range:
        """The parts of the shard, in order."""
        return range(self.shard.number - 1, self.n_parts, self.shard.of)

    def rows(self, part: int) -> range:
        """Return the rows of a part."""
        return range(part * self.part_size, min(self.n, (part + 1) * self.part_size))


SCHEMA = "mase.run/1"

# Key of the checksum of what was asked, in the metadata of a part.
ASKED = "asked_sha256"
_LONGEST_REASON = 300


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """What was asked: everything that decides the tables.

    Attributes
    ----------
    model
        Name and checksums of the model.
    method
        Settings of the explainer.
    seed
        Seed of the perturbations.
    target
        The class that is explained, or several of them; None for the predicted one.
    input
        Description of the input (`Source.describe`).
    n_texts
        Number of texts of the whole input.
    part_size
        Texts per part.
    kept
        Names of the kept columns.
    documents
        Whether the texts themselves are in the tables.
    against
        The class that they are compared with; None for no contrast.
    """

    model: dict[str, Any]
    method: dict[str, Any]
    seed: int
    target: str | int | Sequence[str | int] | None
    input: dict[str, Any]
    n_texts: int
    part_size: int
    kept: tuple[str, ...] = ()
    documents: bool = True
    against: str | int | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """The content of `run.json`.

    Attributes
    ----------
    asked
        What was asked. A run is continued only with the same.
    made_with
        Versions, processor and threads, which decide the last bits of scores.
    labels
        Names of the classes.
    created
        When the run was begun (ISO 8601, UTC).
    asked_sha256
        Checksum of what was asked, which the parts have as well; None in runs of earlier releases.
    """

    asked: Asked
    made_with: dict[str, Any]
    labels: tuple[str, ...]
    created: str
    asked_sha256: str | None = None

    def encode(self) -> bytes:
        """Return the content of the file."""
        try:
            plain = {"schema": SCHEMA} | msgspec.to_builtins(self, enc_hook=_plain)
            content = msgspec.json.encode(plain | {"asked": _valid(plain["asked"])})
        except (TypeError, ValueError) as error:
            raise DataError(f"the settings of the run cannot be written as JSON: {error}") from error
        return msgspec.json.format(content, indent=1) + b"\n"

    @classmethod
    def decode(cls, content: bytes, place: str) -> "Manifest":
        """Return the manifest in a file; errors name `place`."""
        try:
            plain = msgspec.json.decode(content)
            schema = plain.get("schema") if isinstance(plain, dict) else None
            if schema != SCHEMA:
                raise DataError(
                    f"{place} has the schema {schema!r:.80}, expected {SCHEMA!r}; if a later release wrote it, "
                    "read it with that release"
                )
            result = msgspec.convert(plain, cls)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise DataError(f"{place} does not describe a run: {error!s:.{_LONGEST_REASON}}") from error
        if not (0 <= result.asked.n_texts < 2**53 and 1 <= result.asked.part_size < 2**31):
            raise DataError(
                f"{place} has {result.asked.n_texts} texts in parts of {result.asked.part_size}, expected numbers >= 0 "
                "and >= 1"
            )
        return result


def asked_sha256(asked: Asked, labels: Sequence[str]) -> str:
    """Return the checksum of what was asked, and of the classes, as they are read from `run.json`.

    The folders in the name of a model do not count, so that parts of machines with other folders belong together.
    """
    plain = msgspec.to_builtins(asked)
    path = str(plain["model"].get("name")).replace("\\", "/").rstrip("/")
    model = plain["model"] | {"name": path.rpartition("/")[2]}
    content = msgspec.json.encode([plain | {"model": model}, labels], order="deterministic")
    return hashlib.sha256(content).hexdigest()


def _plain(value: Any) -> Any:
    """Return a NumPy value as a plain one."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON type")


def _valid(value: Any) -> Any:
    """Return JSON with valid texts: names of files may be no UTF-8."""
    if isinstance(value, dict):
        return {valid_text(key): _valid(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_valid(inner) for inner in value]
    return valid_text(value) if isinstance(value, str) else value


def check_same(what: str, got: Mapping[str, Any], expected: Mapping[str, Any], remedy: str) -> None:
    """Check that two settings are equal: those `got` now, and those `expected` by the run."""
    result = next(differences(got, expected), None)
    if result is not None:
        name, item, other = result
        raise DataError(f"the run has the {what} {name} {shown(other, item)}, got {shown(item, other)}; {remedy}")


def opening(model: Any, tokenizer: Any, options: ExplainerOptions) -> Callable[[], Explainer]:
    """Return what opens the explainer in a worker."""
    if isinstance(model, Explainer):
        if tokenizer is not None or options:
            names = ", ".join(options) or "tokenizer"
            raise OptionError(f"got {names} with an Explainer, expected neither; the explainer has its own options")
        return partial(_same, model)
    options = {"evidence": 0, **current(options)}  # type: ignore[typeddict-item]
    if isinstance(model, str | os.PathLike):
        return partial(_opened, os.fspath(model), tokenizer, dict(options))
    return partial(_same, Explainer(model, tokenizer, **options))


def of_documents(model: Any, options: ExplainerOptions) -> dict[str, Any]:
    """Return the options of the explainer that say how fields of documents are masked."""
    if isinstance(model, Explainer):
        return {"fixed": model.fixed, "background": model.background}
    return {"fixed": options.get("fixed", ()), "background": options.get("background")}


def _same(explainer: Explainer) -> Explainer:
    return explainer


def _opened(name: str, tokenizer: Any, options: Mapping[str, Any]) -> Explainer:
    return Explainer(open_code(name) if is_code(name) else name, tokenizer, **options)
