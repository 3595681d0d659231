"""What `growth.py` compares: models of one kind in several sizes, each trained with one seed or more."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mase.choices import Precision
from mase.models.protocol import Model

__all__ = ["Family", "Grown"]


class Grown(Protocol):
    """One training."""

    @property
    def name(self) -> str:
        """Name of the model and of its folder."""
        ...

    @property
    def size(self) -> int:
        """Its width, or how many layers it has."""
        ...

    @property
    def seed(self) -> int:
        """Seed of the training."""
        ...

    def trained(self, models: Path, data_dir: str) -> dict[str, Any]:
        """Return what the training came to; train first if the folder lacks it."""
        ...

    def at(self, epoch: int, models: Path) -> Model:
        """Return the model as it was after an epoch, from 1, if that one was kept."""
        ...


@dataclass(frozen=True)
class Family:
    """Models of one kind.

    Attributes
    ----------
    page
        Name of the page.
    trainings
        What is compared.
    sizes
        What each size is called, the smallest first.
    bundled
        The size of the bundled model, with which the others are compared.
    precision
        Of the explanations.
    fewest_words
        Texts with fewer words are left out.
    """

    page: str
    trainings: tuple[Grown, ...]
    sizes: Mapping[int, str]
    bundled: int
    precision: Precision = "float32"
    fewest_words: int = 1

    def of_size(self, size: int) -> list[Grown]:
        """Return the trainings of a size."""
        return [grown for grown in self.trainings if grown.size == size]
