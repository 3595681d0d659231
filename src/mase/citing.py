"""Which parts of its context a language model used for an answer."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any, Self, Unpack

from mase.attribution.attribution import Attribution
from mase.attribution.response import Answer
from mase.conversations import Measured, cite_chat, content_without
from mase.defaults import MAX_NEW_TOKENS
from mase.document import Document, Field, check_text, is_series, remedy
from mase.errors import EmptyTextError, InvalidTextError, OptionError
from mase.explainer import Explainer
from mase.models.chat.chat import Chat
from mase.models.chat.parts import FIXED, Conversation, Filled, Turns
from mase.models.function import Content
from mase.models.language.answers import ANSWER, Generated, GivenAnswer, check_max_new_tokens, prompt_fields
from mase.models.language.base import Continuation, LanguageModel, Prompt
from mase.models.language.open import language_model
from mase.models.language.prompts import CONTEXT, QUERY, Template
from mase.options import CiteOptions, former_listener
from mase.progress import Listener
from mase.target import Label, Target
from mase.text import Span
from mase.units import Units, splitter
from mase.units.splitters import spans_of

METHOD, UNITS, PARTS = "mase-cite", "sentence", "sentence"


def cite(
    model: Any,
    tokenizer: Any = None,
    *,
    context: str | Sequence[str] | Mapping[str, str] | None = None,
    query: str = "",
    messages: Sequence[Mapping[str, Any]] | None = None,
    answer: str | None = None,
    against: str | None = None,
    parts: Units | Sequence[Span] = PARTS,
    template: Prompt | Template | None = None,
    max_new_tokens: int | None = None,
    on_progress: Listener | None = None,
    measure: Measured = None,
    embedding: Any = None,
    fixed: Collection[str | int] | None = None,
    archive: str | os.PathLike[str] | None = None,
    proxy: Chat | None = None,
    **options: Unpack[CiteOptions],
) -> Attribution:
    """Return which parts of the context make a language model give an answer.

    Units of the context are deleted from the prompt, in many combinations, and the scores say how the probability of
    the answer depends on each of them.

    Parameters
    ----------
    model, tokenizer
        A language model of transformers with its tokenizer, a text-generation pipeline, or one of `mase.models`:
        `CausalLM`, `Seq2Seq`, `CompletionServer`; or a `Chat`, which only answers: its new answers are then compared
        with the explained one, and `against`, `parts` and `max_new_tokens` do not apply.
    context
        The text that the answer is to be found in, or several: a list, or a mapping by name.
    query
        The question or instruction. It is never deleted.
    messages
        Of a `Chat`: the conversation, in place of context and query. Its messages, or their text parts, are the texts.
    answer
        The answer; None for the greedy answer of the model.
    against
        Another answer. The scores then say what speaks for the answer rather than for this one, as the difference of
        their log-probabilities.
    parts
        The parts of the answer that have scores of their own, beside the whole answer: spans, or units as in `units`.
        They are computed from the same evaluations. With `against` there are none.
    template
        The prompt: a text, or messages with the keys "role" and "content", in which `{context}`, `{query}` or the names
        of the texts stand for them. By default, the user writes "Context: ...", then "Query: ..." if there is a query.
    max_new_tokens
        Largest number of tokens of a generated answer; by default 128, or what a `Generated` says. The note
        `answer-cut` says that a limit ended the answer.
    on_progress
        A function that is told how far it is, as in a call of `mase.Explainer`.
    measure, embedding
        Of a `Chat`: how answers are compared: "label" (with its labels), "exact", "overlap" (the default), "embedding"
        (with a model of sentence-transformers or a function), or a function of two texts. `measured_by` of the result
        shows another one without a request.
    fixed
        Of a `Chat`: the messages that stay, by role, number from 0, or name as in results ("2 user"); by default system
        prompts and the last question.
    archive
        Of a `Chat`: a file that keeps every answer, so that none is asked for twice.
    proxy
        Of a `Chat`: a cheap one, such as a local model, that is asked the same hundreds of times. What both have in
        common is then known from fewer requests (a control variate, which leaves no bias).
    **options
        The options of `mase.Explainer`, among them `units` ("sentence" by default; "document", "paragraph", "word"),
        `n_samples`, `seed` and `stopping`. `link` is "logit" (the log-odds of the answer) by default, or
        "log-probability", "mean-log-probability" (per token) or "probability".

    Returns
    -------
    Attribution
        Its first response is the whole answer, called "answer". If the answer has several parts, each of them is a
        further response, called by its text. `Attribution.answer` has the answer with the spans of the parts.

    Raises
    ------
    InvalidTextError, EmptyTextError
        If the context is none of these, or has no unit, or a given answer is blank.
    OptionError
        If an option is invalid.
    ModelError
        If the prompt is too long, or the model fails.
    """
    on_progress = former_listener(options, on_progress)
    if isinstance(model, Chat):
        of_parts = None if parts == PARTS else parts
        _check_not_given(model, against=against, tokenizer=tokenizer, parts=of_parts, max_new_tokens=max_new_tokens)
        conversation = conversation_of(context, query, messages, template, fixed)
        if not isinstance(proxy, Chat | None):
            raise OptionError(f"proxy is {proxy!r:.60}, expected a mase.models.Chat")
        given = None if answer is None else _check_answer("answer", answer)
        return cite_chat(
            model, conversation, answer=given, measure=measure, embedding=embedding, archive=archive,
            proxy=proxy, on_progress=on_progress, **options,
        )  # fmt: skip
    _check_not_given(
        model, messages=messages, measure=measure, embedding=embedding, fixed=fixed, archive=archive, proxy=proxy
    )
    if context is None:
        raise OptionError("context is None, expected the texts that the answer is to be found in")
    if isinstance(model, Generated):
        template = model.template if template is None else template
        max_new_tokens = model.max_new_tokens if max_new_tokens is None else max_new_tokens
    longest = MAX_NEW_TOKENS if max_new_tokens is None else check_max_new_tokens(max_new_tokens)
    prompted = Prompted.of(model, tokenizer, context=context, query=query, template=template)
    generated = answer is None
    if answer is None:
        prompted = prompted.reading()
    reply = prompted.generate(longest) if answer is None else prompted.given("answer", answer)
    return prompted.answered(reply, generated=generated, against=against, parts=parts, **options).attribution(
        on_progress
    )


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to a prompt, and what explains it.

    Attributes
    ----------
    answer
        The answer with its parts.
    explainer
        An explainer of a `GivenAnswer`.
    document
        The texts and the query of the prompt.
    target, against
        Which responses are explained, and rather than which.
    """

    answer: Answer
    explainer: Explainer
    document: Document
    target: Target
    against: Label

    def attribution(self, listener: Listener | None = None) -> Attribution:
        """Return which units of the prompt raise the probability of the answer."""
        return self.explainer(self.document, target=self.target, against=self.against, on_progress=listener)


@dataclass(frozen=True, slots=True)
class Prompted:
    """A language model and what it is asked.

    Attributes
    ----------
    language_model
        The language model.
    document
        The texts and the query.
    template
        Where they stand in the prompt.
    """

    language_model: LanguageModel
    document: Document
    template: Template

    @classmethod
    def of(
        cls,
        model: Any,
        tokenizer: Any = None,
        *,
        context: str | Sequence[str] | Mapping[str, str],
        query: str = "",
        template: Prompt | Template | None = None,
    ) -> Self:
        """Return a model and what it is asked; the arguments and errors are those of `cite`."""
        opened, document = language_model(model, tokenizer), sources(context, query)
        return cls(opened, document, Template.of(template, prompt_fields(document.content)))

    def reading(self) -> Self:
        """Return the same with a model that has read the prompt, if it can, so that what follows costs less."""
        prompt = self.template.filled(prompt_fields(self.document.content))
        return replace(self, language_model=self.language_model.reading(prompt))

    def generate(self, max_new_tokens: int) -> Continuation:
        """Return the greedy answer."""
        return self._generate(self.document.content, max_new_tokens)

    def generate_without(self, found: Attribution, units: Iterable[int], max_new_tokens: int) -> Continuation:
        """Return the greedy answer to the prompt without some units of an attribution of it."""
        return self._generate(content_without(found, units), max_new_tokens)

    def given(self, option: str, answer: str) -> Continuation:
        """Return the tokens of an answer that is given as an option."""
        return self.language_model.continuation(_check_answer(option, answer))

    def answered(
        self,
        answer: Continuation,
        *,
        generated: bool,
        against: str | None = None,
        parts: Units | Sequence[Span] = PARTS,
        **options: Unpack[CiteOptions],
    ) -> Answered:
        """Return an answer as it is explained; the arguments and errors are those of `cite`."""
        if against is not None and not (isinstance(parts, str) and parts == PARTS):
            raise OptionError("parts and against are both given, expected one of the two")
        spans = () if against is not None else _spans(answer.text, parts)
        other = None if against is None else self.given("against", against)
        model = GivenAnswer(
            self.language_model, answer, parts=spans, template=self.template, against=other, generated=generated
        )
        options.setdefault("method", METHOD)
        options.setdefault("units", UNITS)
        options.setdefault("evidence", 0)
        if other is None:
            return Answered(model.answer, Explainer(model, **options), self.document, "all", None)
        options["link"] = options.get("link") or "log-probability"
        return Answered(model.answer, Explainer(model, **options), self.document, ANSWER, model.labels[-1])

    def _generate(self, content: Content, max_new_tokens: int) -> Continuation:
        return self.language_model.generate(self.template.filled(prompt_fields(content)), max_new_tokens)


def conversation_of(
    context: str | Sequence[str] | Mapping[str, str] | None,
    query: str,
    messages: Sequence[Mapping[str, Any]] | None,
    template: Prompt | Template | None,
    fixed: Collection[str | int] | None = None,
) -> Conversation:
    """Return what a chat model is asked, from its messages or from a context."""
    if (messages is None) == (context is None):
        raise OptionError(f"{'neither' if messages is None else 'both'} of messages and context given, expected one")
    if messages is not None:
        if query or template is not None:
            raise OptionError("query or template is given with messages, expected none: the messages are the prompt")
        return Turns.of(messages, FIXED if fixed is None else fixed)
    if fixed is not None:
        raise OptionError("fixed is given without messages, expected messages: the query is fixed")
    assert context is not None
    document = sources(context, query)
    return Filled(document, Template.of(template, prompt_fields(document.content)))


def _check_not_given(model: Any, **options: Any) -> None:
    """Check that options are not given which do not apply to a model."""
    name = next((name for name, value in options.items() if value is not None), None)
    if name is not None:
        kind = "only answers" if isinstance(model, Chat) else "is no mase.models.Chat"
        raise OptionError(f"{name} is given, but the model {kind}, expected none")


def sources(context: str | Sequence[str] | Mapping[str, str], query: str = "") -> Document:
    """Return texts and a query as a document: one field for each text, and the fixed field "query"."""
    named = _named(context)
    for name, text in named.items():
        check_text(name)
        check_text(text)
    taken = next((name for name in (QUERY, ANSWER) if name in named), None)
    if taken is not None:
        raise InvalidTextError(f"context has a text named {taken!r}, expected another name, which is not taken")
    fields = [Field(name, str(text)) for name, text in named.items()]
    return Document((*fields, *([Field(QUERY, check_text(query), fixed=True)] if check_text(query) else [])))


def _check_answer(option: str, text: str) -> str:
    """Return an answer that is given, after a check that it is a text that is not blank."""
    if not check_text(text).strip():
        raise EmptyTextError(f"got {option}={text[:40]!r}, expected a text that is not blank; or leave it out")
    return text


def _named(context: Any) -> Mapping[str, str]:
    """Return the texts of a context by name."""
    if isinstance(context, str):
        return {CONTEXT: context}
    if not isinstance(context, Mapping):
        if not is_series(context):
            kind = type(context).__name__
            raise InvalidTextError(f"context is of type {kind}, expected a text, or several{remedy(context)}")
        context = {f"source {number}": text for number, text in enumerate(context, 1)}
    if not context:
        raise InvalidTextError("context is empty, expected at least one text")
    return dict(context)


def _spans(answer: str, parts: Units | Sequence[Span]) -> tuple[Span, ...]:
    """Return the parts of an answer that have responses of their own; none if there is but one."""
    if isinstance(parts, Sequence) and not isinstance(parts, str):
        try:
            return tuple((index(start), index(end)) for start, end in parts)
        except (TypeError, ValueError):
            raise OptionError(f"parts is {parts!r:.80}, expected spans, as in [(0, 12)], or a unit") from None
    by = splitter(parts)
    spans = tuple(spans_of(by.split, answer, by.name))
    return spans if len(spans) > 1 else ()
