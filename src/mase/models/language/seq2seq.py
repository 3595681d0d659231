"""Encoder-decoder language models of transformers."""

from typing import Any, ClassVar

from mase.errors import ModelError, OptionError
from mase.models.language.encoder_decoder import EncoderDecoderScorer
from mase.models.language.forward import Forward
from mase.models.language.protocol import Cut, Labels, Prompt
from mase.models.language.tokenizer import PromptTokenizer
from mase.models.language.transformers_model import TransformersLM

__all__ = ["Seq2Seq"]


class Seq2Seq(TransformersLM):
    """An encoder-decoder language model, such as any `AutoModelForSeq2SeqLM`: T5, BART, Pegasus, mBART.

    The encoder reads the prompt and the decoder answers. There are no chats: a single message of the user is its text.
    See `mase.models.language.protocol.LanguageModel`.

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
    name
        Name for provenance; that of the model by default.

    Raises
    ------
    OptionError
        If the model is no encoder-decoder model or does not say how its answers begin, or has no tokenizer.

    Notes
    -----
    Before an answer, the decoder reads its start token, and then the token that the model is configured to begin with
    (`forced_bos_token_id`, such as the language of a translation) or else those that the tokenizer puts before a
    target. They are no part of the answer and of its probability.
    """

    kind: ClassVar[str] = "encoder-decoder language model"
    bound: ClassVar[Cut] = "longest-answer"

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        labels: Labels | None = None,
        template: Prompt | None = None,
        name: str | None = None,
    ) -> None:
        config = getattr(model, "config", None)
        if not getattr(config, "is_encoder_decoder", False):
            raise OptionError(
                f"model is of type {type(model).__name__}, expected an encoder-decoder language model; use "
                "mase.models.CausalLM for a causal one"
            )
        super().__init__(model, tokenizer, chat=False, labels=labels, template=template, name=name)

    def _tokenizer_of(self, tokenizer: Any, *, chat: bool) -> PromptTokenizer:
        return PromptTokenizer(tokenizer, self.name, chat, targets=True)

    def _scorer_of(self, forward: Forward) -> EncoderDecoderScorer:
        return EncoderDecoderScorer(forward, self._prefix())

    def _prefix(self) -> tuple[int, ...]:
        """Return the ids before an answer."""
        start = self._configured("decoder_start_token_id")
        if start is None:
            raise OptionError(
                f"{self.name} has no decoder_start_token_id, expected the id of the token before an answer; set it in "
                "model.config"
            )
        forced = self._configured("forced_bos_token_id")
        return start, *(self.tokenizer.before_target() if forced is None else (forced,))

    def _room(self, n_prompt: int) -> int | None:
        del n_prompt
        return None if self._limit is None else self._limit - len(self._prefix()) + 1

    def _check_length(self, n_prompt: int, n_answer: int) -> None:
        room = self._room(n_prompt)
        if self._limit is not None and room is not None and (n_prompt > self._limit or n_answer > room):
            raise ModelError(
                f"there are a prompt of {n_prompt:,} tokens and an answer of {n_answer:,}, but {self.name} reads "
                f"{self._limit:,} at most, and {room:,} of an answer; leave out some of the context, or shorten the "
                "answer"
            )
