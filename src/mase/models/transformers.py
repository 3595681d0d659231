"""Hugging Face sequence classifiers, perturbed after the embedding block or at the word vectors."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from mase.arrays import Floats, Ints
from mase.document import Document, Input, check_texts
from mase.errors import DataError, MaseError, OptionError
from mase.links import Output
from mase.models.base import Binding, Model, unwrapped
from mase.models.description import HeadOutputs, check_head, described, head_labels, head_scores
from mase.models.folder import is_adapter_folder, locate, read_classifier, read_tokenizer, whole_text
from mase.models.limits import is_taken
from mase.models.locks import alone
from mase.models.origin import Loaded, Reopened, absolute
from mase.models.scores import Scores, check_keep, check_length, class_scores, kept_end, recognise, trial_scores
from mase.models.token_ids import SAMPLE
from mase.models.tokens import TransformersTokenizer, check_fast, longest_input, tokenizer_checksum
from mase.models.torch.engine import Engine, as_float64, device_of, moved
from mase.models.torch.lora import is_peft, read_adapted, with_adapters
from mase.models.torch.module import entry_layer, token_scores
from mase.models.torch.probe import TorchProbe, bind
from mase.models.torch.weights import Checksum, Packed
from mase.responses import predictions
from mase.rng import untouched
from mase.text import Side, Tokens


class HuggingFace(Reopened, Model):
    """A Hugging Face classifier of texts or of pairs of texts.

    Parameters
    ----------
    model
        A `PreTrainedModel` for sequence classification, a peft model, a folder (of a model, or of a LoRA adapter, which
        is merged into its base model), or a name in the local cache of the hub. A folder or name is loaded in float32,
        regardless of the precision in which it was saved; a module is used as it is. A single logit is the logit of the
        second of two classes.
    tokenizer
        Its (fast) tokenizer, which also puts a pair together. If `model` is a folder or name, the tokenizer is loaded
        from there by default.
    enter
        Where to perturb. ``"block"``: the output of the complete embedding block, after its LayerNorm (the paper's
        "output of the embedding layer"). ``"words"``: the word vectors alone, before positions are added. Models
        without an embedding block (GPT-2, Llama) support only ``"words"``. Any other string is the dotted name of a
        layer.
    max_length, keep
        Longest input in tokens, including special tokens (the model's own limit by default), and which end of a longer
        text is read: "start" or "end" (by default as the `truncation_side` of the tokenizer says).
    outputs, multilabel
        What the columns of the head are: "logits" of classes, "scores" of classes without probabilities, "values" that
        are no class scores, or "auto", as the configuration says: values for the `problem_type` regression. A head that
        already ends in a softmax or a sigmoid is recognised, and a note says so. With `multilabel`, the k classes are
        separate labels; None for what the `problem_type` says. A single column that the configuration does not name
        must be confirmed by "logits" or "values".
    download
        Whether a name that is not in the local cache may be downloaded from the hub. Only safetensors weights are
        loaded.
    trust_remote_code
        Whether the code of a folder or name may run. That code could do whatever you can do. If False, a model that
        needs it is refused, without asking. A module and a tokenizer that you loaded yourself are used as they are.
    device
        Where to put a model that is loaded by name.
    name
        Name for provenance; the folder or name of the model by default.

    Notes
    -----
    Scaling the input of the block's LayerNorm alone would have no effect, because LayerNorm undoes every scale. With
    ``"words"`` there is an effect because the positions are not scaled. The two choices give different scores.
    """

    has_embeddings = True

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        enter: str = "block",
        max_length: int | None = None,
        keep: Side | None = None,
        outputs: HeadOutputs = "auto",
        multilabel: bool | None = None,
        download: bool = False,
        trust_remote_code: bool = False,
        device: str | None = None,
        name: str | None = None,
    ) -> None:
        if tokenizer is None and not isinstance(model, str | os.PathLike):
            raise OptionError(f"{type(model).__name__} has no tokenizer, expected HuggingFace(model, tokenizer)")
        if keep is not None:
            check_keep(keep)
        module, fast = _loaded(model, tokenizer, download=download, trust_remote_code=trust_remote_code)
        check_head(type(module).__name__)
        module = moved(module, device)
        check_fast(fast)
        kept = kept_end(keep, fast.truncation_side)
        self._config, self.checksum = module.config, Checksum(module)
        self._engine = Engine(module, entry_layer(module, enter), self._call)
        self._declared = head_scores(self._config, type(module).__name__, outputs=outputs, multilabel=multilabel)
        self.name: str = name or (
            os.fspath(model)
            if isinstance(model, str | os.PathLike)
            else self._config.name_or_path or type(module).__name__
        )
        fewest = fast.num_special_tokens_to_add() + 1
        check_length(max_length, fewest, _limit(None, self._config), ", special tokens included")
        limit = _limit(fast.model_max_length, self._config) if max_length is None else max_length
        self.tokenizer = TransformersTokenizer(fast, self.name, limit, kept, _reads_types(module))
        self._masked = _needs_mask(module)
        if isinstance(model, str | os.PathLike):
            arguments = {"model": absolute(model), "tokenizer": tokenizer, "enter": enter, "max_length": max_length}
            arguments |= {"keep": keep, "outputs": outputs, "multilabel": multilabel, "name": self.name}
            arguments |= {"download": download, "trust_remote_code": trust_remote_code}
            self.origin = Loaded(type(self), arguments, self.checksum.versions())

    @property
    def module(self) -> nn.Module:
        """The module itself."""
        return self._engine.module

    @property
    def device(self) -> str:
        """The device of the module, such as "cpu" or "cuda:0"."""
        return str(device_of(self.module))

    @property
    def waits(self) -> bool:
        """Whether this process waits for another device, and can do something else in the meantime."""
        return self.device != "cpu"

    def __getstate__(self) -> Packed:
        engine, rebuilt = self._engine, ("_engine", "_config", "checksum")
        state = {name: value for name, value in self.__dict__.items() if name not in rebuilt}
        return Packed((engine.module, engine.embedding, state))

    def __setstate__(self, packed: Packed) -> None:
        module, embedding, state = packed.value
        self.__dict__.update(state)
        self._config, self.checksum = module.config, Checksum(module)
        self._engine = Engine(module, embedding, self._call)

    @cached_property
    def _trial(self) -> Scores:
        """The kind of the scores by 32 rows of random words of a usual text, for a head that is not what it declares.

        A head may end in a softmax or a sigmoid that its configuration does not tell.
        """
        declared, sample, engine = self._declared, self.encode(SAMPLE), self._engine

        def run(ids: Ints, types: Ints | None) -> Floats:
            return as_float64(engine.typed(types).forward(engine.ids(ids)))

        try:
            with untouched():
                rows = trial_scores(run, sample, self.name, self._usual_ids)
                pair = np.array([sample.ids, sample.ids])
                operation = engine.typed(sample.types).last_operation(engine.ids(pair))
            result = recognise(rows, "logits", multilabel=declared.output.multilabel, last_operation=operation)
        except MaseError:  # a model of fixed length, or one that counts end tokens
            return declared
        return replace(result, width_from=declared.width_from) if result.corrected else declared

    @property
    def _usual_ids(self) -> frozenset[int]:
        """The ids of the vocabulary that have vectors, but for special tokens."""
        backend = self.tokenizer.backend
        n = min(len(backend), self._engine.n_vectors or len(backend))
        return frozenset(range(n)) - set(backend.all_special_ids)

    def _kind(self, scores: Floats) -> Scores:
        """Return the kind of scores `(n, k)`, which were read as the configuration declares them."""
        return self._trial if self._declared.doubtful(scores) else self._declared

    @property
    def references(self) -> tuple[str, ...]:
        """The references: those of "mask", "unk" and "pad" that the tokenizer has, and "zero"."""
        return (*(role for role in ("mask", "unk", "pad") if self._role_id(role) is not None), "zero")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes or values, from the model's configuration."""
        return head_labels(self._config, self._declared)

    @property
    def output(self) -> Output:
        """What the columns of the scores are, as the configuration declares them."""
        return self._declared.output

    @property
    def returns_values(self) -> bool:
        """Whether the columns are values instead of class scores."""
        return self._declared.output.kind == "values"

    description = described("Hugging Face", "config.id2label", "name them in config.id2label")

    @property
    def sha256(self) -> str:
        """Checksum of the parameters and buffers."""
        return self.checksum.value()

    def reads(self) -> dict[str, Any]:
        """Return the checksum of the tokenizer, what fits into the model, and where it is entered."""
        tokenizer = self.tokenizer
        with whole_text(tokenizer.backend):
            checksum = tokenizer_checksum(tokenizer.backend.backend_tokenizer)
        fits = {"max_length": tokenizer.max_length, "keep": tokenizer.keep}
        return {"tokenizer_sha256": checksum, **fits, "enter": self._engine.embedding}

    def encode(self, text: Input) -> Tokens:
        """Return the tokens that the model reads of a text or a pair of texts; special tokens are fixed.

        Raises
        ------
        InvalidTextError
            If it is neither.
        EmptyTextError
            If there are only special tokens.
        """
        with alone(self.module):
            return self.tokenizer.tokens(Document.of(text))

    def bind(self, binding: Binding) -> TorchProbe:
        """Return the probe of one text."""
        engine = self._engine.typed(binding.tokens.types)
        padding = (self._role_id("pad"), getattr(self._config.get_text_config(), "pad_token_id", None))
        reference = self._role_id(binding.space.reference or "zero")
        probe = bind(engine, self._declared, binding, reference, padding)
        kind = self._kind(probe.start)
        return probe if kind is self._declared else replace(probe, kind=kind, start=kind.of_table(probe.start))

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return class probabilities or values `(n, k)`; texts of equal length form a batch, without padding."""
        return self.predict_tokens([self.encode(text) for text in check_texts(texts, tuples=True)])

    def predict_tokens(self, tokens: Sequence[Tokens]) -> Floats:
        """Return class probabilities or values `(n, k)` of n sequences of tokens."""
        scores = token_scores(self._engine, self._declared, tokens)
        kind = self._kind(scores)
        return predictions(kind.of_table(scores), kind.output)

    def token_scores(self, tokens: Sequence[Tokens]) -> Floats:
        """Return logits or values `(n, k)` of n sequences of tokens."""
        return token_scores(self._engine, self._declared, tokens)

    def _call(self, ids: torch.Tensor, types: torch.Tensor | None = None) -> torch.Tensor:
        """Return logits for unpadded rows of ids and token types.

        Some models use the padding id to find the last real token of a row. Where it is None, -1 makes them use the
        last token. A configuration that has none is of a model that does not.
        """
        config = self._config.get_text_config()
        unset = getattr(config, "pad_token_id", 0) is None
        try:
            if unset:
                config.pad_token_id = -1
            more = {} if types is None else {"token_type_ids": types}
            if self._masked:
                more["attention_mask"] = torch.ones_like(ids)
            return class_scores(self.module(input_ids=ids, **more), len(ids))
        finally:
            if unset:
                config.pad_token_id = None

    def _role_id(self, role: str) -> int | None:
        attribute = {"mask": "mask_token_id", "unk": "unk_token_id", "pad": "pad_token_id"}.get(role)
        return None if attribute is None else getattr(self.tokenizer.backend, attribute, None)


def _limit(tokenizer: float | None, config: Any) -> int | None:
    """Return the longest input that the tokenizer's limit and the positions allow, None if neither has one."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "max_seq_len", None)  # MPT
    pad = getattr(config, "pad_token_id", None)
    return longest_input(tokenizer, config.model_type, positions, pad)


def _reads_types(module: Any) -> bool:
    """Return whether a module, compiled or not, takes token types."""
    return "token_type_ids" in _arguments(module)


def _needs_mask(module: Any) -> bool:
    """Return whether a module, compiled or not, cannot do without a mask, as may one with a `forward` of the user."""
    mask = _arguments(module).get("attention_mask")
    return mask is not None and mask.default is Parameter.empty


def _arguments(module: Any) -> Mapping[str, Parameter]:
    return signature(getattr(module, "_orig_mod", module).forward).parameters


def _read_base(folder: Path, n_labels: Mapping[str, int]) -> tuple[Any, frozenset[str]]:
    """Return the base model of an adapter."""
    return read_classifier(folder, settings=n_labels)


def _loaded(model: Any, tokenizer: Any, *, download: bool, trust_remote_code: bool) -> tuple[Any, Any]:
    model = unwrapped(model)
    if is_peft(model):
        return with_adapters(model), tokenizer
    if not isinstance(model, str | os.PathLike):
        return model, tokenizer
    source = os.fspath(model)
    try:
        folder = locate(model, download=download, trust_remote_code=trust_remote_code)
        # Keep the random state: missing weights are initialised at random before the model is refused.
        with torch.random.fork_rng(devices=[]):
            if is_adapter_folder(folder):
                module, missing, folder = read_adapted(folder, "SEQ_CLS", _read_base, download=download)
            else:
                module, missing = read_classifier(folder, trust_remote_code=trust_remote_code)
    except DataError as error:
        if is_taken(source):
            raise DataError(f"cannot load a Hugging Face classifier from {source!r:.200}: {error}") from error
        remedy = "" if download else "; pass download=True (mase explain --download) to download it from the hub"
        raise DataError(
            f"no Hugging Face classifier with safetensors weights at {source!r:.200} on this machine: {error}{remedy}"
        ) from error
    if missing:
        raise DataError(
            f"{source!r} has no weights {', '.join(sorted(missing)[:4])}, expected a sequence classifier that "
            f"was trained: as a {type(module).__name__} its scores would be random; fine-tune it first, or if it is a "
            'language model, name its class in config.json, as in "architectures": ["LlamaForCausalLM"]'
        )
    return module.eval(), tokenizer or read_tokenizer(folder, trust_remote_code=trust_remote_code)
