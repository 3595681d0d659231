"""The settings that every stored model has: its name, its labels, its maximum length and the end that it keeps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mase.errors import DataError
from mase.models import limits
from mase.models.sizes import whole_number

__all__ = ["check_configuration"]


def check_configuration(path: Path, config: Mapping[str, Any]) -> None:
    """Check name, labels, max_length and keep of a stored model's `config.json`.

    Raises
    ------
    DataError
        If one of them has the wrong type or is outside its limits.
    """
    labels = config["labels"]
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise DataError(f"{path} has labels {labels!r:.60}, expected a list of names")
    if not 2 <= len(labels) <= limits.LABELS or len(set(labels)) < len(labels):
        raise DataError(f"{path} has {len(labels):,} labels, expected 2 to {limits.LABELS:,} different ones")
    if config["keep"] not in ("start", "end") or not isinstance(config["name"], str):
        raise DataError(
            f"{path} has name {config['name']!r:.60} and keep {config['keep']!r:.60}, expected a string, "
            "and 'start' or 'end'"
        )
    whole_number(path, "max_length", config["max_length"], 1, limits.POSITIONS)
