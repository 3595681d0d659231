"""The answers of one language model, and what they come from."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec

from mase.attribution import Attribution, Changed
from mase.citing import Answered, Prompted
from mase.errors import InvalidTextError
from mase.models.language.generated import Generated
from mase.models.language.given import ANSWER
from mase.models.language.protocol import Continuation
from mase.models.language.template import CONTEXT, QUERY
from mase.progress import Listener
from mase.serve.messages import Content, Explain

__all__ = ["Answering", "prompt_of"]

_KEPT = 16
_EXPLAIN = msgspec.json.Decoder(Explain)


class Answering:
    """A language model, with the answers that it gave last."""

    def __init__(self, model: Generated) -> None:
        self._model = model
        self._generated = lru_cache(_KEPT)(self._generate)
        self._answered = lru_cache(_KEPT)(self._answer)

    def explain(self, ask: Explain, listener: Listener, generated: Callable[[str], None]) -> Attribution:
        """Return which units of a prompt its answer comes from. If there is none, it is `generated` and told first."""
        answered = self._answered(msgspec.json.encode(ask))
        if answered.answer.generated:
            generated(answered.answer.text)
        return answered.attribution(listener)

    def without(self, ask: Explain, found: Attribution, units: Sequence[int]) -> Changed:
        """Return the probability of the same answer without some units of an attribution."""
        return self._answered(msgspec.json.encode(ask)).explainer.predict_without(found, units)

    def regenerate(self, ask: Explain, found: Attribution, units: Sequence[int]) -> str:
        """Return what the model answers without some units of an attribution."""
        context, query, _ = prompt_of(ask.text)
        return self._prompted(context, query).generate_without(found, units, self._model.max_new_tokens).text

    def _answer(self, key: bytes) -> Answered:
        ask = _EXPLAIN.decode(key)
        context, query, answer = prompt_of(ask.text)
        prompted = self._prompted(context, query)
        continued = self._generated(tuple(context.items()), query) if answer is None else prompted.given(ANSWER, answer)
        options = ask.settings.options
        return prompted.answered(continued, generated=answer is None, against=ask.against, **options)

    def _generate(self, context: tuple[tuple[str, str], ...], query: str) -> Continuation:
        return self._prompted(dict(context), query).generate(self._model.max_new_tokens)

    def _prompted(self, context: dict[str, str], query: str) -> Prompted:
        language_model, template = self._model.language_model, self._model.template
        return Prompted.of(language_model, context=context, query=query, template=template)


def prompt_of(text: Content) -> tuple[dict[str, str], str, str | None]:
    """Return the texts by name, the query, and the answer; None if it is to be generated."""
    fields = {CONTEXT: text} if isinstance(text, str) else text
    texts: dict[str, str] = {}
    for name, content in fields.items():
        if not isinstance(content, str):
            raise InvalidTextError(f"field {name!r} is {content!r:.60}, expected a text")
        texts[name] = content
    query, answer = texts.pop(QUERY, ""), texts.pop(ANSWER, "")
    return texts, query, answer if answer.strip() else None
