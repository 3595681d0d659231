"""The explanations of one model with classes or values."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec

from mase.attribution import Attribution, Changed
from mase.errors import CapabilityError
from mase.explainer import Explainer
from mase.models.protocol import Model
from mase.progress import Listener
from mase.serve.messages import Explain, Settings
from mase.target import listed

__all__ = ["Explaining"]

_KEPT = 16
_SETTINGS = msgspec.json.Decoder(Settings)


class Explaining:
    """A model, with the explainers of the settings that were asked for last."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._explainers = lru_cache(_KEPT)(lambda key: Explainer(model, **_SETTINGS.decode(key).options))

    def explain(self, ask: Explain, listener: Listener, generated: Callable[[str], None]) -> Attribution:
        """Return the attribution of a text; nothing is `generated` before."""
        del generated
        target = listed(ask.target, self._model.labels)
        return self._explainer(ask).follow(ask.text, listener, target=target, against=ask.against)

    def without(self, ask: Explain, found: Attribution, units: Sequence[int]) -> Changed:
        """Return the prediction without some units of an attribution."""
        return self._explainer(ask).predict_without(found, units)

    def regenerate(self, ask: Explain, found: Attribution, units: Sequence[int]) -> str:
        """Refuse to answer: only a language model does."""
        del ask, found, units
        raise CapabilityError(f"the model {self._model.name!r} generates no answers, expected a language model")

    def _explainer(self, ask: Explain) -> Explainer:
        explainer: Explainer = self._explainers(msgspec.json.encode(ask.settings))
        return explainer
