"""Causal language models of transformers."""

from typing import Any, ClassVar, Self

from mase.errors import ModelError, OptionError
from mase.models.language.forward import Forward
from mase.models.language.protocol import Cut, Labels, Prompt
from mase.models.language.scoring import Scorer
from mase.models.language.transformers_model import TransformersLM
from mase.models.locks import alone

__all__ = ["CausalLM"]


class CausalLM(TransformersLM):
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

    kind: ClassVar[str] = "causal language model"
    bound: ClassVar[Cut] = "window"
    _scorer: Scorer

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
        if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
            raise OptionError(f"{type(model).__name__} has an encoder, expected a causal language model; use Seq2Seq")
        templated = getattr(tokenizer, "chat_template", None) is not None
        if chat and not templated:
            raise OptionError(
                "chat is True, but the tokenizer has no chat template, expected one; set tokenizer.chat_template, or "
                "pass prompts as text"
            )
        chat = templated if chat is None else chat
        super().__init__(model, tokenizer, chat=chat, labels=labels, template=template, name=name)

    def reading(self, prompt: Prompt) -> Self:
        """Return the same model after it has read a prompt, so that prompts which begin alike cost less.

        It holds the cache of the prompt. The same model if its cache cannot be shortened, or the prompt is too long.

        Raises
        ------
        ModelError
            If the model fails, or runs out of memory.
        """
        with alone(self.module):
            ids = self.tokenizer.prompt(prompt)
            if self._limit is not None and len(ids) > self._limit:
                return self
            # The pass over the last token says what follows the prompt.
            scorer = self._scorer.reading(ids[:-1])
        return self if scorer is self._scorer else self._with(scorer)

    def _scorer_of(self, forward: Forward) -> Scorer:
        return Scorer(forward)

    def _room(self, n_prompt: int) -> int | None:
        return None if self._limit is None else self._limit - n_prompt

    def _check_length(self, n_prompt: int, n_answer: int) -> None:
        if self._limit is not None and n_prompt + n_answer > self._limit:
            raise ModelError(
                f"a prompt of {n_prompt:,} tokens with an answer of {n_answer:,} has {n_prompt + n_answer:,}, but "
                f"{self.name} reads {self._limit:,} at most; leave out some of the context, or shorten the answer"
            )
