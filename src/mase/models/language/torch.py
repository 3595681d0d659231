"""Causal and encoder-decoder language models of transformers.

Each prompt goes through the encoder once, in batches of similar length. The decoder then reads all prompts of a batch
with one answer after the other.
"""

import os
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from torch import nn
from transformers.modeling_outputs import MoeModelOutputWithPast
from transformers.models.auto import modeling_auto

from mase.arrays import Floats, Ints
from mase.errors import DataError, ModelError, OptionError
from mase.models.base import unwrapped
from mase.models.batching import in_batches
from mase.models.description import LanguageDescription, of_language_module
from mase.models.folder import ADAPTER, LanguageKind, is_adapter_folder, locate, read_language_model, read_tokenizer
from mase.models.language.base import Continuation, Cut, Labels, LanguageModel, Prompt
from mase.models.language.prompts import PromptTokenizer
from mase.models.language.scoring import (
    Forward,
    Row,
    Scorer,
    batches,
    chosen_log_probabilities,
    costs_of,
    enough_memory,
    half_weights,
)
from mase.models.limits import is_taken, read_json
from mase.models.locks import alone
from mase.models.origin import Reopened
from mase.models.torch.engine import device_of, multiplies_bfloat16
from mase.models.torch.lora import Task, read_adapted
from mase.models.torch.weights import Checksum, Packed
from mase.text import Span

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


class TransformersLM(Reopened, LanguageModel, ABC):
    """A language model of transformers with its tokenizer. See `mase.models.language.base.LanguageModel`."""

    name: str
    labels: Labels | None = None
    template: Prompt | None = None
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
        model = unwrapped(model)
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
        """Return the tokens of a given answer."""
        with alone(self.module):
            return self.tokenizer.continuation(answer)

    def special_spans(self, text: str) -> tuple[Span, ...]:
        """Return the spans of a text that the tokenizer takes for special tokens."""
        with alone(self.module):
            return self.tokenizer.special_spans(text)

    def log_probabilities(self, prompts: Sequence[Prompt], answers: Sequence[Continuation]) -> list[Floats]:
        """Return, for each answer, the natural log-probabilities `(n, t)` of its t tokens after each of n prompts."""
        with alone(self.module):
            starts = [self.tokenizer.prompt(prompt) for prompt in prompts]
            longest = max(map(len, answers), default=0)
            for ids in starts:
                self._check_length(len(ids), longest)
            rows = [Row(ids + answer.ids, len(ids)) for answer in answers for ids in starts]
            result = self._scorer.log_probabilities(rows)
        n = len(starts)
        return [
            np.array(result[index * n : (index + 1) * n]).reshape(n, len(answer))
            for index, answer in enumerate(answers)
        ]

    @property
    def rounds(self) -> bool:
        """Whether it computes in half precision."""
        return self._scorer.forward.rounds

    def half(self) -> Self | None:
        """Return the same model in bfloat16, except for its head; None where that would be slower.

        It holds a copy of the weights, of half their size. A model that already has weights of 16 bits stays as it is.
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
        return of_language_module(self, self.kind, self.tokenizer, self._limit, stops)

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
        return [getattr(getattr(self.module, item, None), name, None) for item in _CONFIGURATIONS]


class CausalLM(TransformersLM):
    """A causal language model, such as any `AutoModelForCausalLM`. See `mase.models.language.base.LanguageModel`.

    Parameters
    ----------
    model
        The `PreTrainedModel`. It is never changed: its modes, gradients, hooks, weights and device stay as they are.
    tokenizer
        Its tokenizer.
    labels
        Label words, or the word of each label: they make a classifier of prompts of it. See
        `mase.models.language.answers.LabelWords`.
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
        """Return, for each row, the log-probabilities `(t,)` of the t tokens of its answer."""
        result = [np.empty(0)] * len(rows)
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
                            result[index] = values
        return result

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
        prompts, result = [*answers_of], []
        source = self._source(prompts)
        for answer in dict.fromkeys(answer for answers in answers_of.values() for answer in answers):
            inputs = [*self.prefix, *answer[:-1]]
            start = len(self.prefix) - 1
            places = [row * len(inputs) + at for row in range(len(prompts)) for at in range(start, len(inputs))]
            logits, output = self._decoded(source, [inputs] * len(prompts), places)
            source = self._read(source, output)
            values = chosen_log_probabilities(logits, [*range(len(places))], [*answer] * len(prompts))
            tables = np.array(values).reshape(len(prompts), len(answer))
            result += [(prompt, answer, row) for prompt, row in zip(prompts, tables, strict=True)]
        return [item for item in result if item[1] in answers_of[item[0]]]

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


class Seq2Seq(TransformersLM):
    """An encoder-decoder language model, such as any `AutoModelForSeq2SeqLM`: T5, BART, Pegasus, mBART.

    The encoder reads the prompt and the decoder answers. There are no chats: a single message of the user is its text.
    See `mase.models.language.base.LanguageModel`.

    Parameters
    ----------
    model
        The `PreTrainedModel`. It is never changed: its modes, gradients, hooks, weights and device stay as they are.
    tokenizer
        Its tokenizer.
    labels
        Label words, or the word of each label: they make a classifier of prompts of it. See
        `mase.models.language.answers.LabelWords`.
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


# What an adapter is for, as peft calls it.
TASKS: Mapping[LanguageKind, Task] = {"causal": "CAUSAL_LM", "seq2seq": "SEQ_2_SEQ_LM"}


def architecture(folder: Path) -> str | None:
    """Return the class of the model that the configuration of a folder names; None if it names none."""
    named = _object(folder / "config.json").get("architectures")
    return str(named[0]) if isinstance(named, list) and named else None


def language_kind(folder: Path) -> LanguageKind | None:
    """Return the kind of language model in a folder, or the kind for which it holds an adapter.

    None for a model of another kind, or one that is not named.
    """
    if is_adapter_folder(folder):
        task = _object(folder / ADAPTER).get("task_type")
        return next((kind for kind, name in TASKS.items() if name == task), None)
    name = architecture(folder)
    if name in _classes(modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES):
        return "seq2seq"
    is_causal = name in _classes(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    return "causal" if is_causal or str(name).endswith("ForCausalLM") else None


def _object(path: Path) -> Mapping[str, Any]:
    """Return a configuration; an empty one where there is none, or none that could name a class or a task."""
    config = read_json(path) if path.is_file() else {}
    return config if isinstance(config, dict) else {}


def _classes(by_family: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the classes of a table of transformers, which has one or several for each family."""
    return frozenset(name for names in by_family.values() for name in ([names] if isinstance(names, str) else names))


_ADAPTERS = {"causal": "mase.models.CausalLM", "seq2seq": "mase.models.Seq2Seq"}


def read_pretrained(
    source: str | os.PathLike[str],
    kind: LanguageKind,
    tokenizer: Any = None,
    *,
    download: bool = False,
    trust_remote_code: bool = False,
) -> tuple[Any, Any]:
    """Return the module, in float32 and evaluation mode, and the tokenizer of a folder, or of a name of the hub.

    Parameters
    ----------
    source
        The folder of a model, or of a LoRA adapter, which is merged into its base model; or a name.
    kind
        The kind of language model that is expected.
    tokenizer
        A tokenizer in place of the one in the folder.
    download
        Whether a name that is not on this machine may be downloaded.
    trust_remote_code
        Whether the code of the model may run. If False, a model that needs it is refused.
    """
    name = os.fspath(source)
    try:
        folder = locate(source, download=download, trust_remote_code=trust_remote_code)
        # Keep the random state: missing weights are initialised at random before the model is refused.
        with torch.random.fork_rng(devices=[]):
            if is_adapter_folder(folder):
                module, missing, folder = read_adapted(
                    folder, TASKS[kind], lambda base, _: _read(base, kind), download=download
                )
            else:
                module, missing = _read(folder, kind, trust_remote_code=trust_remote_code)
        tokenizer = tokenizer or read_tokenizer(folder, trust_remote_code=trust_remote_code)
    except DataError as error:
        if is_taken(name):
            raise DataError(f"cannot load a language model from {name!r:.200}: {error}") from error
        remedy = "" if download else "; pass download=True (mase cite --download) to download it from the hub"
        raise DataError(
            f"no language model with safetensors weights at {name!r:.200} on this machine{remedy}: {error}"
        ) from error
    if missing:
        raise DataError(
            f"{name!r:.200} has no weights {', '.join(sorted(missing)[:4])}, expected a language model that was "
            f"trained: as a {type(module).__name__} its answers would be random"
        )
    return module.eval(), tokenizer


def _read(folder: Path, kind: LanguageKind, *, trust_remote_code: bool = False) -> tuple[Any, frozenset[str]]:
    """Return the model in a folder, after a check of its kind, and the names of the weights that the folder lacks."""
    _check_kind(folder, kind)
    return read_language_model(folder, kind, trust_remote_code=trust_remote_code)


def _check_kind(folder: Path, kind: LanguageKind) -> None:
    """Check that the configuration of a folder, if it names the class of its model, names one of this kind."""
    name, result = architecture(folder), language_kind(folder)
    if name is None or result == kind:
        return
    if result is not None:
        raise DataError(f"{folder} holds a {name}, expected one for {_ADAPTERS[kind]}; use {_ADAPTERS[result]}")
    raise DataError(
        f"{folder} holds a {name}, expected a language model, such as a LlamaForCausalLM or a "
        "T5ForConditionalGeneration; mase.explain (mase explain) explains classifiers"
    )
