"""Find out what a language model is taken for, and how long its explanations take."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mase.doctor.check import Speed, speed_facts
from mase.doctor.trials import speed
from mase.document import Document, Field
from mase.errors import CapabilityError, ModelError
from mase.explainer import Explainer
from mase.models.description import Guess
from mase.models.language.description import description_of
from mase.models.language.given import GivenAnswer, prompt_fields
from mase.models.language.protocol import Continuation, LanguageModel, Prompt
from mase.models.language.template import CONTEXT, QUERY, Template, plain
from mase.render.numbers import counted
from mase.render.pieces import inline

__all__ = ["LanguageCheck", "check_language_model"]

_QUERY = Field(QUERY, "When does the last boat leave?", fixed=True)
_SHORT = "The ferry leaves from the north pier. The last boat goes at nine in the evening. Bicycles travel free."
_MORE = (
    " The harbour museum is in the old lighthouse. A market fills the square behind the church every Saturday. "
    "Fishermen sell what they caught in the night. Dogs must be kept on a lead. Tickets for the museum cost 12 euros. "
    "The library lends books to visitors, too. In winter the swimming pool is closed. The bakery opens at six."
)
_GIVEN = "At nine in the evening."
_METHOD, _UNITS, _TOKENS = "mase-cite", "sentence", 16
# Differences of log-probabilities below these are rounding of numbers with 32 and 16 bits.
_ROUNDING, _HALF_ROUNDING = 1e-3, 0.25


@dataclass(frozen=True, slots=True, repr=False)
class LanguageCheck:
    """What a language model was taken for. `print` shows it in a few lines.

    Attributes
    ----------
    name
        Name of the model in results.
    kind
        Kind of model, such as "causal language model LlamaForCausalLM".
    messages, context_length, stops
        How messages become a prompt, the largest number of tokens, and the tokens that end an answer; None, or empty,
        where they are not known.
    question, answer
        The question that was asked, and the beginning of the greedy answer; None if the model answers nothing.
    again, in_batch
        How far the log-probability of a token of the answer differs, in nats: asked twice, and alone and in a batch
        with another prompt.
    method, units, link
        Default settings of `mase.cite`.
    speeds
        Times for a short and for a longer context.
    device, precision
        The device and the data type of the weights; None where they are not known.
    guesses
        What was guessed, each with what to pass to say it.
    """

    name: str
    kind: str
    messages: str | None
    context_length: int | None
    stops: tuple[str, ...]
    question: str
    answer: str | None
    again: float
    in_batch: float
    method: str
    units: str
    link: str
    speeds: tuple[Speed, ...]
    device: str | None
    precision: str | None
    guesses: tuple[Guess, ...]

    @property
    def is_deterministic(self) -> bool:
        """Whether two questions have the same answer, but for rounding."""
        return self.again <= self._rounding

    @property
    def facts(self) -> dict[str, str]:
        """What was recognised: lines of plain text by their headings."""
        length = self.context_length
        facts = {
            "model": self.kind,
            "messages": self.messages or "",
            "length": "" if length is None else f"{counted(length, 'token')} at most, with the answer",
            "ends with": ", ".join(self.stops),
            "answers": "nothing" if self.answer is None else f"“{self.answer}” to “{self.question}”",
            "again": self._agreement(),
            "defaults": f"method {self.method}, units {self.units}, link {self.link}",
            **speed_facts(self.speeds),
            "device": ", ".join(filter(None, (self.device, self.precision))),
        }
        return {heading: inline(line) for heading, line in facts.items() if line}

    @property
    def _rounding(self) -> float:
        return _HALF_ROUNDING if self.precision in ("bfloat16", "float16") else _ROUNDING

    def _agreement(self) -> str:
        if not self.is_deterministic:
            return f"asked twice, log-probabilities differ by {self.again:.2g}: the standard errors will include this"
        if self.in_batch > self._rounding:
            return f"in a batch log-probabilities differ by {self.in_batch:.2g}: another batch size changes scores"
        return "the same when asked twice, alone and in a batch"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        speeds = [asdict(speed) | {"of_an_explanation": speed.of_an_explanation} for speed in self.speeds]
        return asdict(self) | {"speeds": speeds}

    def __repr__(self) -> str:
        width = max(map(len, self.facts))
        lines = [inline(self.name), *(f"  {heading:<{width}}  {line}" for heading, line in self.facts.items())]
        guessed = [f"  {'guessed':<{width}}  {inline(guess.what)}: {guess.remedy}" for guess in self.guesses]
        return "\n".join([*lines, *guessed])


def check_language_model(model: LanguageModel, given: Document | None) -> LanguageCheck:
    """Return what a language model is taken for, after some questions about a document, or about two in English.

    Raises
    ------
    MaseError
        If the model fails.
    """
    documents = (
        [given]
        if given is not None
        else [Document((Field(CONTEXT, text), _QUERY)) for text in (_SHORT, _SHORT + _MORE)]
    )
    fields = [prompt_fields(document.content) for document in documents]
    found, template = description_of(model), Template.of(None, fields[0])
    messages, prompts = found.messages, [template.filled(one) for one in fields]
    try:
        answer = _answer(model, prompts[0])
    except CapabilityError:  # nobody turns messages into text
        template = Template(plain(template.prompt, model.name))
        messages, prompts = "as plain text", [template.filled(one) for one in fields]
        answer = _answer(model, prompts[0])
    asked = answer or model.continuation(_GIVEN)
    answered = GivenAnswer(model, asked, template=template, generated=answer is not None)
    explainer = Explainer(answered, method=_METHOD, units=_UNITS, evidence=0)
    again, in_batch = _differences(model, prompts, asked)
    return LanguageCheck(
        name=model.name,
        kind=found.kind,
        messages=messages,
        context_length=found.context_length,
        stops=found.stops,
        question=str(fields[0].get(QUERY, documents[0].text)),
        answer=None if answer is None else answer.text,
        again=again,
        in_batch=in_batch,
        method=explainer.method.name,
        units=explainer.splitter.name,
        link=str(explainer.method.link),
        speeds=tuple(speed(explainer, document) for document in documents),
        device=found.device,
        precision=found.precision,
        guesses=found.guesses,
    )


def _answer(model: LanguageModel, prompt: Prompt) -> Continuation | None:
    """Return the beginning of the greedy answer; None if there is none."""
    try:
        return model.generate(prompt, _TOKENS)
    except ModelError:
        return None


def _differences(model: LanguageModel, prompts: Sequence[Prompt], answer: Continuation) -> tuple[float, float]:
    """Return how far log-probabilities of the tokens differ: asked twice, and in a batch with other prompts."""
    (alone,), (again,) = (model.log_probabilities(prompts[:1], [answer]) for _ in range(2))
    (batch,) = model.log_probabilities([*prompts[1:], prompts[0]], [answer])
    return float(np.abs(alone - again).max()), float(np.abs(alone[0] - batch[-1]).max())
