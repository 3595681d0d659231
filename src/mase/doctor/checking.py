"""`mase.check`: find out what a model is taken for."""

from collections.abc import Collection, Mapping
from typing import Any

from mase.doctor.check import Check, Defaults
from mase.doctor.language import LanguageCheck, check_language_model
from mase.doctor.trials import agreement, bound, cut_off, fails, inputs, speed
from mase.document import Document, Input, Scalar
from mase.errors import EmptyTextError, InvalidTextError, MaseError, ModelError, ShapeError
from mase.explainer import Explainer
from mase.models.callable import Callable
from mase.models.description import Guess, description_of
from mase.models.language.generated import Generated

__all__ = ["check"]

_SHORT = "A dull start, but the last hour of the film is wonderful."
_LONG = " ".join([
    "We went on a Monday evening, when there were only a few people, and still waited for half an hour.",
    "The staff were friendly once they had time, though nobody could tell us what was in the soup.",
    "My sister had the fish, which was fresh and came with a good sauce; mine was cold in the middle.",
    "They took it back without a word and did not ask us to pay for it, which I thought was fair.",
    "The room itself is lovely, with a view of the harbour, but too loud for a conversation.",
    "In short, a pleasant place for a drink, and perhaps not the first choice for a long dinner.",
])  # fmt: skip

# Number of words of a text that a black box is tried with. Many models of transformers read half as many.
_MANY_WORDS = 1024


def check(
    model: Any,
    tokenizer: Any = None,
    *,
    text: Input | None = None,
    fixed: Collection[str] = (),
    background: Mapping[str, Scalar] | None = None,
) -> Check | LanguageCheck:
    """Return what a model is taken for: what was recognised, and what was guessed and how to say it.

    The model is asked some questions: about two dozen, and as many more as it answers in a second.

    Parameters
    ----------
    model, tokenizer
        What `mase.Explainer` takes.
    text
        An input to ask about, for a model that cannot read just any text: a text, a pair or a mapping of fields. Two
        texts in English are used by default.
    fixed, background
        What `mase.Explainer` takes for the fields of the input.

    Returns
    -------
    Check or LanguageCheck
        Of a language model, how it is asked and answers in place of its classes.

    Raises
    ------
    MaseError
        If the model cannot be explained.

    Examples
    --------
    >>> import mase
    >>> found = mase.check(lambda texts: [[0.2, 0.8] for _ in texts])
    >>> found.labels, found.output, found.agreement.is_deterministic
    (('0', '1'), 'probabilities', True)
    >>> [(guess.what, guess.remedy) for guess in found.guesses]  # doctest: +NORMALIZE_WHITESPACE
    [("the classes are called '0', '1'", 'pass mase.models.Callable(..., labels=[...]), one name per column')]
    """
    explainer = Explainer(model, tokenizer, fixed=fixed, background=background, evidence=0)
    given = None if text is None else Document.of(text, fixed=fixed, background=background)
    adapted = explainer.model
    if isinstance(adapted, Generated):
        return check_language_model(adapted.language_model, given)
    texts, failed = _readable(explainer, given)
    output, description = bound(explainer, texts[0]).probe.output, description_of(adapted)
    cut, longest = cut_off(adapted)
    return Check(
        name=adapted.name,
        kind=description.kind,
        labels=tuple(adapted.labels),
        labels_from=description.labels_from,
        output=output.kind,
        ranked=output.ranked,
        multilabel=output.multilabel,
        inputs=inputs(adapted, given),
        cut_off=cut,
        longest=longest,
        context_length=description.context_length,
        defaults=_defaults(explainer),
        agreement=agreement(adapted, [texts[0], *texts]),
        speeds=tuple(speed(explainer, one) for one in texts),
        device=description.device,
        precision=description.precision,
        guesses=(*description.guesses, *failed),
    )


def _readable(explainer: Explainer, given: Document | None) -> tuple[list[Input], tuple[Guess, ...]]:
    """Return the inputs to ask about, and what a longer text fails for if it does."""
    if given is not None:
        bound(explainer, given)
        return [given], ()
    try:
        bound(explainer, _SHORT)
    except (EmptyTextError, InvalidTextError, ModelError, ShapeError) as error:
        remedy = "this was an English sentence; if the model reads something else, pass an example as text='...'"
        raise type(error)(f"{error}; {remedy}") from error
    try:
        bound(explainer, _LONG)
    except MaseError as error:
        what = f"a text of {len(_LONG.split())} words is read whole, and fails: {error}"
        return [_SHORT], (Guess(what, "pass max_length=..., or shorten texts"),)
    failure = fails(explainer.model, _MANY_WORDS) if isinstance(explainer.model, Callable) else None
    if failure is not None:
        what = f"a text of {_MANY_WORDS:,} words is given to the model whole, and fails: {failure}"
        return [_SHORT, _LONG], (Guess(what, "let the model cut off texts, or shorten them"),)
    return [_SHORT, _LONG], ()


def _defaults(explainer: Explainer) -> Defaults:
    reference = explainer.method.space.reference
    others = [name for name in explainer.model.references if name != reference]
    references = () if reference is None else (reference, *others)
    return Defaults(explainer.method.name, explainer.splitter.name, references)
