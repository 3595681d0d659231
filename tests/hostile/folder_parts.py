"""Hostile tokenizers of Hugging Face folders, and hostile folders of the kind that `mase train` writes."""

import json
from collections.abc import Callable
from typing import Any

from tests.hostile.folders import (
    Damage,
    Place,
    all_of,
    config,
    cut,
    linked,
    nested,
    pickled,
    removed,
    special,
    tensors,
    written,
)

__all__ = ["LSTMS", "TOKENIZERS"]

_FILE, _CONFIG = "tokenizer.json", "tokenizer_config.json"


def _part(name: str, value: Any) -> Damage:
    return config({name: value}, file=_FILE)


def _grow(times: int) -> Any:
    step = {"type": "Replace", "pattern": {"String": "o"}, "content": "o" * 10}
    return {"type": "Sequence", "normalizers": [step] * times}


def _regex(pattern: str) -> Any:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": "x"}


def _split(pattern: str) -> Any:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _vocabulary(change: Callable[[dict[str, Any]], None]) -> Damage:
    def damage(place: Place) -> None:
        found = json.loads((place.folder / _FILE).read_text(encoding="utf-8"))
        change(found)
        (place.folder / _FILE).write_text(json.dumps(found), encoding="utf-8")

    return damage


def _shift(found: dict[str, Any]) -> None:
    found["model"]["vocab"] = {
        piece: number + 10**6 * (number > 4) for piece, number in found["model"]["vocab"].items()
    }


def _template(found: dict[str, Any]) -> None:
    found["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [10**9]


def _many_special(found: dict[str, Any]) -> None:
    step = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
    found["post_processor"]["single"] = [*[step] * 100_000, {"Sequence": {"id": "A", "type_id": 0}}]


def _types(found: dict[str, Any]) -> None:
    found["post_processor"]["single"] = [{"Sequence": {"id": "A", "type_id": 7}}]


def _added(content: str, number: int, **flags: bool) -> Any:
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"id": number, "content": content} | usual | flags


TOKENIZERS: dict[str, Damage] = {
    "none at all": removed(_FILE, _CONFIG, "special_tokens_map.json"),
    "only its settings": removed(_FILE),
    "empty": written(_FILE, ""),
    "no JSON": written(_FILE, "{"),
    "null": written(_FILE, "null"),
    "half of it": cut(_FILE, 0.5),
    "nested deeply": written(_FILE, nested(100_000)),
    "a pickle": pickled(_FILE),
    "an endless device": linked(_FILE, "/dev/zero"),
    "a pipe": special(_FILE),
    "link out of the folder, cut short": linked(_FILE),
    "grows tenfold, twelve times": _part("normalizer", _grow(12)),
    "grows tenfold, five times": _part("normalizer", _grow(5)),
    "prepends 10 MB": _part("normalizer", {"type": "Prepend", "prepend": "x" * 10**7}),
    "replaces nothing by something": _part(
        "normalizer", {"type": "Replace", "pattern": {"String": ""}, "content": "xx"}
    ),
    "catastrophic pattern": _part("normalizer", _regex("(y|o|o*)*$z")),
    "catastrophic split": _part("pre_tokenizer", _split("(o+)+$z|(.*)*x")),
    "pattern that is none": _part("normalizer", _regex("(((")),
    "unknown normalizer": _part("normalizer", {"type": "Evil"}),
    "unknown model": _part("model", {"type": "Evil", "vocab": {}}),
    "empty vocabulary": _vocabulary(lambda found: found["model"].update(vocab={})),
    "ids beyond the model": _vocabulary(_shift),
    "negative ids": _vocabulary(lambda found: found["model"]["vocab"].update(good=-1)),
    "ids of 2**32": _vocabulary(lambda found: found["model"]["vocab"].update(good=2**32)),
    "special tokens beyond the model": _vocabulary(_template),
    "100,000 special tokens around": _vocabulary(_many_special),
    "types of tokens beyond the model": _vocabulary(_types),
    "added token of no letters": _part("added_tokens", [_added("", 5)]),
    "added token beyond the model": _part("added_tokens", [_added("good", 10**6)]),
    "added token that takes the text": _part("added_tokens", [_added(" ", 5, lstrip=True, rstrip=True)]),
    "300,000 added tokens": _part("added_tokens", [_added(f"t{i}", 300 + i) for i in range(300_000)]),
    "pads to 10**9": _part(
        "padding",
        {
            "strategy": {"Fixed": 10**9},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
    ),
    "cuts to none": _part(
        "truncation", {"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 0}
    ),
    "class that needs another package": config({"tokenizer_class": "BertJapaneseTokenizer"}, file=_CONFIG),
    "class that is a path": config({"tokenizer_class": "os.system"}, file=_CONFIG),
    "class that is a number": config({"tokenizer_class": 5}, file=_CONFIG),
    "longest input is negative": config({"model_max_length": -5}, file=_CONFIG),
    "longest input is a word": config({"model_max_length": "long"}, file=_CONFIG),
    "longest input is 1": config({"model_max_length": 1}, file=_CONFIG),
    "settings nested deeply": written(_CONFIG, nested(100_000)),
    "settings are a list": written(_CONFIG, "[]"),
    "special token is an object": config({"mask_token": {"__type": "AddedToken", "content": 5}}, file=_CONFIG),
    "special token is not known": config({"mask_token": "[EVIL]", "pad_token": "[NONE]"}, file=_CONFIG),
    "files out of the folder": config(
        {"tokenizer_file": "../outside/tokenizer.json", "vocab_file": "/etc/passwd"}, file=_CONFIG
    ),
    "settings for another release": config(
        {"fast_tokenizer_files": ["tokenizer.4.0.0.json", "../../x.json"]}, file=_CONFIG
    ),
    "template is code": config({"chat_template": "{{ ''.__class__.__mro__[1].__subclasses__() }}"}, file=_CONFIG),
}

_VALUES: dict[str, tuple[Any, ...]] = {
    "hidden_width": (-1, 0, 10**12, 10**30, "5", True, None, 5.0),
    "embedding_width": (-1, 10**12, 7),
    "max_length": (0, -3, 10**30, True, None),
    "labels": (
        [],
        ["pos"],
        ["a", "a"],
        [1, 2],
        [None, {}],
        "ab",
        ["a", "b", "c"],
        ["x"] * 10**6,
        ["neg\x1b[31m", "<script>"],
    ),
    "pool": ("evil", ["last"], None),
    "keep": ("middle", 3, []),
    "name": (None, 5, ["a"], "\x1b[31mred", "x" * 10**6),
    "base": (
        "../outside",
        {},
        {"name": "../outside"},
        {"name": "../outside", "sha256": "0" * 64},
        {"name": 5, "sha256": None},
    ),
}
_WORDS = "<pad>\n<unk>\nthe\nfilm\nwas\ngood\nbad\ny\n"

LSTMS: dict[str, Damage] = {
    **{f"{key} is {value!r:.30}": config({key: value}) for key, values in _VALUES.items() for value in values},
    "config.json is nested deeply": written("config.json", nested(100_000)),
    "config.json is a list": written("config.json", "[]"),
    "config.json is not UTF-8": written("config.json", b'{"name": "\xff\xfe"}'),
    "config.json is an endless device": linked("config.json", "/dev/zero"),
    "config.json has 10,000 digits": written("config.json", '{"max_length": ' + "9" * 10_000 + "}"),
    "vocabulary is not UTF-8": written("vocabulary.txt", b"<pad>\n<unk>\n\xff\n"),
    "vocabulary is short": written("vocabulary.txt", "<pad>\n<unk>\nfilm\n"),
    "vocabulary is long": written("vocabulary.txt", "<pad>\n<unk>\n" + "\n".join(map(str, range(10**6)))),
    "vocabulary has words twice": written("vocabulary.txt", _WORDS.replace("bad", "good")),
    "vocabulary begins otherwise": written("vocabulary.txt", _WORDS.replace("<pad>", "<evil>")),
    "vocabulary has other line ends": written("vocabulary.txt", _WORDS.replace("the", "the\u2028x")),
    "vocabulary is an endless device": linked("vocabulary.txt", "/dev/zero"),
    "vocabulary is a pipe": special("vocabulary.txt"),
    "weights are a pickle": pickled("model.safetensors"),
    "weights are cut short": cut("model.safetensors", 0.7),
    "weights are not there": removed("model.safetensors"),
    "weights of another model": tensors(lambda found: found.update(extra=found["head.bias"].clone())),
    "weights are NaN": tensors(lambda found: found["head.bias"].fill_(float("nan"))),
    "weights are pickled beside": all_of(pickled("pytorch_model.bin"), removed("model.safetensors")),
    "checkpoint beside": pickled("checkpoint.pt"),
}
