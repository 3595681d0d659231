"""Answers of a model that are kept in a folder, so that rows that were asked once are not asked again.

Another link, estimator or penalty needs no other rows, so a run that adds one costs no evaluations. A file holds the
answers about one text. The folder has a part for each model, machine and set of versions, because answers of another
one may differ in their last bits.
"""

import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from mase.arrays import Floats
from mase.errors import DataError
from mase.files import cannot_read, read_bytes, write_stream, write_text, writing
from mase.platforms import locked

__all__ = ["Answer", "Answers"]
_ABOUT, _DIGEST = "about.json", 16
# Errors of NumPy, zipfile and zlib for damaged files; NotImplementedError is a RuntimeError.
_DAMAGED = (EOFError, LookupError, OSError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, slots=True)
class Answer:
    """The scores `(n, k)` of the rows of one batch, and the seconds that they took."""

    scores: Floats
    seconds: float


class Answers:
    """A folder of answers.

    Parameters
    ----------
    folder
        The folder of all answers; it is created.
    about
        Everything that answers depend on besides the rows, as plain JSON types: weights, versions and machine.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        told = json.dumps(about, sort_keys=True, indent=2) + "\n"
        self.folder = folder / blake2b(told.encode(), digest_size=_DIGEST).hexdigest()
        if not (self.folder / _ABOUT).exists():
            write_text(self.folder / _ABOUT, told)

    def path(self, text: str) -> Path:
        """Return the path of the file of a text."""
        return self.folder / f"{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=_DIGEST).hexdigest()}.npz"

    def read(self, text: str) -> dict[bytes, Answer]:
        """Return the answers about a text by the digests of their batches; empty if there are none."""
        path = self.path(text)
        if not path.exists():
            return {}
        content = BytesIO(read_bytes(path))
        try:
            with np.load(content, allow_pickle=False) as file:
                digests, ends, seconds = file["digests"], file["ends"], file["seconds"]
                scores = np.split(file["scores"].astype(np.float64), ends[:-1])
            return {
                digest.tobytes(): Answer(batch, float(took))
                for digest, batch, took in zip(digests, scores, seconds, strict=True)
            }
        except _DAMAGED as error:
            raise DataError(
                f"{cannot_read(path, error)}; it is damaged: delete it, and its rows are asked again"
            ) from None

    def write(self, text: str, answers: Mapping[bytes, Answer]) -> None:
        """Add answers to those about a text, which another run may have written meanwhile.

        Those of models in single precision take half of the space.
        """
        with writing(self.folder), locked(self.folder):
            self._replace(text, {**self.read(text), **answers})

    def _replace(self, text: str, answers: Mapping[bytes, Answer]) -> None:
        scores = np.concatenate([answer.scores for answer in answers.values()])
        single = scores.astype(np.float32)
        stream = BytesIO()
        np.savez_compressed(
            stream,
            digests=np.frombuffer(b"".join(answers), dtype=np.uint8).reshape(len(answers), -1),
            ends=np.cumsum([len(answer.scores) for answer in answers.values()]),
            seconds=np.array([answer.seconds for answer in answers.values()]),
            scores=single if np.array_equal(single, scores, equal_nan=True) else scores,
        )
        stream.seek(0)
        write_stream(self.path(text), stream)
