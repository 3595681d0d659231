"""Which parts of a conversation made the answer of a chat model that returns text and nothing else."""

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from mase.attribution.attribution import Attribution
from mase.attribution.evidence import Changed, Evidence, chosen
from mase.attribution.response import Note
from mase.document import Document
from mase.errors import BudgetSpentError, ModelError
from mase.evidence import check_evidence
from mase.explainer import Explainer
from mase.models.chat.answers import METHOD, ChatAnswer
from mase.models.chat.chat import Chat
from mase.models.chat.measures import measures
from mase.models.chat.parts import Conversation
from mase.models.function import Content, Rewriter, word_tokens
from mase.options import CiteOptions
from mase.progress import Listener
from mase.text import shortened

UNITS = "sentence"
Measured = str | Callable[[str, str], float] | None


def cite_chat(
    chat: Chat,
    conversation: Conversation,
    *,
    answer: str | None = None,
    measure: Measured = None,
    embedding: Any = None,
    archive: str | os.PathLike[str] | None = None,
    proxy: Chat | None = None,
    on_progress: Listener | None = None,
    **options: Unpack[CiteOptions],
) -> Attribution:
    """Return which parts of a conversation a chat model needs for its answer, by asking again without some of them.

    Parameters
    ----------
    chat, conversation
        The model and what it is asked.
    answer
        The answer; None for the first one of the model.
    measure, embedding
        How new answers are compared with it; see `mase.models.chat.measures.measures`. The other measures are further
        responses, from the same requests.
    archive
        A file that keeps every answer.
    proxy
        A cheap model that is asked the same some hundred times; see `mase.procedures.control.Control`.
    on_progress, **options
        As of `mase.cite`. `n_samples` counts every request. `evidence` (1) is the number K of parts: the answers
        without the best 1 to K of them, and from them alone.

    Raises
    ------
    ModelError
        If the model fails, or its first answer is empty or has no label.
    OptionError
        If an option is invalid.
    """
    compared, k = measures(measure, label=chat.reader, embedding=embedding), check_evidence(options.get("evidence", 1))
    with ExitStack() as stack:
        if archive is not None:
            chat = stack.enter_context(closing(chat.archived(archive)))
        before, whole = chat.bill, conversation.messages(conversation.document.content)
        explained = chat.reply(whole).text if answer is None else answer
        _check(chat, explained, next(iter(compared)))
        model = ChatAnswer(chat, conversation, explained, compared, generated=answer is None)
        model.n_after = 2 * k
        if proxy is not None:
            model.proxy = ChatAnswer(proxy, conversation, proxy.reply(whole).text, compared, generated=True)
        settings: CiteOptions = {"method": METHOD, "units": UNITS, **options, "evidence": 0}
        result = Explainer(model, **settings)(conversation.document, target="all", on_progress=on_progress)
        result = _tested(result, model, k)
        return replace(result, notes=(*result.notes, Note("requests", f"{chat.bill - before}")))


def _check(chat: Chat, explained: str, measure: str) -> None:
    if not explained.strip():
        raise ModelError(
            f"{chat.name} answered {explained!r:.40} to the whole conversation, expected a text; it may have called a "
            "tool, or max_tokens may be too small for a model that thinks first"
        )
    if measure == "label" and chat.reader is not None and chat.reader(explained) is None:
        raise ModelError(
            f"{chat.name} answered {explained!r:.100}, expected one of {', '.join(chat.labels or ())}; ask for the "
            "label alone, or pass read"
        )


def _tested(attribution: Attribution, model: ChatAnswer, k: int) -> Attribution:
    """Return an attribution with its evidence: the answers without the best 1 to k parts, and from them alone."""
    best = [tuple(attribution.order[:size].tolist()) for size in range(1, min(k, len(attribution.units)) + 1)]
    if not best:
        return attribution
    everything = set(range(len(attribution.units)))
    without = [content_without(attribution, units) for units in best]
    only = [content_without(attribution, everything - set(units)) for units in best]
    n_before = model.chat.bill.requests  # rows of the scores may have asked the same
    try:
        replies = model.chat.replies([(model.messages(content), 0) for content in (*without, *only)])
    except BudgetSpentError as error:
        if any(note.code == "budget-spent" for note in attribution.notes):
            return attribution
        return replace(attribution, notes=(*attribution.notes, Note("budget-spent", f"{error}; there is no evidence")))
    values = model.measures[model.labels[0]]([reply.text for reply in replies], model.answer.text)
    both = zip((*best, *best), values, strict=True)
    changed = [Changed(units, attribution.target, None, None, value) for units, value in both]
    n, first = len(best), shortened(attribution.units[best[0][0]].text, 80)
    new, alone = (shortened(replies[at].text, 200) for at in (0, n))
    message = f"without {first!r} the answer is {new!r}, and from it alone {alone!r}"
    evidence = Evidence(tuple(changed[:n]), tuple(changed[n:]), None, attribution.target)
    return replace(
        attribution,
        evidence=evidence,
        fit=replace(attribution.fit, n_queries=attribution.fit.n_queries + model.chat.bill.requests - n_before),
        notes=(*attribution.notes, Note("answers-without", message)),
    )


def content_without(attribution: Attribution, units: Iterable[int]) -> Content:
    """Return the contents of the document of an attribution without some of its units."""
    tokens, out = (
        word_tokens(Document(attribution.document)),
        [attribution.units[unit] for unit in chosen(units, len(attribution.units))],
    )
    places = [tokens.document.located(*span) for span in tokens.spans if span is not None]
    kept = [
        not any(unit.field == field.name and unit.start <= start < unit.end for unit in out)
        for field, start, _ in places
    ]
    rewriter = Rewriter.of(tokens, np.arange(len(kept)))
    return rewriter.content(rewriter.masked(np.array(kept), None))
