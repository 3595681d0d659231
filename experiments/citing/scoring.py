"""Log-probabilities of an answer when units of its context are deleted: each row is evaluated once and kept on disk."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from tasks import MAX_NEW_TOKENS, Case, messages
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from mase.arrays import Bools, Floats
from mase.files import drop_cut_line, write_text
from mase.models.rewriting import rewritten

__all__ = ["Asked", "LanguageModel", "Planned", "Scorer", "log_odds"]

BATCH, KEPT_AT_ONCE = 8, 128


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model: its layers in `dtype`, and its head in float32."""

    tokenizer: Any
    model: Any
    head: torch.Tensor

    @classmethod
    def load(cls, folder: Path, dtype: torch.dtype = torch.bfloat16) -> Self:
        """Return the model in a folder, on one thread."""
        torch.set_num_threads(1)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
        return cls(AutoTokenizer.from_pretrained(folder), model, model.lm_head.weight.detach().float())

    def ids(self, context: str, query: str) -> list[int]:
        """Return the tokens of a prompt with the chat template, up to where the answer begins."""
        text = self.tokenizer.apply_chat_template(messages(context, query), add_generation_prompt=True, tokenize=False)
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def answer(self, case: Case) -> list[int]:
        """Return the tokens of the greedy answer, without the token that ends it."""
        prompt = torch.tensor([self.ids(case.context, case.query)])
        with torch.inference_mode():
            found = self.model.generate(
                prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=MAX_NEW_TOKENS, do_sample=False
            )
        ids = found[0, prompt.shape[1] :].tolist()
        return [one for one in ids if one not in self.tokenizer.all_special_ids]

    def log_probabilities(self, prompts: Sequence[list[int]], answer: list[int]) -> Floats:
        """Return the log-probabilities `(n, t)` of the t tokens of an answer after each of n prompts."""
        rows = [[*prompt, *answer[:-1]] for prompt in prompts]
        order = sorted(range(len(rows)), key=rows.__getitem__)  # neighbours share the longest prefixes
        found = np.empty((len(rows), len(answer)))
        kept, cache = [], DynamicCache()
        with torch.inference_mode():
            for start in range(0, len(order), BATCH):
                chosen = order[start : start + BATCH]
                some = [rows[index] for index in chosen]
                shortest = min(map(len, some)) - len(answer)
                prefix = _common(some)[:shortest]
                n_kept = len(_common([kept, prefix]))
                if n_kept < len(kept):
                    cache.crop(n_kept - len(kept))
                if prefix[n_kept:]:
                    self.model.model(torch.tensor([prefix[n_kept:]]), past_key_values=cache, use_cache=True)
                kept = prefix
                found[chosen] = self._suffixes([row[len(prefix) :] for row in some], cache, answer)
        return found

    def _suffixes(self, rows: Sequence[list[int]], cache: DynamicCache, answer: list[int]) -> Floats:
        """Return log-probabilities `(b, t)` of the answer at the end of rows that continue what is in the cache."""
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        expanded = DynamicCache()
        for index, layer in enumerate(cache.layers):
            expanded.update(layer.keys.expand(len(rows), -1, -1, -1), layer.values.expand(len(rows), -1, -1, -1), index)
        # Right padding comes after the answer, so a causal model needs no mask for it.
        hidden = self.model.model(ids, past_key_values=expanded, use_cache=True).last_hidden_state
        ends = torch.cat([one[len(row) - len(answer) : len(row)] for one, row in zip(hidden, rows, strict=True)])
        logits = ends.float() @ self.head.T
        chosen = logits.gather(1, torch.tensor(answer * len(rows))[:, None])[:, 0]
        return (chosen - logits.logsumexp(dim=1)).reshape(len(rows), len(answer)).double().numpy()


def _common(rows: Sequence[list[int]]) -> list[int]:
    """Return the tokens that all rows begin with."""
    return [ids[0] for ids in takewhile(lambda ids: len(set(ids)) == 1, zip(*rows, strict=False))]


def log_odds(log_probabilities: Floats) -> Floats:
    """Return the log-odds `(n,)` of an answer from the log-probabilities `(n, t)` of its tokens."""
    total = np.minimum(log_probabilities.sum(axis=1), -1e-12)
    return total - np.log(-np.expm1(total))


class Scorer:
    """The log-probabilities of one case's answer with units deleted. Each mask is evaluated once and kept in a file.

    Parameters
    ----------
    file
        A file of JSON Lines that rows are appended to; what it has is not evaluated again.
    """

    def __init__(self, model: LanguageModel, case: Case, file: Path) -> None:
        self.model, self.case, self._file = model, case, file
        self._known: dict[bytes, list[float]] = {}
        if not file.exists():
            ids = model.answer(case)
            line = {"context": case.context, "query": case.query, "answer": model.tokenizer.decode(ids), "ids": ids}
            write_text(file, json.dumps(line) + "\n")
        head, *rows = map(json.loads, drop_cut_line(file).splitlines())
        self.answer: list[int] = head["ids"]
        self._known = {_key(np.array([bit == "1" for bit in one["kept"]])): one["log_p"] for one in rows}

    @property
    def n_units(self) -> int:
        """Number p of units."""
        return len(self.case.spans)

    @property
    def n_known(self) -> int:
        """Number of masks that have been evaluated, by any method."""
        return len(self._known)

    def context(self, kept: Bools) -> str:
        """Return the context without the units that are not `kept` `(p,)`, as `mase` deletes them."""
        text, spans = self.case.context, self.case.spans
        pieces = [text[start:end] if keep else None for (start, end), keep in zip(spans, kept, strict=True)]
        return rewritten(text, spans, pieces)

    def log_probabilities(self, masks: Bools) -> Floats:
        """Return log-probabilities `(n, t)` of the answer's t tokens for masks `(n, p)` of kept units."""
        masks = np.asarray(masks, dtype=bool)
        new = {_key(kept): kept for kept in masks if _key(kept) not in self._known}
        if new:
            rows = [(self.model.ids(self.context(kept), self.case.query), kept) for kept in new.values()]
            rows.sort(key=lambda row: row[0])
            for start in range(0, len(rows), KEPT_AT_ONCE):
                self._evaluate(rows[start : start + KEPT_AT_ONCE])
        return np.array([self._known[_key(kept)] for kept in masks])

    def _evaluate(self, rows: Sequence[tuple[list[int], Bools]]) -> None:
        found = self.model.log_probabilities([prompt for prompt, _ in rows], self.answer).round(6).tolist()
        with self._file.open("a", encoding="utf-8") as file:
            for (_, kept), row in zip(rows, found, strict=True):
                bits = "".join("1" if keep else "0" for keep in kept)
                file.write(json.dumps({"kept": bits, "log_p": row}) + "\n")
                self._known[_key(kept)] = row


class Planned:
    """Stands for a scorer, and takes note of the rows that methods ask for; what it returns means nothing."""

    def __init__(self, scorer: Scorer) -> None:
        self.model, self.case, self.answer, self.n_units = scorer.model, scorer.case, scorer.answer, scorer.n_units
        self.masks: dict[bytes, Bools] = {}
        self._weights = np.random.default_rng(0).random((self.n_units, len(self.answer)))

    def log_probabilities(self, masks: Bools) -> Floats:
        """Return numbers `(n, t)`, the same for the same row."""
        masks = np.asarray(masks, dtype=bool)
        self.masks |= {_key(kept): kept for kept in masks}
        return -1 - masks @ self._weights


class Asked:
    """A scorer as a method sees it: it counts the rows that the method asks for, also those that are known."""

    def __init__(self, scorer: Scorer | Planned) -> None:
        self.scorer, self.n = scorer, 0

    @property
    def n_units(self) -> int:
        """Number p of units."""
        return self.scorer.n_units

    def log_probabilities(self, masks: Bools) -> Floats:
        """Return log-probabilities `(n, t)` of the answer's tokens for masks `(n, p)` of kept units."""
        self.n += len(masks)
        return self.scorer.log_probabilities(masks)

    def log_odds(self, masks: Bools) -> Floats:
        """Return the log-odds `(n,)` of the answer for masks `(n, p)` of kept units."""
        return log_odds(self.log_probabilities(masks))


def _key(kept: Bools) -> bytes:
    return kept.astype(np.uint8).tobytes()
