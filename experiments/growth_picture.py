"""Draw the scores of words over the epochs of a training, for `growth.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mase.render.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["N_WORDS", "Story", "drawn"]

N_WORDS, COLUMNS = 12, 6
FOR, AGAINST, GREY = "#0072b2", "#d55e00", "#555555"


@dataclass(frozen=True)
class Story:
    """A text over the epochs: scores and standard errors `(epochs, w)` and the probabilities of its topic."""

    id: str
    label: str
    words: tuple[str, ...]
    scores: Sequence[Sequence[float]]
    errors: Sequence[Sequence[float]]
    probabilities: Sequence[float]

    @property
    def strongest(self) -> list[int]:
        """The places of the words that have the largest absolute scores after the last epoch, strongest first."""
        return [int(place) for place in np.argsort(-np.abs(self.scores[-1]), kind="stable")[:N_WORDS]]


def drawn(stories: Sequence[Story]) -> "Figure":
    """Return the picture: two rows of panels for the words of a story; the panels of a row have one scale."""
    figure = new_figure(10.5, 4.4 * len(stories))
    for part, story in zip(figure.subfigures(len(stories), 1, squeeze=False).ravel(), stories, strict=True):
        chances = ", ".join(f"{one:.2f}" for one in story.probabilities)
        part.suptitle(
            f"A story about “{story.label}”: probability of the topic after each epoch {chances}",
            fontsize="medium", x=0.01, ha="left", parse_math=False,
        )  # fmt: skip
        panels = part.subplots(-(-N_WORDS // COLUMNS), COLUMNS, sharex=True, sharey="row")
        for place, axes in zip(story.strongest, panels.ravel(), strict=False):
            _panel(axes, story, place)
        part.supxlabel("epoch", fontsize="small")
        part.supylabel("score (margin), ± 1.96 standard errors", fontsize="small")
    return figure


def _panel(axes: "Axes", story: Story, place: int) -> None:
    """Draw one word: its score after each epoch, with an error bar."""
    scores, errors = (np.array(rows)[:, place] for rows in (story.scores, story.errors))
    epochs, hue = np.arange(1, len(scores) + 1), FOR if scores[-1] > 0 else AGAINST
    axes.axhline(0, color="#bbbbbb", linewidth=0.8)
    axes.fill_between(epochs, scores - 1.96 * errors, scores + 1.96 * errors, color=hue, alpha=0.25, linewidth=0)
    axes.plot(epochs, scores, color=hue, linewidth=1.5)
    axes.set_title(story.words[place], loc="left", fontsize="small", color=hue, parse_math=False)
    axes.set_title(f"word {place + 1}", loc="right", fontsize="x-small", color=GREY)
    axes.set_xticks(epochs)
    inside = axes.get_subplotspec()
    assert inside is not None
    axes.tick_params(labelsize="x-small", bottom=inside.is_last_row(), left=inside.is_first_col())
    axes.spines[["top", "right"]].set_visible(False)
