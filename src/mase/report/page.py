"""The page of the report: everything that the summary says, and the first texts of the list."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mase.characters import boundary
from mase.render.legend import legend
from mase.render.meanings import meaning_of_link
from mase.render.numbers import counted, percent, percent_of_all, share
from mase.render.palette import FAINT_SHADES, SHADES
from mase.render.pieces import isolated, model_name
from mase.render.templates import checksum, resource, templates
from mase.report.answers import CitedAnswer
from mase.report.entries import CARE, FAILED, LOW_CONFIDENCE, NOTED, WRONG, Entry, shortened
from mase.report.rows import Limits
from mase.report.sections import class_sections, difference_lists, facts, none_found, rules, spreads, verdict
from mase.report.workbench import Workbench
from mase.summary.summary import Summary

__all__ = ["FIRST_TEXTS", "GENERATOR", "LARGEST_PAGE", "page", "policy"]

# By which a folder is recognized as a report.
GENERATOR = "mase.report/1"
LARGEST_PAGE = 3_000_000
# These texts are shown without a script, too.
FIRST_TEXTS = 10
_PACKAGE = "mase.report"
_STYLES = (("mase.render", "style.css"), ("mase.render", "page.css"), (_PACKAGE, "report.css"))
_LONGEST_STATIC, _LONGEST_SNIPPET = 2_000, 200
_MOST_LINES = 50
_POLICY = re.compile('http-equiv=Content-Security-Policy content="([^"]+)"')
# From much to little, until the page is small enough.
_LIMITS = (
    Limits(rows=50, examples=3, lists=200),
    Limits(rows=25, examples=3, lists=200),
    Limits(rows=25, examples=1, lists=100),
    Limits(rows=10, examples=1, lists=100),
    Limits(rows=10, examples=0, lists=100),
    Limits(rows=5, examples=0, lists=100),
    Limits(rows=5, examples=0, lists=25),
)
_MARKS = frozenset({"for", "against", "insignificant for", "insignificant against"})
_BADGES = (
    (FAILED, "failed"),
    (WRONG, "wrong"),
    (LOW_CONFIDENCE, "low confidence"),
    (NOTED, "note"),
    (CARE, "read with care"),
)


def page(summary: Summary, first: Sequence[Entry], *, texts: bool, workbench: Workbench | None = None) -> str:
    """Return the page as HTML, of less than `LARGEST_PAGE` bytes.

    Parameters
    ----------
    summary
        The summary.
    first
        The first texts of the list.
    texts
        Whether there is a list of texts beside the page; else the page shows no text and no context of a word.
    workbench
        The workbench to which the texts lead, if a server shows the page.
    """
    shown = [_text(entry, workbench) for entry in first]
    for limits in _LIMITS:
        within = limits if texts else Limits(limits.rows, 0, limits.lists)
        content = _rendered(summary, shown, within, texts=texts, workbench=workbench)
        if len(content.encode()) < LARGEST_PAGE:
            break
    return content


def policy(content: str) -> str:
    """Return the security policy that a page states, for a server that states it as well."""
    found = _POLICY.search(content)
    assert found is not None
    return found[1]


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of the list as its template shows it."""

    number: str
    id: str
    prediction: str
    probability: str
    badges: tuple[str, ...]
    snippet: str
    content: Markup
    plain: bool
    marks: frozenset[str]
    unit: str
    facts: str
    href: str
    warnings: tuple[str, ...]
    answer: CitedAnswer | None


def _rendered(
    summary: Summary, first: Sequence[_Text], limits: Limits, *, texts: bool, workbench: Workbench | None
) -> str:
    run, style = summary.run, "".join(resource(package, name) for package, name in _STYLES)
    asked = run.manifest.asked
    answers = any(view.answer is not None for view in first)
    probabilities = any(found.probability is not None for found in summary.predictions)
    explained = "answer" if answers else "class" if probabilities or not summary.predictions else "value"
    template = templates(_PACKAGE).get_template("report.html")
    content = template.render(
        generator=GENERATOR,
        nonce=_NONCE,
        style=Markup(style),
        style_hash=checksum(style),
        script=Markup(resource(_PACKAGE, "report.js")) if texts else "",
        title=f"{shortened(model_name(summary.overview.model))} on {counted(len(run), 'text')}",
        verdict=verdict(summary),
        facts=facts(summary, texts=texts),
        spreads=spreads(summary.quality),
        notes=_notes(summary),
        failures=_failures(summary),
        classes=class_sections(summary, limits),
        n_classes=len(summary.predictions),
        confusion=_confusion(summary),
        differences=difference_lists(summary, limits),
        none_found=none_found(summary),
        settings=summary.settings,
        probabilities=probabilities,
        group_column=shortened(summary.settings.group_column or ""),
        rules=[rule for rule in (*rules(summary), *dict.fromkeys(view.unit for view in first)) if rule],
        origin=list(_origin(summary)),
        texts=texts,
        documents=asked.documents,
        workbench=workbench,
        complete=summary.overview.n_texts == len(run),
        first=first,
        legend=legend(frozenset().union(*(view.marks for view in first)) or _MARKS, explained),
        answers=answers,
        no_answer=CitedAnswer("", ()),
    )
    # The nonce allows the script of the page, and the slices that it inserts. It cannot be foreseen by whoever wrote a
    # text, since it depends on the whole page.
    return content.replace(_NONCE, hashlib.sha256(content.encode()).hexdigest()[:32])


def _notes(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of the table of notes."""
    return [(shortened(n.code), f"{n.n_texts:,}", shortened(n.message, 300)) for n in summary.notes[:_MOST_LINES]]


def _failures(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of the table of failures."""
    return [
        (shortened(f.error), f"{f.n_texts:,}", shortened(f.id), shortened(f.message, 300))
        for f in summary.failures[:_MOST_LINES]
    ]


def _confusion(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of the table of wrong predictions, the most frequent first."""
    wrong = [found for found in summary.confusion if found.label != found.prediction]
    return [
        (shortened(c.label), shortened(c.prediction), f"{c.n_texts:,}", percent_of_all(c.share))
        for c in sorted(wrong, key=lambda found: -found.n_texts)[:_MOST_LINES]
    ]


# Replaced in the finished page. Jinja escapes the quotation mark in everything else.
_NONCE = '"the nonce"'


def _origin(summary: Summary) -> Iterator[str]:
    asked, made_with = summary.run.manifest.asked, summary.run.manifest.made_with
    checksum_of_model = str(asked.model.get("sha256") or "")[:12]
    yield f"model {shortened(summary.overview.model)}" + (f" (sha256 {checksum_of_model})" if checksum_of_model else "")
    yield f"method {shortened(summary.overview.method)}"
    if summary.overview.against is not None:
        yield f"each class rather than {shortened(summary.overview.against)}"
    yield f"seed {asked.seed}"
    if "mase-xai" in made_with:
        yield f"mase {shortened(str(made_with['mase-xai']))}"
    if summary.run.manifest.created:
        yield f"run begun {shortened(summary.run.manifest.created)}"


def _text(entry: Entry, workbench: Workbench | None) -> _Text:
    found = [f"R² {share(entry.r2)}"] if entry.r2 is not None else []
    contrast = "" if entry.against is None else f" rather than {isolated(entry.against)}"
    found += [f"{entry.link} of {isolated(entry.response)}{contrast}"] if entry.response is not None else []
    cut = entry.n_characters > _LONGEST_STATIC
    return _Text(
        number=f"{entry.row + 1:,}",
        id=entry.id,
        prediction=_outcome(entry),
        probability="" if entry.probability is None else percent(entry.probability),
        badges=tuple(
            f"wrong, right is {isolated(entry.label or '')}" if flag == WRONG else name
            for flag, name in _BADGES
            if entry.flags & flag
        ),
        snippet=" ".join(entry.text[: boundary(entry.text, _LONGEST_SNIPPET)].split()),
        content=Markup("").join(_pieces(entry)),
        plain=entry.unsigned,
        marks=_marks(entry),
        unit=_unit(entry),
        facts=" · ".join(
            [*found, *([f"first {_LONGEST_STATIC:,} of {entry.n_characters:,} characters"] if cut else [])]
        ),
        href="" if workbench is None else workbench.href(entry),
        warnings=(
            *(message for _, message in entry.notes),
            *([f"{entry.error}: {entry.message}"] if entry.error is not None else []),
        ),
        answer=entry.answer,
    )


def _outcome(entry: Entry) -> str:
    """Return the predicted class of a text, or the beginning of the answer to a prompt; "" for a text that failed."""
    if entry.answer is not None:
        return shortened(entry.answer.text)
    return "" if entry.prediction is None else entry.prediction


def _marks(entry: Entry) -> frozenset[str]:
    """Return the names of the marks of the words of a text, as of all texts of the run; none if it has no words."""
    if not len(entry.shading.words):
        return frozenset()
    if not entry.unsigned:
        return _MARKS
    return frozenset({"arbitrary" if entry.shading.signs else "strong"})


def _unit(entry: Entry) -> str:
    """Return a sentence on the unit of the effects of a text; "" if it has none, no class, or is an answer."""
    if entry.link is None or entry.answer is not None or entry.unsigned or entry.probability is None:
        return ""
    told = meaning_of_link(entry.link, contrast=entry.against is not None)
    return f"Effects are changes of the explained number, the {told or entry.link}."


def _pieces(entry: Entry) -> Iterator[Markup]:
    """Yield the start of a text with its words shaded, as the page of single texts does."""
    at, scale, unit = 0, entry.shading.scale, entry.shading.unit
    letters = SHADES + FAINT_SHADES
    for start, length, score, error, shade in entry.shading.words.tolist():
        if start + length > _LONGEST_STATIC:
            break
        if not shade:
            continue
        hint = scale.signed(score * unit) + ("" if error < 0 else f"±{scale.error(error * unit)}")
        yield Markup.escape(entry.text[at:start])
        tag = "b" if entry.unsigned or score > 0 else "i"
        word = entry.text[start : start + length]
        yield Markup("<{0} {1} title={2}>{3}</{0}>").format(tag, letters[shade - 1], hint, word)
        at = start + length
    yield Markup.escape(entry.text[at:_LONGEST_STATIC])
