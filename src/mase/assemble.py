"""From a solution to the parts of an attribution."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mase.arrays import Ints
from mase.attribution.attribution import Token, Unit
from mase.attribution.notes import Fit, Note
from mase.attribution.response import Interaction, Response, error_of, total_error_of
from mase.document import Document
from mase.solve.problem import Estimate
from mase.solve.strategy import Solution
from mase.text import Tokens, Words
from mase.units.grouping import members

_LED = "the best {}s of the others may be found less well than if each had been explained alone"
# How many words a note lists.
_LISTED = 5


def response_of(
    solution: Solution, label: str, link: str, words: Words, of_token: Ints, *, per_token: bool, against: str | None
) -> Response:
    """Return an explained response with the scores of the words and, with token coordinates, of the tokens."""
    gamma, groups = solution.estimate.gamma, members(words, of_token)
    return Response.of(
        label,
        link,
        solution.response,
        *solution.estimate.sums(groups),
        r2=solution.r2,
        r2_held_out=solution.r2_held_out,
        signed=solution.signed,
        exact=solution.exact,
        token_scores=np.where(of_token >= 0, gamma[of_token], 0.0) if per_token else None,
        against=against,
        split_half=solution.split_half,
        interactions=_of_units(solution.interactions, groups),
        total_errors=None if solution.estimate.bias is None else solution.estimate.total_errors(groups),
        effects=_effects(solution.estimate.further, groups),
    )


def _effects(further: Mapping[str, Estimate], groups: Sequence[Ints]) -> dict[str, tuple[float, ...]]:
    """Return the further effects of the units by name, and their standard and total errors."""
    effects: dict[str, tuple[float, ...]] = {}
    for name, estimate in further.items():
        sums, errors = estimate.sums(groups)
        effects |= {name: tuple(sums.tolist()), error_of(name): tuple(errors.tolist())}
        if estimate.bias is not None:
            effects[total_error_of(name)] = tuple(estimate.total_errors(groups).tolist())
    return effects


def _of_units(found: Iterable[Interaction], groups: Iterable[Ints]) -> tuple[Interaction, ...]:
    """Return the interactions of pairs of units, from those of their coordinates: each has one of its own."""
    unit_of = {coordinate: unit for unit, group in enumerate(groups) for coordinate in group.tolist()}
    return tuple(replace(one, units=(unit_of[one.units[0]], unit_of[one.units[1]])) for one in found)


def notes_of(solution: Solution, names: Sequence[str], noun: str) -> tuple[Note, ...]:
    """Return the notes of a solution and of those of the other responses; those of all have no name of a response.

    `noun` is what a unit is called.
    """
    solutions = (solution, *solution.others)
    if len(solutions) == 1:
        return solution.notes
    common = [note for note in solution.notes if all(note in other.notes for other in solutions)]
    own = [
        replace(note, response=name)
        for one, name in zip(solutions, names, strict=True)
        for note in one.notes
        if note not in common
    ]
    message = f"the rows were chosen for {names[0]}, which led; {_LED.format(noun)}"
    led = [Note("led", message)] if solution.leads else []
    return (*common, *led, *own)


def text_notes(*read: Tokens) -> tuple[Note, ...]:
    """Return the notes about what a tokenizer makes of a document, or of its windows."""
    return (*_special_notes(*read), *unread_notes(*read), *unknown_notes(*read))


def _special_notes(*read: Tokens) -> tuple[Note, ...]:
    """Return a note if pieces of a document, or of its windows, were special tokens to the model."""
    places = [
        (tokens.document.located(*span)[0].name, tokens.text[slice(*span)].strip())
        for tokens in read
        for span in tokens.special
    ]
    if not places:
        return ()
    listed = ", ".join(f"{piece!r} in {field!r}" for field, piece in dict.fromkeys(places))
    message = (
        f"the model read {listed} as special tokens of its tokenizer, and not as these characters; if that is not "
        "meant, take them out of the text"
    )
    return (Note("special-tokens", message),)


def unread_notes(*read: Tokens) -> tuple[Note, ...]:
    """Return a note if words of a document, or of its windows, have no token."""
    words = [tokens.text[slice(*span)] for tokens in read for span in tokens.unread()]
    if not words:
        return ()
    message = (
        f"the tokenizer has no token for {_listed(words)}: the model does not read such words, and they have no score"
    )
    return (Note("unread-words", message),)


def unknown_notes(*read: Tokens) -> tuple[Note, ...]:
    """Return a note if at least half of the tokens of a document, or of its windows, are unknown to the tokenizer."""
    unknown = [tokens.text[slice(*span)] for tokens in read for span in tokens.unknown()]
    n_tokens = sum(len(tokens.scored()) for tokens in read)
    if not unknown or 2 * len(unknown) < n_tokens:
        return ()
    message = (
        f"{100 * len(unknown) // n_tokens}% of the tokens are unknown to the tokenizer ({_listed(unknown)}), and the "
        "model cannot tell these apart; check that this is the tokenizer of the model, and made for such texts"
    )
    return (Note("unknown-words", message),)


def _listed(words: Sequence[str]) -> str:
    different = [*dict.fromkeys(words)]
    more = f" and {len(different) - _LISTED:,} more" if len(different) > _LISTED else ""
    return ", ".join(f"{word!r:.60}" for word in different[:_LISTED]) + more


def category_notes(document: Document) -> tuple[Note, ...]:
    """Return a note if categories are empty or white space, of which no unit is made."""
    valued = [field for field in document.fields if field.value is not None and not field.fixed]
    empty = ", ".join(repr(field.name) for field in valued if not field.text.strip())
    if not empty:
        return ()
    message = (
        f"a category that is empty was never masked and has no score: {empty}; give a category that is missing a name, "
        "such as 'none'"
    )
    return (Note("empty-category", message),)


def fit_of(solution: Solution, n_tested: int, seconds: float) -> Fit:
    """Return how well the scores describe the model, and what they cost together with `n_tested` evaluations."""
    return Fit(
        split_half=solution.split_half,
        condition=solution.condition,
        n_queries=solution.cost.n_queries + n_tested,
        n_gradients=solution.cost.n_gradients,
        seconds=seconds,
        precision=solution.precision,
    )


def tokens_of(tokens: Tokens, words: Words) -> tuple[Token, ...]:
    """Return the tokens with their spans and the indices of their words."""
    result = []
    for piece, span, word in zip(tokens.pieces, tokens.spans, words.of_token, strict=True):
        if span is None:
            result.append(Token(piece, None, None, None, None))
        else:
            field, start, end = tokens.document.located(*span)
            result.append(Token(piece, field.name, start, end, word if word >= 0 else None))
    return tuple(result)


def units_of(tokens: Tokens, words: Words) -> tuple[Unit, ...]:
    """Return the words with their spans in the fields of the document."""
    result = []
    for span in words.spans:
        field, start, end = tokens.document.located(*span)
        result.append(Unit(field.name, start, end, field.text[start:end]))
    return tuple(result)
