"""The explanation of one text, in one call."""

from typing import Any, Unpack

from mase.attribution import Attribution
from mase.document import Input
from mase.explainer import Explainer
from mase.options import ExplainerOptions
from mase.target import Label, Target

__all__ = ["explain"]


def explain(
    text: Input,
    model: Any = "lstm-imdb",
    tokenizer: Any = None,
    *,
    target: Target = None,
    against: Label = None,
    **options: Unpack[ExplainerOptions],
) -> Attribution:
    """Return the attribution of one text. Create one `Explainer` for several: the model is then loaded only once.

    `model`, `tokenizer` and the options are those of `Explainer`; `text`, `target` and `against` those of its call.

    Raises
    ------
    MaseError
        If an option, the model or the text is invalid (see `Explainer`).
    """
    return Explainer(model, tokenizer, **options)(text, target=target, against=against)
