"""Read a `tokenizer.json` with the library tokenizers alone, within the limits of `mase.models.limits`."""

import json
from pathlib import Path
from typing import Any

from mase.errors import DataError, MaseError
from mase.models import limits
from mase.models.tokenizer_file import STEPS, check_pipeline, check_tokenizer_files

__all__ = ["SAMPLE", "check_built", "read_tokenizer_json"]

SAMPLE = "It's a good film, isn't it? Çà, 電影 12345 --\n  the\tend"


def read_tokenizer_json(folder: Path) -> Any:
    """Return the `tokenizers.Tokenizer` of a folder, without its truncation and padding.

    Raises
    ------
    DataError
        If it cannot be read, or is beyond the limits.
    """
    import tokenizers

    check_tokenizer_files(folder)
    path = folder / "tokenizer.json"
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        steps = {
            name: json.loads(part.__getstate__()) for name in STEPS if (part := getattr(tokenizer, name)) is not None
        }
        check_pipeline(folder, steps)
        n_tokens = len(tokenizer.encode(SAMPLE).ids)
    except (MaseError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of tokenizers is not even an `Exception`
        raise DataError(f"cannot read the tokenizer {path}: {error}; expected a tokenizer.json") from error
    check_built(folder, n_tokens)
    return tokenizer


def check_built(folder: Path, n_tokens: int) -> None:
    """Check the number of tokens that the tokenizer of a folder returns for `SAMPLE`.

    Raises
    ------
    DataError
        If there are far more than characters.
    """
    most = limits.TOKENS_TIMES * len(SAMPLE) + limits.TOKENS_SPARE
    if n_tokens > most:
        raise DataError(
            f"the tokenizer of {folder} returns {n_tokens:,} tokens for {len(SAMPLE)} characters, "
            f"expected at most {most}"
        )
