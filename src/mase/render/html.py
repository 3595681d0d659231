"""Pages: escaping, the content security policy, and what a page shows of a result.

Jinja escapes everything that comes from outside (texts, labels, names). The page's content security policy allows only
its own style sheet, by checksum.
"""

import base64
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from os import PathLike
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mase.attribution.attribution import Attribution, Word
from mase.attribution.evidence import Verdict
from mase.attribution.response import Prediction
from mase.files import write_text
from mase.render.answers import AnswerView, answer_view
from mase.render.marks import (
    FAINT_SHADES,
    SHADES,
    Piece,
    Scale,
    are_estimates,
    bars,
    has_intervals,
    inline,
    is_significant,
    is_unsigned,
    isolated,
    labelled,
    model_name,
    pieces,
    scale_of,
    shading,
    shortened_to_width,
    strongest,
)
from mase.render.wording import (
    cost_facts,
    counted,
    cut_off,
    effect_lines,
    evidence_facts,
    heading,
    how_to_read,
    interaction_line,
    legend,
    meaning,
    origin,
    other_notes,
    other_responses,
    quality_facts,
    share,
    stated,
    top_classes,
    unbroken,
    unit,
    window_lines,
    zoomed_facts,
)
from mase.text import boundary

_TOP_CLASSES = 4
_LONGEST_NAME = 80
_UNREAD_SHOWN = 4000


@dataclass(frozen=True, slots=True)
class _ClassRow:
    label: str
    probability: str
    width: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class _WordRow:
    word: str
    number: str
    bar: Markup


@dataclass(frozen=True, slots=True)
class View:
    """One attribution as its template shows it.

    Attributes
    ----------
    number
        Number of the text on a page of several; 0 on a page of one.
    against
        The class that the target is compared with; empty if there is none.
    marks
        Names of the marks in the text, which `legend` explains.
    group
        Number of the predicted class on a page of several texts, by which it can be filtered.
    answer
        The answer of a language model with its sources; None for other attributions.
    n_scored
        Number of the words whose scores can be shown in the text; 0 if `words` are all, or the page is large.
    zoom, zoomed
        Which units are explained word by word, and the view of these words; empty and None if none are.
    """

    number: int
    group: int
    verdict: Verdict
    predicted: str
    probability: str
    target: str
    against: str
    other_target: bool
    heading: Markup
    unsigned: bool
    intervals: bool
    marks: frozenset[str]
    text: Markup
    classes: Sequence[_ClassRow]
    n_more_classes: int
    words: Sequence[_WordRow]
    n_scored: int
    pairs: Sequence[str]
    others: Sequence[str]
    evidence: Sequence[str]
    facts: Sequence[str]
    cut: str | None
    windows: Sequence[str]
    notes: Sequence[str]
    noun: str
    zoom: str
    zoomed: "View | None"
    more: Sequence[str]
    answer: AnswerView | None

    @property
    def kinds(self) -> str:
        """The classes of the article."""
        kinds = {
            f"t g{self.group}": self.number,
            "care": self.number and not self.verdict.reliable,
            "plain": self.unsigned,
            "cites": self.answer,
        }
        return " ".join(name for name, is_there in kinds.items() if is_there)


def view_of(
    attribution: Attribution,
    *,
    number: int = 0,
    group: int = 0,
    hints: bool,
    buttons: bool = False,
    alone: bool = False,
) -> View:
    """Return an attribution as its template shows it.

    Parameters
    ----------
    attribution
        The attribution.
    number, group
        Numbers of the text and of its predicted class on a page of several texts.
    hints
        Whether unmarked words have a tooltip with their score.
    buttons
        Whether the units of the text are buttons.
    alone
        Whether the details also say what the scores mean and where they come from, because nothing else does.
    """
    a, scale, verdict = attribution, scale_of(attribution), attribution.verdict
    shown = pieces(a, longest_unread=_UNREAD_SHOWN)
    marks = frozenset(mark for piece in shown for mark in _marks(a, piece, scale))
    zoomed = None if a.zoomed is None else view_of(a.zoomed, hints=hints)
    classes, listed = _class_rows(a), _word_rows(a, strongest(a, _n_listed(len(a.words))), scale)
    first = next((piece.unit for piece in shown if piece.unit is not None), None)

    def attributes(piece: Piece) -> Markup:
        hint = Markup(' title="{}"').format(scale.interval(piece.word, "±")) if hints and piece.word else Markup("")
        return hint + Markup(_button(piece, first) if buttons else "")

    return View(
        number=number,
        group=group,
        verdict=replace(verdict, reasons=tuple(unbroken(inline(reason)) for reason in verdict.reasons)),
        predicted=inline(a.prediction.label),
        probability=unbroken(stated(a.prediction)),
        target=shortened_to_width(inline(a.target), _LONGEST_NAME),
        against=shortened_to_width(inline(a.responses[0].against or ""), _LONGEST_NAME),
        other_target=a.prediction.probability is not None and a.target != a.prediction.label,
        heading=heading(marks, a.noun),
        unsigned=is_unsigned(a),
        intervals=has_intervals(a),
        marks=marks.union(_marks_of_parts(a), zoomed.marks if zoomed else ()),
        text=Markup("").join(
            _piece(
                piece, scale, signed=not is_unsigned(a), hints=hints, button=_button(piece, first) if buttons else ""
            )
            for piece in shown
        ),
        classes=classes,
        n_more_classes=len(a.prediction.probabilities or a.prediction.values) - len(classes),
        words=listed,
        n_scored=len(a.words) if hints and len(a.words) > len(listed) else 0,
        pairs=[
            f"{line[0].upper()}{line[1:]}." for line in (*interaction_line(a, isolated), *effect_lines(a, isolated))
        ],
        others=other_responses(a),
        evidence=[f"{fact[0].upper()}{unbroken(fact[1:])}." for fact in evidence_facts(a, isolated)],
        facts=[f"scores: {unit(a)}", *quality_facts(a), *cost_facts(a)],
        cut=_cut(a, marks),
        windows=window_lines(a),
        notes=[inline(note.message) for note in other_notes(a)],
        noun=a.noun,
        zoom=next((f"{fact[0].upper()}{fact[1:]}" for fact in zoomed_facts(a)), ""),
        zoomed=zoomed,
        more=[*meaning([a]), " · ".join(origin(a))] if alone else [],
        answer=None
        if a.answer is None
        else answer_view(a, number=number, longest_unread=_UNREAD_SHOWN, attributes=attributes),
    )


def _cut(attribution: Attribution, marks: frozenset[str]) -> str | None:
    """Return a sentence on what the model read, and how a text with these marks shows the rest; None if it read all."""
    cut = cut_off(attribution)
    if cut is None:
        return None
    return f"{cut[0].upper()}{cut[1:]}{', and not what is grey' if 'unread' in marks else ''}."


def _marks(attribution: Attribution, piece: Piece, scale: Scale) -> Iterator[str]:
    """Yield the names of the marks of a piece, which `legend` explains."""
    word = piece.word
    if piece.unread:
        yield "unread"
    if word is None or not scale.level(word, len(SHADES)):
        return
    side = "for" if word.score > 0 else "against"
    if not are_estimates(attribution):
        yield "arbitrary"
    elif is_unsigned(attribution):
        yield "strong"
    else:
        yield side
    if not is_significant(word):
        yield f"insignificant {side}"


def _marks_of_parts(attribution: Attribution) -> Iterator[str]:
    """Yield the names of the marks that the units of an answer's sources have for its parts."""
    for part in attribution.answer.parts if attribution.answer else ():
        result = attribution.of(part.response)
        scale = scale_of(result)
        for word in result.word_scores:
            yield from _marks(result, Piece(word.text, word), scale)


def _button(piece: Piece, first: int | None) -> str:
    """Return the attributes of a unit that is a button; only the first one of a text is reached by the Tab key."""
    tab = 0 if piece.unit == first else -1
    return f" data-unit={piece.unit} role=button aria-pressed=false tabindex={tab}"


def _piece(piece: Piece, scale: Scale, *, signed: bool, hints: bool, button: str) -> Markup:
    word = piece.word
    if piece.name:
        return Markup("<small>{}</small> ").format(piece.text)
    if word is None:
        return Markup("<s>{}</s>").format(piece.text) if piece.unread else Markup.escape(piece.text)
    level, hint = scale.level(word, len(SHADES)), scale.interval(word, "±")
    if not (level or hints or button):
        return Markup.escape(piece.text)
    if not level:
        return Markup("<u{} title={}>{}</u>").format(Markup(button), hint, piece.text)
    tag = "b" if word.score > 0 or not signed else "i"
    letter = (SHADES if is_significant(word) else FAINT_SHADES)[level - 1]
    return Markup("<{0} {1}{2} title={3}>{4}</{0}>").format(tag, letter, Markup(button), hint, piece.text)


def _class_rows(attribution: Attribution) -> list[_ClassRow]:
    target = inline(attribution.target)
    return [
        _ClassRow(label, unbroken(number), f"{100 * bar:.3g}", label == target)
        for label, number, bar in top_classes(attribution, _TOP_CLASSES)
    ]


def _word_rows(attribution: Attribution, words: Sequence[Word], scale: Scale) -> list[_WordRow]:
    labels = [labelled(attribution, word) for word in words]
    drawn = bars(words, signed=not is_unsigned(attribution))
    return [_WordRow(label, scale.interval(word), bar) for label, word, bar in zip(labels, words, drawn, strict=True)]


def _n_listed(n_words: int) -> int:
    """Return the number of words to list beside a text: the five of the verdict, one more beside a long text."""
    return max(5, min(6, n_words // 8))


@cache
def templates(package: str) -> Environment:
    """Return the templates of a package; names that a page forgot to fill are errors."""
    return Environment(
        loader=PackageLoader(package, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def resource(package: str, name: str) -> str:
    """Return the content of a style sheet or a script of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def checksum(content: str) -> str:
    """Return the checksum by which a content security policy allows an inline style sheet or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


_PACKAGE = "mase.render"

# Beyond this many scored words, unmarked words have no tooltip with their score.
_MANY_WORDS = 1500

# Characters of a text in the list of texts.
_BEGINNING = 40

# Messages of failures, and numbers of texts with the same one, that a page names.
_MOST_REASONS, _MOST_NUMBERS = 20, 10

# Parts of an answer for which sources are shaded where the answers are not known beforehand.
_MOST_PARTS = 12

# Dark colours, in the sheet of the page, take the place of light ones, and so come after the palettes.
_SHEETS = ("style.css", "palettes.css", "page.css", "choices.css")

PALETTES = (
    ("red-blue", "red for, blue against"),
    ("blue-orange", "blue for, orange against"),
    ("green-purple", "green for, purple against"),
    ("grey", "grey for, hatched against"),
)


def page(
    attributions: Iterable[Attribution],
    *,
    numbers: Sequence[int] | None = None,
    failures: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """Return a self-contained HTML page of the attributions, one below the other.

    Parameters
    ----------
    attributions
        The attributions.
    numbers
        Numbers of their texts, if some texts are missing; 1, 2, ... by default.
    failures
        Numbers of the texts of the same run that could not be explained, and why, which the page lists.
    """
    shown = list(attributions)
    several = len(shown) + len(failures) > 1
    text_numbers = range(1, len(shown) + 1) if numbers is None else numbers
    hints = sum(len(attribution.word_scores) for attribution in shown) <= _MANY_WORDS
    classes = list(dict.fromkeys(attribution.prediction.label for attribution in shown)) if several else []
    views = [
        view_of(
            a, number=n if several else 0, group=1 + classes.index(a.prediction.label) if several else 0, hints=hints
        )
        for n, a in zip(text_numbers, shown, strict=True)
    ]
    sheet = "".join(resource(_PACKAGE, name) for name in _SHEETS) + _filters(views) + _answer_style(views)
    n_reliable = sum(view.verdict.reliable for view in views)
    return (
        templates(_PACKAGE)
        .get_template("page.html")
        .render(
            title=_title(shown),
            style=Markup(sheet),
            style_hash=checksum(sheet),
            legend=legend(frozenset().union(*(view.marks for view in views)), _explained(shown)),
            missing=f"{counted(len(failures), 'more text')} could not be explained." if failures else "",
            reasons=_reasons(failures),
            several=several and views,
            verdicts=_verdicts(n_reliable, len(views)),
            palettes=PALETTES,
            classes=_counted_classes(views),
            mixed=several and 0 < n_reliable < len(views),
            lists=_lists(views, shown),
            orders={"probability": "value"} if _explained(shown) == "value" else {},
            reading=" ".join([*meaning(shown), *how_to_read(shown, hints=hints)]),
            views=views,
            origins=list(dict.fromkeys(" · ".join(origin(attribution)) for attribution in shown)),
        )
    )


def _reasons(failures: Mapping[int, str]) -> list[str]:
    """Return the messages of failures, each with the numbers of its texts."""
    texts = defaultdict[str, list[int]](list)
    for number, message in failures.items():
        texts[message].append(number)
    lines = []
    for message, numbers in list(texts.items())[:_MOST_REASONS]:
        more = f" and {len(numbers) - _MOST_NUMBERS:,} more" if len(numbers) > _MOST_NUMBERS else ""
        named = ", ".join(f"{number:,}" for number in numbers[:_MOST_NUMBERS])
        lines.append(f"{'Text' if len(numbers) == 1 else 'Texts'} {named}{more}: {inline(message)}")
    return lines + ([f"and {len(texts) - _MOST_REASONS:,} more messages"] if len(texts) > _MOST_REASONS else [])


def _verdicts(n_reliable: int, n: int) -> str:
    """Return how many of n explanations are reliable."""
    if n_reliable == n:
        return "All explanations are reliable."
    return f"{n_reliable:,} of {counted(n, 'explanation')} {'is' if n_reliable == 1 else 'are'} reliable."


def _counted_classes(views: Sequence[View]) -> list[tuple[int, str, int]]:
    """Return number, label and number of texts of each predicted class; nothing if there is one."""
    counts = Counter((view.group, view.predicted) for view in views)
    return [(group, isolated(label), n) for (group, label), n in counts.items()] if len(counts) > 1 else []


def _filters(views: Sequence[View]) -> str:
    """Return the rules by which a page shows the texts of one class, or says that none is left."""
    groups = {view.group for view in views}
    there = {(view.group, view.verdict.reliable) for view in views}
    rules = [f".mase:has(#g{group}:checked) .t:not(.g{group}){{display:none}}" for group in sorted(groups)]
    names = {True: "reliable", False: "careful"}
    rules += [
        f".mase:has(#g{group}:checked):has(#{name}:checked) .none{{display:block}}"
        for group in sorted(groups)
        for reliable, name in names.items()
        if (group, reliable) not in there
    ]
    return "".join(rules) if len(groups) > 1 else ""


def _lists(views: Sequence[View], attributions: Sequence[Attribution]) -> list[tuple[str, list[tuple[View, str, str]]]]:
    """Return lists of the texts in several orders; each entry has a name, and says by what it is ordered."""
    both = list(zip(views, attributions, strict=True))
    likely = sorted(both, key=lambda pair: -_number(pair[1].prediction))
    fitting = sorted(both, key=lambda pair: math.inf if pair[1].r2 is None else pair[1].r2)
    names = {view.number: isolated(view.predicted) for view in views}

    def fit(a: Attribution) -> str:
        return "unknown" if a.r2 is None else share(a.r2)

    return [
        ("text", [(view, f"{names[view.number]}:", _beginning(a)) for view, a in both]),
        ("probability", [(view, names[view.number], view.probability) for view, _ in likely]),
        ("fit", [(view, f"{names[view.number]},", f"R² {fit(a)}") for view, a in fitting]),
    ]


def _number(prediction: Prediction) -> float:
    """Return the probability of the predicted class, or the value."""
    return prediction.values[prediction.label] if prediction.probability is None else prediction.probability


def _beginning(attribution: Attribution) -> str:
    text = attribution.text if attribution.answer is None else attribution.answer.text
    return inline(" ".join(text[: boundary(text, _BEGINNING)].split()))


def write_page(
    attributions: Iterable[Attribution],
    path: str | PathLike[str],
    *,
    numbers: Sequence[int] | None = None,
    failures: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """Return the `page` of the attributions, and write it to `path` atomically."""
    content = page(attributions, numbers=numbers, failures=failures)
    write_text(path, content)
    return content


def fragment(attribution: Attribution) -> str:
    """Return one attribution as a piece of HTML for a notebook, with the colours of the page around it."""
    view = view_of(attribution, hints=True, alone=True)
    return templates(_PACKAGE).get_template("fragment.html").render(style=Markup(style_of([view])), view=view)


def article(attribution: Attribution) -> str:
    """Return one attribution as an `article` without style and script, whose units can be clicked.

    Each unit of the text that is shown is an element with `data-unit`, its index, and `role=button`, not pressed. The
    first one can be reached by the Tab key (`tabindex=0`), the others by what moves the focus (`tabindex=-1`). The page
    around it has an element of the class `mase` and the rules of `style`.
    """
    view = view_of(attribution, hints=True, buttons=True, alone=True)
    return templates(_PACKAGE).get_template("one.html").render(view=view)


def style() -> str:
    """Return the style sheet of articles; all of it concerns only what is inside of an element of the class `mase`."""
    return resource(_PACKAGE, "style.css")


def answer_style(n_parts: int = _MOST_PARTS) -> str:
    """Return the style sheet of articles of answers with at most this many parts; it comes after that of `style`."""
    return resource(_PACKAGE, "answer.css") + shading(n_parts)


def style_of(views: Sequence[View]) -> str:
    """Return the style sheet of the articles of these views."""
    return style() + _answer_style(views)


def _answer_style(views: Sequence[View]) -> str:
    """Return the style sheet of the answers among some views; nothing if there are none."""
    counts = [view.answer.n_chosen for view in views if view.answer is not None]
    return answer_style(max(counts)) if counts else ""


def _explained(attributions: Sequence[Attribution]) -> str:
    """Return a word for what is explained: an answer, the agreement with it, a value or a class."""
    if _are_answers(attributions):
        return "agreement" if all(attribution.link == "value" for attribution in attributions) else "answer"
    if attributions and all(attribution.prediction.values for attribution in attributions):
        return "value"
    return "class" if all(map(_is_of_class, attributions)) else "number"


def _is_of_class(attribution: Attribution) -> bool:
    """Return whether the explained number rises and falls with the probability of the class, whatever others do."""
    several = len(attribution.prediction.probabilities) > 2 and not attribution.prediction.multilabel
    return attribution.responses[0].against is None and not (attribution.link == "logit" and several)


def _are_answers(attributions: Sequence[Attribution]) -> bool:
    return bool(attributions) and all(attribution.answer is not None for attribution in attributions)


def _title(attributions: Sequence[Attribution]) -> str:
    names = list(dict.fromkeys(model_name(attribution.model.get("name")) for attribution in attributions))
    noun = "answer" if _are_answers(attributions) else "text"
    return f"{counted(len(attributions), noun)} explained: {', '.join(names)}" if names else "Nothing to explain"
