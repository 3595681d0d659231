"""The explanation of one text, in one call."""

from typing import Any, Unpack

from mase.attribution import Attribution
from mase.document import Input
from mase.errors import DataError
from mase.explainer import Explainer
from mase.models.document import is_taken
from mase.options import ExplainerOptions
from mase.progress import Listener
from mase.several import check_no_model
from mase.target import Label, Target

__all__ = ["explain"]


def explain(
    text: Input,
    model: Any = "lstm-imdb",
    tokenizer: Any = None,
    *,
    target: Target = None,
    against: Label = None,
    listener: Listener | None = None,
    **options: Unpack[ExplainerOptions],
) -> Attribution:
    """Return the attribution of one text. Create one `Explainer` for several: the model is then loaded only once.

    `model`, `tokenizer` and the options are those of `Explainer`; `text`, `target` and `against` those of its call. The
    `listener` is told how far the explanation is (`Explainer.follow`).

    Raises
    ------
    MaseError
        If an option, the model or the text is invalid (see `Explainer`).
    """
    check_no_model(text)
    _check_no_text(model)
    explainer = Explainer(model, tokenizer, **options)
    if listener is None:
        return explainer(text, target=target, against=against)
    return explainer.follow(text, listener, target=target, against=against)


def _check_no_text(model: Any) -> None:
    """Check, before a model is opened, that what stands in its place is no text: the name of no model has a space."""
    if isinstance(model, str) and len(model.split(maxsplit=1)) > 1 and not is_taken(model):
        raise DataError(
            f"model is {model!r:.60}, which is no file or folder, expected a model, its name, its folder or its URL; "
            "if both are texts, a pair of them is one tuple, as in mase.explain((first, second), model)"
        )
