"""Model folders: three good ones, tiny, and the ways to damage a copy of them."""

import json
import os
import pickle
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Damage", "Place", "binary", "config", "nested", "save_bert", "save_lstm", "tensors", "written"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a case happens: the model's folder, a folder outside it, and the canary that no code may write."""

    folder: Path
    outside: Path
    canary: Path

    @property
    def evil(self) -> str:
        """Python code that writes the canary."""
        return f"import pathlib; pathlib.Path({os.fspath(self.canary)!r}).touch()\n"


Damage = Callable[[Place], None]


def save_bert(folder: Path) -> None:
    """Save a tiny BERT with its tokenizer, as Hugging Face does."""
    from tests.hostile.architectures import bert

    module, tokenizer = bert()
    module.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_lstm(folder: Path) -> None:
    """Save a tiny LSTM as `mase train` does."""
    import torch
    from safetensors.torch import save_file

    from mase.models.bundled.lstm import LSTMClassifier, LSTMShape

    torch.manual_seed(0)
    words = ["<pad>", "<unk>", "the", "film", "was", "good", "bad", "y"]
    folder.mkdir(parents=True)
    save_file(LSTMClassifier(LSTMShape(len(words), 2, 6, 5, "last")).state_dict(), folder / "model.safetensors")
    (folder / "vocabulary.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    described = {
        "name": "tiny", "labels": ["neg", "pos"], "max_length": 80, "keep": "end",
        "embedding_width": 6, "hidden_width": 5, "pool": "last",
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(described), encoding="utf-8")


def config(changes: Mapping[str, Any], *, file: str = "config.json", code: bool = False) -> Damage:
    """Return the damage that changes values in a JSON file; with `code`, the folder also gets malicious modules."""

    def damage(place: Place) -> None:
        path = place.folder / file
        found = json.loads(path.read_text(encoding="utf-8")) | dict(changes)
        path.write_text(json.dumps(found), encoding="utf-8")
        if code:
            for name in ("evil.py", "configuration_evil.py", "modeling_evil.py", "tokenization_evil.py", "__init__.py"):
                (place.folder / name).write_text(place.evil + _CLASSES, encoding="utf-8")

    return damage


_CLASSES = """
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast
class C(BertConfig): model_type = "evil"
class M(BertForSequenceClassification): config_class = C
class T(PreTrainedTokenizerFast): pass
"""


def without(*keys: str, file: str = "config.json") -> Damage:
    """Return the damage that takes keys out of a JSON file."""

    def damage(place: Place) -> None:
        path = place.folder / file
        found = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({key: value for key, value in found.items() if key not in keys}), encoding="utf-8")

    return damage


def written(file: str, content: str | bytes) -> Damage:
    """Return the damage that writes other content to a file."""

    def damage(place: Place) -> None:
        (place.folder / file).unlink(missing_ok=True)
        (place.folder / file).write_bytes(content.encode() if isinstance(content, str) else content)

    return damage


def removed(*files: str) -> Damage:
    """Return the damage that takes files away."""

    def damage(place: Place) -> None:
        for file in files:
            (place.folder / file).unlink(missing_ok=True)

    return damage


def cut(file: str, share: float) -> Damage:
    """Return the damage that leaves a share of a file."""

    def damage(place: Place) -> None:
        content = (place.folder / file).read_bytes()
        (place.folder / file).write_bytes(content[: int(share * len(content))])

    return damage


def linked(file: str, target: str | None = None) -> Damage:
    """Return the damage that makes a file a link to `target`; by default to its like outside the folder, cut short."""

    def damage(place: Place) -> None:
        path = place.folder / file
        if target is None:
            (place.outside / file).write_bytes(path.read_bytes()[:-10])
        path.unlink(missing_ok=True)
        path.symlink_to(place.outside / file if target is None else target)

    return damage


def special(file: str) -> Damage:
    """Return the damage that makes a file a pipe, which nobody writes to."""

    def damage(place: Place) -> None:
        (place.folder / file).unlink(missing_ok=True)
        os.mkfifo(place.folder / file)

    return damage


def all_of(*damages: Damage) -> Damage:
    """Return several damages as one."""

    def damage(place: Place) -> None:
        for one in damages:
            one(place)

    return damage


class _Evil:
    """An object that writes the canary when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> Any:
        return (os.mkdir, (os.fspath(self.canary),))


def pickled(file: str) -> Damage:
    """Return the damage that puts a pickle in the place of a file."""

    def damage(place: Place) -> None:
        (place.folder / file).unlink(missing_ok=True)
        (place.folder / file).write_bytes(pickle.dumps(_Evil(place.canary)))

    return damage


def binary(header: str | bytes, data: bytes = b"", length: int | None = None) -> bytes:
    """Return a safetensors file with this header; `length` is what it says of the header's length."""
    raw = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def tensors(change: Callable[[dict[str, Any]], None]) -> Damage:
    """Return the damage that changes the weights, a dictionary of tensors by name."""

    def damage(place: Place) -> None:
        from safetensors.torch import load_file, save_file

        path = place.folder / "model.safetensors"
        found = {name: tensor.clone() for name, tensor in load_file(path).items()}
        change(found)
        save_file(found, path, metadata={"format": "pt"})

    return damage


def header(change: Callable[[dict[str, Any]], None]) -> Damage:
    """Return the damage that changes what a safetensors file says of its tensors."""

    def damage(place: Place) -> None:
        path = place.folder / "model.safetensors"
        content = path.read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        described = json.loads(content[8 : 8 + length])
        change(described)
        path.write_bytes(binary(json.dumps(described), content[8 + length :]))

    return damage


def nested(depth: int, opening: str = '{"a":', closing: str = "}") -> str:
    """Return JSON that is nested so deeply."""
    return opening * depth + "1" + closing * depth
