"""Attributions as HTML: one self-contained file without scripts and network access.

Jinja escapes everything that comes from outside (texts, labels, names). The page's content security policy allows only
its own style sheet, by checksum.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from types import MappingProxyType

from markupsafe import Markup

from mase.attribution import Attribution, Prediction
from mase.characters import boundary
from mase.files import write_text
from mase.render.facts import origin
from mase.render.legend import how_to_read, legend
from mase.render.meanings import meaning
from mase.render.numbers import counted, share
from mase.render.pieces import inline, isolated, model_name
from mase.render.shades import shading
from mase.render.templates import checksum, resource, templates
from mase.render.views import View, view_of

__all__ = ["PALETTES", "answer_style", "article", "fragment", "page", "style", "style_of", "write_page"]

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
    """Return a word for what is explained: an answer, a value or a class."""
    if _are_answers(attributions):
        return "answer"
    return "value" if attributions and all(one.prediction.values for one in attributions) else "class"


def _are_answers(attributions: Sequence[Attribution]) -> bool:
    return bool(attributions) and all(attribution.answer is not None for attribution in attributions)


def _title(attributions: Sequence[Attribution]) -> str:
    names = list(dict.fromkeys(model_name(attribution.model.get("name")) for attribution in attributions))
    noun = "answer" if _are_answers(attributions) else "text"
    return f"{counted(len(attributions), noun)} explained: {', '.join(names)}" if names else "Nothing to explain"
