"""A language model without weights, for tests that need none."""

import re

import numpy as np

from mase.models.language.base import Continuation, LanguageModel

ANSWER = "The cat sat. The dog ran."
# Log-probability of a word of the answer that occurs in the prompt, and of one that does not.
SEEN, UNSEEN = -0.1, -2.0


class Parrot(LanguageModel):
    """Answers with words of its prompt: `ANSWER`, unless it was made to say something else."""

    name, sha256 = "parrot", None

    def __init__(self, says=ANSWER):
        self.says = says

    def generate(self, prompt, max_new_tokens):
        whole = self.continuation(self.says)
        end = whole.spans[min(max_new_tokens, len(whole)) - 1][1]
        return self.continuation(self.says[:end])

    def continuation(self, answer):
        spans = tuple(match.span() for match in re.finditer(r"\s*\S+", answer))
        return Continuation(answer, tuple(map(hash, answer.split())), spans)

    def log_probabilities(self, prompts, answers):
        words = [
            set(re.findall(r"\S+", prompt if isinstance(prompt, str) else prompt[-1]["content"])) for prompt in prompts
        ]
        return [
            np.array([[SEEN if word in known else UNSEEN for word in answer.text.split()] for known in words])
            for answer in answers
        ]


class Recall(Parrot):
    """Answers with the sentences of `ANSWER` whose words stand in its prompt."""

    name = "recall"

    def generate(self, prompt, max_new_tokens):
        sentences = [one for one in re.findall(r"[^.]+\.", self.says) if one.strip() in prompt[-1]["content"]]
        return self.continuation("".join(sentences).strip() or "Nothing.")


parrot, recall = Parrot(), Recall()


def predict_proba(texts):
    """A classifier."""
    return [[0.5, 0.5] for _ in texts]
