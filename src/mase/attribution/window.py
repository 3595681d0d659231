"""A window of a long text: a part that the model read and that was explained by itself."""

from dataclasses import dataclass

from mase.attribution.prediction import Prediction
from mase.registry import unknown

__all__ = ["Window", "WindowResponse"]


@dataclass(frozen=True, slots=True)
class WindowResponse:
    """One explained number in a window.

    Attributes
    ----------
    name
        Label of the explained class, or name of the explained value.
    value
        The explained number for the unmasked window. The scores of the units in the window have its unit.
    r2
        Share of its variance that the scores of the window explain; None if there are too few rows to estimate it.
    weight
        Weight of the window in the pooled prediction of this class or value. The weights of all windows sum to 1.
    decides
        Whether it is the window of highest probability (or value) among those that have a weight. One window decides.
    """

    name: str
    value: float
    r2: float | None
    weight: float
    decides: bool


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a field that the model read and that was explained by itself.

    Attributes
    ----------
    field, start, end
        The field, and the span in its text.
    prediction
        Prediction for the window.
    responses
        The explained numbers, by the names of the responses of the attribution.
    """

    field: str
    start: int
    end: int
    prediction: Prediction
    responses: tuple[WindowResponse, ...]

    def of(self, name: str) -> WindowResponse:
        """Return the explained number of this name.

        Raises
        ------
        UnknownNameError
            If no response has this name.
        """
        found = next((response for response in self.responses if response.name == name), None)
        if found is None:
            raise unknown("response", name, [response.name for response in self.responses])
        return found
