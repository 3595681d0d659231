"""A language model of two layers that looks up who does what, so that the source of its answer is known.

FOLDER holds it (120 kB): any function that takes the folder of a language model takes it. The README in it says how it
was trained.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mase.errors import OptionError

__all__ = ["FOLDER", "NAMES", "VERBS", "Lookup", "lookups"]

FOLDER = Path(__file__).parent
NAMES = (
    "Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivan", "Jade", "Kai", "Lea", "Max", "Nora", "Omar",
    "Pia", "Quinn", "Rosa", "Sam", "Tess", "Uma", "Vera", "Walt", "Zoe",
)  # fmt: skip
VERBS = (
    "sings", "paints", "reads", "cooks", "dances", "swims", "runs", "writes", "sails", "rides", "sews", "digs",
    "bakes", "draws", "climbs", "fishes", "skates", "juggles", "knits", "mows", "welds", "hunts", "skis", "types",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lookup:
    """A question whose answer stands in the context.

    Attributes
    ----------
    sources
        The sentences of the context, such as "Ada sings."
    query
        The question.
    answer
        The right answer: a sentence for each person that the question names.
    used
        For each sentence of the answer the index of the only source that says so.
    """

    sources: tuple[str, ...]
    query: str
    answer: str
    used: tuple[int, ...]

    @property
    def context(self) -> str:
        """The sources as one text."""
        return " ".join(self.sources)


def lookups(n: int, seed: int = 0, *, n_sources: int = 8, n_asked: int = 1) -> list[Lookup]:
    """Return n random questions about `n_asked` of `n_sources` people.

    Raises
    ------
    OptionError
        If there are fewer sources than are asked for, or more than there are names.

    Examples
    --------
    >>> one = lookups(1, n_sources=3)[0]
    >>> one.context, one.query, one.answer, one.used
    ('Sam sews. Eva rides. Vera sings.', 'What does Eva do?', 'Eva rides.', (1,))
    """
    if not 1 <= n_asked <= n_sources <= len(NAMES):
        raise OptionError(
            f"n_asked is {n_asked} and n_sources is {n_sources}, expected 1 <= n_asked <= n_sources <= {len(NAMES)}"
        )
    rng = np.random.default_rng(seed)
    return [_lookup(rng, n_sources, n_asked) for _ in range(n)]


def _lookup(rng: np.random.Generator, n_sources: int, n_asked: int) -> Lookup:
    names = [NAMES[index] for index in rng.permutation(len(NAMES))[:n_sources]]
    verbs = [VERBS[index] for index in rng.integers(len(VERBS), size=n_sources)]
    used = tuple(rng.permutation(n_sources)[:n_asked].tolist())
    sources = tuple(f"{name} {verb}." for name, verb in zip(names, verbs, strict=True))
    people = " and ".join(names[index] for index in used)
    query = f"What {'does' if n_asked == 1 else 'do'} {people} do?"
    return Lookup(sources, query, " ".join(sources[index] for index in used), used)
