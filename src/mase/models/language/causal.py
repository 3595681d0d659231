"""Causal language models of transformers."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from mase.arrays import Floats
from mase.errors import ModelError, OptionError
from mase.models.checksum import Checksum
from mase.models.devices import device_of, multiplies_bfloat16
from mase.models.language.description import LanguageDescription, of_module
from mase.models.language.forward import Forward, half_weights
from mase.models.language.protocol import Continuation, Labels, Prompt
from mase.models.language.scoring import Row, Scorer
from mase.models.language.tokenizer import PromptTokenizer
from mase.models.locks import alone
from mase.models.origin import Reopened
from mase.models.packed import Packed

__all__ = ["CausalLM"]


class CausalLM(Reopened):
    """A causal language model, such as any `AutoModelForCausalLM`. See `mase.models.language.protocol.LanguageModel`.

    Parameters
    ----------
    model
        The `PreTrainedModel`. It is never changed: its modes, gradients, hooks, weights and device stay as they are.
    tokenizer
        Its tokenizer.
    labels
        Label words, or the word of each label: they make a classifier of prompts of it. See
        `mase.models.language.label_words.LabelWords`.
    template
        The prompt of that classifier.
    chat
        Whether messages go through the tokenizer's chat template; by default, where it has one. Otherwise a single
        message of the user is its text, and several are refused.
    name
        Name for provenance; that of the model by default.

    Raises
    ------
    OptionError
        If the model is no causal language model, has no tokenizer, or `chat` is True without a chat template.

    Notes
    -----
    A text is encoded as the tokenizer encodes it, with its special tokens. The ids of an answer follow those of the
    prompt: a token never spans both, as when the model itself writes the answer.

    A cache of keys and values (or states) is used where a short trial shows that it changes nothing; without one, every
    row is computed from its beginning, and so is each token of `generate`.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        labels: Labels | None = None,
        template: Prompt | None = None,
        chat: bool | None = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(model, nn.Module) or not hasattr(model, "get_output_embeddings"):
            raise OptionError(f"model is of type {type(model).__name__}, expected a causal language model")
        if getattr(model.config, "is_encoder_decoder", False):
            raise OptionError(f"{type(model).__name__} has an encoder, expected a causal language model; use Seq2Seq")
        if tokenizer is None:
            raise OptionError(f"{type(model).__name__} has no tokenizer, expected CausalLM(model, tokenizer)")
        templated = getattr(tokenizer, "chat_template", None) is not None
        if chat and not templated:
            raise OptionError(
                "chat is True, but the tokenizer has no chat template, expected one; set tokenizer.chat_template, or "
                "pass prompts as text"
            )
        self.module: nn.Module = model
        self.name: str = name or getattr(model.config, "name_or_path", "") or type(model).__name__
        self.tokenizer = PromptTokenizer(tokenizer, self.name, templated if chat is None else chat)
        self.labels, self.template = labels, template
        self.checksum = Checksum(model)
        self._scorer = Scorer(Forward(model))
        self._half: tuple[Any, CausalLM] | None = None  # and the versions of the weights that it has

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

    def __getstate__(self) -> Packed:
        rebuilt = ("module", "checksum", "_scorer", "_half")
        state = {name: value for name, value in self.__dict__.items() if name not in rebuilt}
        return Packed((self.module, self._scorer.forward.half is not None, state))

    def __setstate__(self, packed: Packed) -> None:
        self.module, in_half, state = packed.value
        self.__dict__.update(state)
        self.checksum, self._half = Checksum(self.module), None
        self._scorer = Scorer(Forward(self.module, half_weights(self.module) if in_half else None))

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
            room = max_new_tokens
            if self._limit is not None:
                self._check_length(len(ids), 1)
                room = min(room, self._limit - len(ids))
            answer = self._scorer.greedy(ids, room, self._stops)
            if not answer:
                raise ModelError(
                    f"{self.name} ends its answer with the first token, expected an answer to explain; pass an answer, "
                    "or ask another question"
                )
            return self.tokenizer.generated(answer)

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer.

        Raises
        ------
        EmptyTextError
            If it has none.
        """
        with alone(self.module):
            return self.tokenizer.continuation(answer)

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
        """Whether the weights are in half precision."""
        return any(parameter.dtype.itemsize == 2 for parameter in self.module.parameters())

    def half(self) -> "CausalLM | None":
        """Return the same model in bfloat16, except for its head; None where that would be slower.

        It holds a copy of the weights, of half their size. A model that already has weights of 16 bits stays as it is.
        """
        if not multiplies_bfloat16(self.device):
            return None
        if next(self.module.parameters()).dtype != torch.float32 or self._scorer.forward.half is not None:
            return self
        versions = self.checksum.versions()
        if self._half is None or self._half[0] != versions:
            model = copy.copy(self)
            model._scorer = Scorer(Forward(self.module, half_weights(self.module)), continues=self._scorer.tried)
            self._half = versions, model
        return self._half[1]

    @property
    def description(self) -> LanguageDescription:
        """What the model was taken for."""
        stops = tuple(self.tokenizer.backend.convert_ids_to_tokens(sorted(self._stops)))
        return of_module(self, "causal language model", self.tokenizer, self._limit, stops)

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
        ends = [getattr(getattr(self.module, name, None), "eos_token_id", None) for name in _CONFIGURATIONS]
        listed = [end if isinstance(end, list | tuple) else [end] for end in ends if end is not None]
        return self.tokenizer.stops() | {int(token) for some in listed for token in some}

    def _check_length(self, n_prompt: int, n_answer: int) -> None:
        if self._limit is not None and n_prompt + n_answer > self._limit:
            raise ModelError(
                f"a prompt of {n_prompt:,} tokens with an answer of {n_answer:,} has {n_prompt + n_answer:,}, but "
                f"{self.name} reads {self._limit:,} at most; leave out some of the context, or shorten the answer"
            )


_CONFIGURATIONS = ("config", "generation_config")
