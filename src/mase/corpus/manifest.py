"""`run.json`: what was asked of a run, and with what it was computed."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mase.document import valid_text
from mase.errors import DataError
from mase.io.differences import differences, shown

__all__ = ["ASKED", "SCHEMA", "Asked", "Manifest", "asked_sha256", "check_same"]

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
        """Return the content of the file.

        Raises
        ------
        DataError
            If a value is no JSON.
        """
        try:
            plain = {"schema": SCHEMA} | msgspec.to_builtins(self, enc_hook=_plain)
            content = msgspec.json.encode(plain | {"asked": _valid(plain["asked"])})
        except (TypeError, ValueError) as error:
            raise DataError(f"the settings of the run cannot be written as JSON: {error}") from error
        return msgspec.json.format(content, indent=1) + b"\n"

    @classmethod
    def decode(cls, content: bytes, place: str) -> "Manifest":
        """Return the manifest in a file; errors name `place`.

        Raises
        ------
        DataError
            If it is not a manifest of this schema, or a number is out of range.
        """
        try:
            plain = msgspec.json.decode(content)
            schema = plain.get("schema") if isinstance(plain, dict) else None
            if schema != SCHEMA:
                raise DataError(
                    f"{place} has the schema {schema!r:.80}, expected {SCHEMA!r}; if a later release wrote it, "
                    "read it with that release"
                )
            found = msgspec.convert(plain, cls)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise DataError(f"{place} does not describe a run: {error!s:.{_LONGEST_REASON}}") from error
        if not (0 <= found.asked.n_texts < 2**53 and 1 <= found.asked.part_size < 2**31):
            raise DataError(
                f"{place} has {found.asked.n_texts} texts in parts of {found.asked.part_size}, expected numbers >= 0 "
                "and >= 1"
            )
        return found


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
    """Check that two settings are equal: those `got` now, and those `expected` by the run.

    Raises
    ------
    DataError
        If they are not. The message names the first difference and the remedy.
    """
    found = next(differences(got, expected), None)
    if found is not None:
        name, one, other = found
        raise DataError(f"the run has the {what} {name} {shown(other, one)}, got {shown(one, other)}; {remedy}")
