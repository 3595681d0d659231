"""Modules of torch, perturbed at their embedding layer."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from mase.arrays import Floats, Ints
from mase.document import Input, check_texts
from mase.errors import CapabilityError, ModelError, NonFiniteError, OptionError
from mase.links import Output
from mase.models.base import Binding, Model, unwrapped
from mase.models.batching import in_batches
from mase.models.description import Description, Guess, of_module
from mase.models.origin import Reopened
from mase.models.scores import (
    Kind,
    Scores,
    check_keep,
    check_labels,
    check_length,
    check_outputs,
    kept_end,
    recognise,
    score_labels,
)
from mase.models.tokens import own_limit, own_side, read, read_by, tokenizing
from mase.models.torch.engine import Engine, as_float64, device_of
from mase.models.torch.probe import TorchProbe, bind
from mase.models.torch.weights import Checksum, Packed
from mase.responses import predictions
from mase.rng import untouched
from mase.text import Side, Tokens

# Families whose embedding block mixes the vectors of neighbouring words. If its output were perturbed, a masked word
# would still be present in the vectors of its neighbours.
_MIXING_BLOCKS = ("mobilebert",)

# What models of transformers call their input if it is an image, a video or a sound.
_NO_TEXTS = ("pixel_values", "pixel_values_videos", "input_values", "input_features")


def find_embedding(module: nn.Module, name: str | None) -> str:
    """Return the dotted name of the layer to perturb: `name` itself, or that of the only `nn.Embedding`."""
    if isinstance(module, torch.jit.ScriptModule):
        raise CapabilityError(
            f"the module is a {type(module).__name__} of torch.jit, in which no layer can be perturbed, expected an "
            "nn.Module in Python; pass the module before scripting, or a function from texts to class scores as "
            "mase.models.Callable"
        )
    layers = dict(module.named_modules())
    if name is not None:
        if name not in layers:
            raise CapabilityError(
                f"the module has no layer {name!r}, expected one of: {', '.join(n for n in layers if n)}"
            )
        return name
    embeddings = [n for n, layer in layers.items() if isinstance(layer, nn.Embedding)]
    if len(embeddings) != 1:
        listed = ", ".join(embeddings) if embeddings else "none"
        raise CapabilityError(
            f"the module has {len(embeddings)} layers of torch.nn.Embedding ({listed}), expected one; pass "
            "embedding='name.of.layer' with a layer that returns a vector per token, or wrap the probabilities: "
            "mase.models.Callable(lambda texts: ..., labels=[...])"
        )
    return str(embeddings[0])


def entry_layer(module: nn.Module, enter: str) -> str:
    """Return the dotted name of the layer of a Hugging Face model to perturb: `enter`, "block" or "words"."""
    reads = getattr(module, "main_input_name", None)
    if reads in _NO_TEXTS:
        raise CapabilityError(
            f"{type(module).__name__} reads {reads}, expected a model that reads texts; images, videos and sounds are "
            "not explained"
        )
    if enter not in ("block", "words"):
        return find_embedding(module, enter)
    try:
        words = module.get_input_embeddings()  # type: ignore[operator]
    except NotImplementedError as error:
        raise CapabilityError(
            f"{type(module).__name__} has no table of word vectors (perhaps it reads characters), expected one to "
            "perturb; wrap the model in mase.models.Callable"
        ) from error
    names = {layer: name for name, layer in module.named_modules()}
    name: str = names[words]
    parent = name.rpartition(".")[0]
    mixing = getattr(module.config, "model_type", "") in _MIXING_BLOCKS
    is_block = parent.rpartition(".")[2] in ("embeddings", "embedding") and not mixing
    normed = f"{name}_layernorm"  # of Bloom: this layer would undo a scale of its input
    if enter == "block" and normed in names.values():
        return normed
    return parent if enter == "block" and is_block else name


# Lengths of the random inputs that show what the scores are; the first that the module accepts. They are fixed, because
# the result must not depend on which text comes first.
_LENGTHS = (8, 16, 32, 64, 128, 256)


class TorchModule(Reopened, Model):
    """A classifier from any `torch.nn.Module` that is called with ids `(b, t)` and returns class scores `(b, k)`.

    Parameters
    ----------
    module
        The module, for example an LSTM, GRU, CNN or transformer. It is never changed: its modes, gradients, hooks,
        dtype, device and random state are restored after each use.
    tokenize
        A `tokenizers.Tokenizer`, a fast tokenizer of transformers, or a function: `tokenize(text)` returns ids, or ids
        and character spans `(start, end)`, in which a special token has None or (0, 0). If it returns ids alone, there
        must be one id per whitespace word.
    labels
        Names of the k classes; "0", "1", ... by default.
    embedding
        Dotted name of the layer that turns ids into vectors `(b, t, d)`; found automatically if there is one
        `nn.Embedding`.
    pad_id, unk_id, mask_id
        Ids that can represent an absent word; by default those that the tokenizer has. Padding is never scored.
    special_ids
        Ids that are never scored and never cut off, for example those of start and end.
    max_length, keep
        Longest input in tokens, and which end of a longer text the model reads: "start" or "end"; by default the
        `model_max_length` and the `truncation_side` of a tokenizer of transformers.
    outputs, multilabel
        What the module returns: "logits", "probabilities", "values", or "auto" (see `mase.models.scores.recognise`).
        With `multilabel`, the k columns are separate questions. One column is the score of the second of two classes.
        If it is not a probability, pass `labels` (both names, or the name of the second class) or `outputs` to confirm
        that. Columns that are no class scores, such as those of a regression, are "values", which `labels` may name.
    name
        Name for provenance.
    """

    name: str
    has_embeddings = True

    def __init__(
        self,
        module: nn.Module,
        *,
        tokenize: Any,
        labels: Sequence[str] | None = None,
        embedding: str | None = None,
        pad_id: int | None = None,
        unk_id: int | None = None,
        mask_id: int | None = None,
        special_ids: Sequence[int] = (),
        max_length: int | None = None,
        keep: Side | None = None,
        outputs: Kind = "auto",
        multilabel: bool = False,
        name: str | None = None,
    ) -> None:
        if module is not (module := unwrapped(module)) and embedding is not None:
            embedding = embedding.removeprefix("_orig_mod.").removeprefix("module.")
        if not isinstance(module, nn.Module):
            raise OptionError(f"module is of type {type(module).__name__}, expected a torch.nn.Module")
        names = None if labels is None else check_labels(labels)
        check_length(max_length)
        if keep is not None:
            check_keep(keep)
        check_outputs(outputs, multilabel=multilabel)
        self._engine = Engine(module, find_embedding(module, embedding), module)
        self._labels = names
        self._tokenizer = tokenizing(tokenize, {"mask": mask_id, "unk": unk_id, "pad": pad_id}, special_ids)
        if max_length is None:
            max_length = own_limit(tokenize)
        self._max_length, self._keep = max_length, kept_end(keep, own_side(tokenize))
        self._outputs, self._multilabel = outputs, multilabel
        self.checksum = Checksum(module)
        self._known: Scores | None = None
        self.name = name or type(module).__name__

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
        engine = self._engine
        state = {name: value for name, value in self.__dict__.items() if name not in ("_engine", "checksum")}
        return Packed((engine.module, engine.embedding, state))

    def __setstate__(self, packed: Packed) -> None:
        module, embedding, state = packed.value
        self.__dict__.update(state)
        self._engine, self.checksum = Engine(module, embedding, module), Checksum(module)

    @property
    def references(self) -> tuple[str, ...]:
        """The references: those of "mask", "unk" and "pad" for which there is an id, and "zero"."""
        return (*self._tokenizer.roles, "zero")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes or values."""
        return score_labels(self._labels, self._scores)

    @property
    def description(self) -> Description:
        """What the module was taken for; the kind of its scores is a guess if `outputs` is "auto"."""
        kind, origin = self._scores.output.kind, "given" if self._labels else "the columns, numbered"
        guesses = [Guess(f"the scores are {kind}, by their values", f"pass outputs={kind!r}")]
        remedy = "pass labels=[...], one name per column"
        return of_module(self, "torch module", origin, remedy, *(guesses if self._outputs == "auto" else ()))

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self._scores.output

    @property
    def returns_values(self) -> bool:
        """Whether the columns are values instead of class scores."""
        return self._outputs == "values"

    @property
    def sha256(self) -> str:
        """Checksum of the module's parameters and buffers."""
        return self.checksum.value()

    def reads(self) -> dict[str, Any]:
        """Return the layer that is perturbed, the ids of the references and of what is fixed, and what fits."""
        roles = {role: self._tokenizer.roles.get(role) for role in ("mask", "unk", "pad")}
        fits = {"roles": roles, "max_length": self._max_length, "keep": self._keep}
        return {"embedding": self._engine.embedding, **read_by(self._tokenizer), **fits}

    @property
    def _scores(self) -> Scores:
        return self._recognised(_LENGTHS[0])

    def _recognised(self, length: int) -> Scores:
        """Return the kind of the module's scores, determined once from 32 inputs of random ids.

        They have the first length that the module accepts: a fixed one if possible, or else the given `length`.
        """
        if self._known is None:
            with untouched():  # or else the first text would get other random numbers than the same text later
                self._known = self._recognise_at(length)
        return self._known

    def _recognise_at(self, length: int) -> Scores:
        for fixed in _LENGTHS:
            with suppress(ModelError):
                return self._recognise(fixed)
        try:
            return self._recognise(length)
        except NonFiniteError:
            raise
        except ModelError as error:
            raise ModelError(
                f"{error}; a module is called with ids (b, t) alone and returns scores (b, k), put one of another form "
                "into a module whose forward(ids) calls it"
            ) from error

    def _recognise(self, length: int) -> Scores:
        size = self._engine.n_words(length) or 2
        own = self._tokenizer  # neither padding nor a special token occurs inside a text
        special = {*own.fixed_ids, 0, own.roles.get("pad")}
        usual = [token for token in range(size) if token not in special] or range(size)
        ids = self._engine.ids(np.random.default_rng(0).choice(np.array(usual), size=(32, length)))
        operation = self._engine.last_operation(ids[:2])
        raw = as_float64(self._engine.forward(ids))
        if self._outputs == "auto" and not np.isfinite(raw).all():
            raise NonFiniteError(
                "the module returns numbers that are not finite for random ids, so its scores cannot be recognised as "
                "logits or probabilities, expected finite numbers; pass outputs='logits' or outputs='probabilities'"
            )
        named = self._labels is not None
        scores = recognise(raw, self._outputs, multilabel=self._multilabel, last_operation=operation, named=named)
        score_labels(self._labels, scores)
        return scores

    def encode(self, text: Input) -> Tokens:
        """Return the tokens that the model reads; it is called with their ids alone.

        Raises
        ------
        EmptyTextError
            If there are only special tokens.
        ShapeError
            If a function returns ids without spans, and they are not one per whitespace word.
        """
        return replace(read(self._tokenizer, text, self.name, self._max_length, self._keep), types=None)

    def bind(self, binding: Binding) -> TorchProbe:
        """Return the probe of one text."""
        scores, roles = self._recognised(len(binding.tokens)), self._tokenizer.roles
        return bind(self._engine, scores, binding, roles.get(binding.space.reference or "zero"), (roles.get("pad"),))

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return class probabilities or values `(n, k)`; texts of equal length form a batch, without padding."""
        return self.predict_tokens([self.encode(text) for text in check_texts(texts, tuples=True)])

    def predict_tokens(self, tokens: Sequence[Tokens]) -> Floats:
        """Return class probabilities or values `(n, k)` of n sequences of tokens."""
        scores = self._recognised(max(map(len, tokens), default=_LENGTHS[0]))
        return predict_tokens(self._engine, scores, tokens)


def predict_tokens(engine: Engine, scores: Scores, tokens: Sequence[Tokens]) -> Floats:
    """Return class probabilities or values `(n, k)` of n sequences of tokens; see `token_scores`."""
    return predictions(token_scores(engine, scores, tokens), scores.output)


def _together(engine: Engine, ids: torch.Tensor) -> torch.Tensor:
    """Return the scores of a batch of ids, or of each row alone: BART and T5 want equally many end tokens in all."""
    try:
        return engine.forward(ids)
    except ModelError:
        if len(ids) == 1:
            raise
        return torch.cat([engine.forward(row[None]) for row in ids])


def token_scores(engine: Engine, scores: Scores, tokens: Sequence[Tokens], batch_size: int = 64) -> Floats:
    """Return the scores `(n, k)` of n sequences of tokens.

    A batch holds up to `batch_size` sequences of equal length, all with types or none, fewer if memory runs out.
    """
    result = np.empty((len(tokens), scores.n_classes))
    alike: dict[tuple[int, bool], list[int]] = {}
    for index, sequence in enumerate(tokens):
        alike.setdefault((len(sequence), sequence.types is None), []).append(index)

    def table(batch: Ints, _: Ints) -> torch.Tensor:
        rows = np.array([tokens[index].ids for index in batch], dtype=np.int64)
        engine.check_ids(rows)
        ids = engine.ids(rows)
        types = None if tokens[batch[0]].types is None else np.array([tokens[index].types for index in batch])
        return scores.table(_together(engine.typed(types), ids))

    for same in alike.values():
        indices: Ints = np.array(same)
        for rows, batch in in_batches(table, indices, batch_size):
            result[indices[rows]] = as_float64(batch)
    return result
