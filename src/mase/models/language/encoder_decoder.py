"""Log-probabilities of given answers by a model with an encoder, which reads prompts, and a decoder, which answers.

Each prompt goes through the encoder once, in batches of similar length. The decoder then reads all prompts of a batch
with one answer after the other.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch
from transformers.modeling_outputs import MoeModelOutputWithPast

from mase.arrays import Floats, Ints
from mase.models.batching import in_batches
from mase.models.language.forward import Forward
from mase.models.language.plan import batches
from mase.models.language.scoring import Row, chosen_log_probabilities, costs_of, enough_memory

__all__ = ["EncoderDecoderScorer"]

Ids = tuple[int, ...]


class EncoderDecoderScorer:
    """Log-probabilities of answers by one model.

    Parameters
    ----------
    forward
        The model.
    prefix
        The ids that the decoder reads before an answer.
    """

    def __init__(self, forward: Forward, prefix: Sequence[int]) -> None:
        self.forward = forward
        self.prefix = tuple(prefix)

    def replaced(self, forward: Forward) -> "EncoderDecoderScorer":
        """Return the scorer of the same model in another precision."""
        return EncoderDecoderScorer(forward, self.prefix)

    def log_probabilities(self, rows: Sequence[Row]) -> list[Floats]:
        """Return, for each row, the log-probabilities `(t,)` of the t tokens of its answer.

        Raises
        ------
        ModelError
            If the model fails, or runs out of memory on a single row.
        """
        found = [np.empty(0)] * len(rows)
        asked: dict[Ids, dict[Ids, list[int]]] = defaultdict(lambda: defaultdict(list))
        for index, row in enumerate(rows):
            asked[row.ids[: row.start]][row.ids[row.start :]].append(index)
        prompts = list(asked)
        with self.forward.running(), enough_memory():
            for batch in batches([*map(len, prompts)], costs_of(self.forward)):
                members: Ints = np.array(batch)

                def answered(some: Ints, _: Ints) -> list[tuple[Ids, Ids, Floats]]:
                    return self._answered({prompts[index]: [*asked[prompts[index]]] for index in some})

                for _, several in in_batches(answered, members, len(batch)):
                    for prompt, answer, values in several:
                        for index in asked[prompt][answer]:
                            found[index] = values
        return found

    def greedy(self, ids: Sequence[int], n: int, stops: Collection[int]) -> list[int]:
        """Return the most probable next token, again and again: up to n tokens, without the first of `stops`."""
        answer: list[int] = []
        with self.forward.running(), enough_memory():
            source = self._source([tuple(ids)])
            source = self._read(source, self._decoded(source, [self.prefix], [0])[1])  # some encoders take no use_cache
            cache, fresh = None, list(self.prefix)
            while len(answer) < n:
                kept: dict[str, Any] = {} if cache is None else {cache.name: cache.value}
                logits, output = self._decoded(source | kept, [fresh], [len(fresh) - 1], keep=True)
                token = int(logits[0].argmax())
                if token in stops:
                    break
                answer.append(token)
                cache = self.forward.cache_of(output)
                fresh = [*self.prefix, *answer] if cache is None else [token]
        return answer

    def _answered(self, answers_of: dict[Ids, list[Ids]]) -> list[tuple[Ids, Ids, Floats]]:
        """Return the log-probabilities of the answers to each prompt of a batch."""
        prompts, found = [*answers_of], []
        source = self._source(prompts)
        for answer in dict.fromkeys(answer for answers in answers_of.values() for answer in answers):
            inputs = [*self.prefix, *answer[:-1]]
            start = len(self.prefix) - 1
            places = [row * len(inputs) + at for row in range(len(prompts)) for at in range(start, len(inputs))]
            logits, output = self._decoded(source, [inputs] * len(prompts), places)
            source = self._read(source, output)
            values = chosen_log_probabilities(logits, [*range(len(places))], [*answer] * len(prompts))
            tables = np.array(values).reshape(len(prompts), len(answer))
            found += [(prompt, answer, row) for prompt, row in zip(prompts, tables, strict=True)]
        return [one for one in found if one[1] in answers_of[one[0]]]

    def _source(self, prompts: Sequence[Ids]) -> dict[str, Any]:
        """Return the arguments that hold a batch of prompts; shorter ones are padded, and the padding is masked."""
        width = max(map(len, prompts))
        ids = np.array([[*prompt, *[prompt[0]] * (width - len(prompt))] for prompt in prompts])
        mask = np.array([[1] * len(prompt) + [0] * (width - len(prompt)) for prompt in prompts])
        return {name: torch.as_tensor(table, device=self.forward.device)
                for name, table in (("input_ids", ids), ("attention_mask", mask))}  # fmt: skip

    def _read(self, source: dict[str, Any], output: Any) -> dict[str, Any]:
        """Return the arguments in which the prompts are what the encoder made of them."""
        if "encoder_outputs" in source:
            return source
        # Some models read attributes of what their encoder returns, with or without experts. The ids stay: a decoder
        # such as that of FSMT masks the tokens ahead only beside them.
        encoded = MoeModelOutputWithPast(last_hidden_state=output.encoder_last_hidden_state)
        return {**source, "encoder_outputs": encoded}

    def _decoded(
        self, source: dict[str, Any], rows: Sequence[Sequence[int]], places: Sequence[int], *, keep: bool = False
    ) -> tuple[torch.Tensor, Any]:
        """Return the logits `(m, vocabulary)` at m places of rows of equal length, and all that the model returns."""
        device = self.forward.device
        ids = torch.as_tensor(np.array(rows), device=device)
        arguments = {**source, "decoder_input_ids": ids, "use_cache": keep, "return_dict": True}
        return self.forward.logits(arguments, torch.as_tensor(np.array(places)))
