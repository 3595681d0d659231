"""A language model whose log-probabilities are known."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mase.models.language.base import Continuation, LanguageModel

__all__ = ["Fake"]


class Fake(LanguageModel):
    """A model of words: each token of an answer has a log-probability that is linear in the words of the prompt.

    Token t of any answer has the log-probability -(2 + t), and more by the sum of `weights` of the words in the prompt:
    that of a word counts for the tokens whose index is in its `shares`, or for all.
    """

    name, sha256 = "fake", "f" * 64

    def __init__(self, weights: Mapping[str, float], shares: Mapping[str, tuple[int, ...]] | None = None, says="Yes."):
        self.weights, self.shares, self.says = weights, shares or {}, says
        self.prompts, self.n_generated = [], 0

    def generate(self, prompt, max_new_tokens):
        self.n_generated += 1
        self.prompts.append(prompt)
        words = self.says.split()
        cut = "max-new-tokens" if len(words) > max_new_tokens else None
        return replace(self.continuation(" ".join(words[:max_new_tokens])), cut=cut)

    def continuation(self, answer):
        spans = tuple(match.span() for match in re.finditer(r"\s*\S+", answer))
        return Continuation(answer, tuple(hash(answer[start:end]) for start, end in spans), spans)

    def log_probabilities(self, prompts, answers):
        self.prompts += prompts
        return [np.array([[self._token(prompt, token) for token in range(len(answer))] for prompt in prompts])
                for answer in answers]  # fmt: skip

    def _token(self, prompt, token):
        text = prompt if isinstance(prompt, str) else " ".join(message["content"] for message in prompt)
        words = re.findall(r"\w+", text)
        counted = [word for word in self.weights if word in words and token in self.shares.get(word, (token,))]
        return -(2.0 + token) + sum(self.weights[word] for word in counted)
