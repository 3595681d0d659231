"""What the language models of transformers have in common, whatever their architecture."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from torch import nn

from mase.arrays import Floats
from mase.errors import ModelError, OptionError
from mase.models.checksum import Checksum
from mase.models.devices import device_of, multiplies_bfloat16
from mase.models.language.description import LanguageDescription, of_module
from mase.models.language.forward import Forward, half_weights
from mase.models.language.protocol import Continuation, Cut, Labels, Prompt
from mase.models.language.scoring import Row
from mase.models.language.tokenizer import PromptTokenizer
from mase.models.locks import alone
from mase.models.origin import Reopened
from mase.models.packed import Packed
from mase.text import Span

__all__ = ["AnswerScorer", "TransformersLM"]

_CONFIGURATIONS = ("config", "generation_config")


class AnswerScorer(Protocol):
    """The passes of a model over prompts and answers."""

    @property
    def forward(self) -> Forward:
        """The model."""
        ...

    def replaced(self, forward: Forward) -> Self:
        """Return the same scorer of the model in another precision."""
        ...

    def log_probabilities(self, rows: Sequence[Row]) -> list[Floats]:
        """Return, for each row, the log-probabilities `(t,)` of the t tokens of its answer."""
        ...

    def greedy(self, ids: Sequence[int], n: int, stops: frozenset[int]) -> list[int]:
        """Return the most probable next token, again and again: up to n tokens, without the first of `stops`."""
        ...


class TransformersLM(Reopened, ABC):
    """A language model of transformers with its tokenizer. See `mase.models.language.protocol.LanguageModel`."""

    kind: ClassVar[str]
    bound: ClassVar[Cut]  # what limits an answer of any number of new tokens

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        chat: bool,
        labels: Labels | None,
        template: Prompt | None,
        name: str | None,
    ) -> None:
        if not isinstance(model, nn.Module) or not hasattr(model, "get_output_embeddings"):
            raise OptionError(f"model is of type {type(model).__name__}, expected a {self.kind}")
        if tokenizer is None:
            raise OptionError(
                f"{type(model).__name__} has no tokenizer, expected {type(self).__name__}(model, tokenizer)"
            )
        self.module: nn.Module = model
        self.name: str = name or getattr(model.config, "name_or_path", "") or type(model).__name__
        self.tokenizer = self._tokenizer_of(tokenizer, chat=chat)
        self.labels, self.template = labels, template
        self.checksum = Checksum(model)
        self._scorer = self._scorer_of(Forward(model))
        self._halves: dict[Any, Self] = {}  # by the versions of the weights; one, which copies of the model share

    @abstractmethod
    def _scorer_of(self, forward: Forward) -> AnswerScorer:
        """Return the scorer of the model."""

    @abstractmethod
    def _check_length(self, n_prompt: int, n_answer: int) -> None:
        """Check that the model reads a prompt and an answer of so many tokens."""

    @abstractmethod
    def _room(self, n_prompt: int) -> int | None:
        """Return how many tokens an answer to a prompt of so many tokens may have; None without a limit."""

    def _tokenizer_of(self, tokenizer: Any, *, chat: bool) -> PromptTokenizer:
        return PromptTokenizer(tokenizer, self.name, chat)

    @property
    def chat(self) -> bool:
        """Whether messages go through the chat template."""
        return self.tokenizer.chat

    @property
    def device(self) -> str:
        """The device of the model, such as "cpu" or "cuda:0"."""
        return str(device_of(self.module))

    @property
    def sha256(self) -> str:
        """Checksum of the parameters and buffers."""
        return self.checksum.value()

    def reads(self) -> dict[str, Any]:
        """Return the checksums of the tokenizer and of the chat template."""
        with alone(self.module):
            return self.tokenizer.reads()

    def __getstate__(self) -> Packed:
        rebuilt = ("module", "checksum", "_scorer", "_halves")
        state = {name: value for name, value in self.__dict__.items() if name not in rebuilt}
        return Packed((self.module, self._scorer.forward.half is not None, state))

    def __setstate__(self, packed: Packed) -> None:
        self.module, in_half, state = packed.value
        self.__dict__.update(state)
        self.checksum, self._halves = Checksum(self.module), {}
        self._scorer = self._scorer_of(Forward(self.module, half_weights(self.module) if in_half else None))

    def generate(self, prompt: Prompt, max_new_tokens: int) -> Continuation:
        """Return the greedy continuation of a prompt: up to `max_new_tokens` tokens, without the one that ends it.

        The settings of the model's `generation_config` have no effect, except for its end tokens.

        Raises
        ------
        ModelError
            If the prompt leaves no room for a token, or the model ends its answer at once.
        """
        with alone(self.module):
            ids = self.tokenizer.prompt(prompt)
            self._check_length(len(ids), 1)
            room = self._room(len(ids))
            n = max_new_tokens if room is None else min(room, max_new_tokens)
            answer = self._scorer.greedy(ids, n, self._stops)
            if not answer:
                raise ModelError(
                    f"{self.name} ends its answer with the first token, expected an answer to explain; pass an answer, "
                    "or ask another question"
                )
            cut = None if len(answer) < n else "max-new-tokens" if n == max_new_tokens else self.bound
            return replace(self.tokenizer.generated(answer), cut=cut)

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer.

        Raises
        ------
        EmptyTextError
            If it has none.
        """
        with alone(self.module):
            return self.tokenizer.continuation(answer)

    def special_spans(self, text: str) -> tuple[Span, ...]:
        """Return the spans of a text that the tokenizer takes for special tokens."""
        with alone(self.module):
            return self.tokenizer.special_spans(text)

    def log_probabilities(self, prompts: Sequence[Prompt], answers: Sequence[Continuation]) -> list[Floats]:
        """Return, for each answer, the natural log-probabilities `(n, t)` of its t tokens after each of n prompts.

        Raises
        ------
        ModelError
            If a prompt with its answer is too long, or the model fails.
        """
        with alone(self.module):
            starts = [self.tokenizer.prompt(prompt) for prompt in prompts]
            longest = max(map(len, answers), default=0)
            for ids in starts:
                self._check_length(len(ids), longest)
            rows = [Row(ids + answer.ids, len(ids)) for answer in answers for ids in starts]
            found = self._scorer.log_probabilities(rows)
        n = len(starts)
        return [
            np.array(found[index * n : (index + 1) * n]).reshape(n, len(answer)) for index, answer in enumerate(answers)
        ]

    @property
    def rounds(self) -> bool:
        """Whether it computes in half precision."""
        return self._scorer.forward.rounds

    def half(self) -> Self | None:
        """Return the same model in bfloat16, except for its head; None where that would be slower.

        It holds a copy of the weights, of half their size. A model that already has weights of 16 bits stays as it is.

        Raises
        ------
        CapabilityError
            If weights are offloaded.
        """
        if not multiplies_bfloat16(self.device):
            return None
        if next(self.module.parameters()).dtype != torch.float32 or self._scorer.forward.half is not None:
            return self
        versions = self.checksum.versions()
        if versions not in self._halves:
            self._halves.clear()
            half = Forward(self.module, half_weights(self.module))
            self._halves[versions] = self._with(self._scorer.replaced(half))
        return self._halves[versions]

    def _with(self, scorer: AnswerScorer) -> Self:
        """Return the same model with another scorer, and with what is known of its weights."""
        model = type(self).__new__(type(self))  # copy.copy would pack and rebuild it
        model.__dict__.update(self.__dict__, _scorer=scorer)
        return model

    @property
    def description(self) -> LanguageDescription:
        """What the model was taken for."""
        tokens = {number: token for token, number in self.tokenizer.backend.get_vocab().items()}
        stops = tuple(tokens[number] for number in sorted(self._stops) if number in tokens)  # -1 stands for no token
        return of_module(self, self.kind, self.tokenizer, self._limit, stops)

    @property
    def _limit(self) -> int | None:
        """The largest number of tokens that the model reads; None without a limit."""
        limit = getattr(self._config.get_text_config(), "max_position_embeddings", None)
        return limit if limit and limit > 0 else None

    @property
    def _config(self) -> Any:
        return self.module.config

    @property
    def _stops(self) -> frozenset[int]:
        """The ids that end an answer: those of the tokenizer and of the configuration."""
        ends = self._configurations("eos_token_id")
        listed = [end if isinstance(end, list | tuple) else [end] for end in ends if end is not None]
        try:
            return self.tokenizer.stops() | {int(token) for some in listed for token in some}
        except (TypeError, ValueError, OverflowError) as error:
            raise OptionError(
                f"{self.name} has the eos_token_id {ends!r:.80}, expected ids of tokens; correct it in the config.json "
                "and the generation_config.json"
            ) from error

    def _configured(self, name: str) -> int | None:
        """Return a value of the configuration for generating, or else of that of the model."""
        return next((value for value in reversed(self._configurations(name)) if value is not None), None)

    def _configurations(self, name: str) -> list[Any]:
        return [getattr(getattr(self.module, one, None), name, None) for one in _CONFIGURATIONS]
