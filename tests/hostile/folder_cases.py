"""Hostile Hugging Face folders: code, configurations and weights. `CODE` must be refused, by whatever way it comes."""

import json
from typing import Any

from tests.hostile.folders import (
    Damage,
    Place,
    all_of,
    binary,
    config,
    cut,
    header,
    linked,
    nested,
    pickled,
    removed,
    special,
    tensors,
    without,
    written,
)

__all__ = ["CODE", "CONFIGURATIONS", "WEIGHTS"]

_TOKENIZER = "tokenizer_config.json"
_MODEL_MAP = {"AutoConfig": "evil.C", "AutoModelForSequenceClassification": "evil.M"}
_INDEX = "model.safetensors.index.json"


def _code(changes: dict[str, Any], file: str = "config.json") -> Damage:
    return config(changes, file=file, code=True)


CODE: dict[str, Damage] = {
    "configuration is code": _code({"auto_map": {"AutoConfig": "evil.C"}, "model_type": "evil"}),
    "configuration of a known type is code": _code({"auto_map": {"AutoConfig": "evil.C"}}),
    "model is code": _code({"auto_map": _MODEL_MAP, "model_type": "evil"}),
    "model of a known type is code": _code({"auto_map": {"AutoModelForSequenceClassification": "evil.M"}}),
    "code of another repository": _code({"auto_map": {"AutoConfig": "evil/evil--evil.C"}, "model_type": "evil"}),
    "code by path": _code({"auto_map": {"AutoConfig": "../outside/evil.C"}, "model_type": "evil"}),
    "code without a model type": all_of(_code({"auto_map": _MODEL_MAP}), without("model_type")),
    "map is a list": _code({"auto_map": ["evil.C", "evil.M"], "model_type": "evil"}),
    "map is a string": _code({"auto_map": "evil.C", "model_type": "evil"}),
    "says itself that it is trusted": _code({"auto_map": _MODEL_MAP, "model_type": "evil", "trust_remote_code": True}),
    "tokenizer is code": _code(
        {"auto_map": {"AutoTokenizer": ["evil.T", "evil.T"]}, "tokenizer_class": "T"}, _TOKENIZER
    ),
    "tokenizer of the configuration is code": _code({"auto_map": {"AutoTokenizer": ["evil.T", "evil.T"]}}),
    "custom pipeline": _code({"custom_pipelines": {"x": {"impl": "evil.P", "pt": ["M"]}}, "auto_map": _MODEL_MAP}),
    "pickled weights": all_of(pickled("pytorch_model.bin"), removed("model.safetensors")),
    "pickle under the name of safetensors": pickled("model.safetensors"),
    "pickled weights of another kind": all_of(pickled("model.pt"), pickled("model.pkl"), removed("model.safetensors")),
    "pickled weights in parts": all_of(
        pickled("pytorch_model-00001-of-00001.bin"),
        written(
            "pytorch_model.bin.index.json",
            json.dumps({"metadata": {}, "weight_map": {"a": "pytorch_model-00001-of-00001.bin"}}),
        ),
        removed("model.safetensors"),
    ),
    "index that names a pickle": all_of(
        pickled("pytorch_model.bin"),
        removed("model.safetensors"),
        written(_INDEX, json.dumps({"metadata": {}, "weight_map": {"classifier.weight": "pytorch_model.bin"}})),
    ),
}

_HUGE = 10**12
# Values of keys of config.json; a number of layers is built one by one, a width takes memory.
_VALUES: dict[str, tuple[Any, ...]] = {
    "num_hidden_layers": (10**7, 10**15, -1, "many", None, [], 1e308, True),
    "hidden_size": (_HUGE, 0, -16, 7, "x", 2**63),
    "num_attention_heads": (0, -2, 10**9, "two", 3),
    "intermediate_size": (_HUGE, -1),
    "vocab_size": (_HUGE, 0, -1, 5),
    "max_position_embeddings": (_HUGE, 0, 2),
    "type_vocab_size": (_HUGE, 0),
    "id2label": ({}, ["a", "b"], {"x": "a"}, {"0": None}, {str(i): str(i) for i in range(10**5 + 1)}),
    "num_labels": (-1, _HUGE, "x"),
    "hidden_act": ("evil", 3, "os.system"),
    "problem_type": ("regression", "evil"),
    "dtype": ("evil", "object", "int8"),
    "architectures": (["evil"], "evil", [None]),
    "model_type": ("evil", "../bert", 5, None, "t5", "x" * 10**5),
    "attn_implementation": ("evil/kernel", "evil/kernel:forward"),
    "_attn_implementation": ("evil/kernel", "eager\n"),
    "quantization_config": ({"quant_method": "evil"}, {"quant_method": "bitsandbytes", "load_in_8bit": True}),
    "pad_token_id": (-5, 10**9, "x"),
    "initializer_range": ("x", -1),
}
_FILES: dict[str, str | bytes] = {
    "is empty": "",
    "is null": "null",
    "is a list": "[]",
    "is a string": '"config"',
    "is no JSON": "{",
    "is binary": bytes(range(256)),
    "is UTF-16": '{"model_type": "bert"}'.encode("utf-16"),
    "is nested 100,000 deep": nested(100_000),
    "is a list nested 100,000 deep": nested(100_000, "[", "]"),
    "has a value nested deeply": '{"model_type":"bert","x":' + nested(5000) + "}",
    "has a number of 10,000 digits": '{"model_type":"bert","hidden_size":' + "9" * 10_000 + "}",
    "has NaN": '{"model_type":"bert","layer_norm_eps":NaN,"hidden_size":NaN}',
    "has a key twice": '{"model_type":"bert","model_type":"evil","hidden_size":16,"hidden_size":1000000000000}',
    "is 20 MB of spaces": " " * 20_000_000 + "{}",
}

CONFIGURATIONS: dict[str, Damage] = {
    **{f"{key} is {value!r:.30}": config({key: value}) for key, values in _VALUES.items() for value in values},
    **{f"config.json {what}": written("config.json", content) for what, content in _FILES.items()},
    "no config.json": removed("config.json"),
    "config.json is an endless device": linked("config.json", "/dev/zero"),
    "config.json is a pipe": special("config.json"),
    "config.json links to itself": linked("config.json", "config.json"),
    "adapter of another model": written(
        "adapter_config.json", '{"base_model_name_or_path": "../outside", "peft_type": "LORA"}'
    ),
    "generation settings are broken": written("generation_config.json", "{"),
}


def _outside(place: Place) -> None:
    (place.outside / "secret.safetensors").write_bytes((place.folder / "model.safetensors").read_bytes())
    (place.folder / "model.safetensors").unlink()
    names = {"classifier.weight": "../outside/secret.safetensors", "classifier.bias": "../outside/secret.safetensors"}
    (place.folder / _INDEX).write_text(json.dumps({"metadata": {}, "weight_map": names}), encoding="utf-8")


def _index(content: str) -> Damage:
    return all_of(removed("model.safetensors"), written(_INDEX, content))


def _reshape(described: dict[str, Any]) -> None:
    described["classifier.bias"]["shape"] = [2**40, 2**40]


def _overlap(described: dict[str, Any]) -> None:
    described["classifier.bias"]["data_offsets"] = [0, 12]


def _beyond(described: dict[str, Any]) -> None:
    described["classifier.bias"]["data_offsets"] = [2**62, 2**62 + 12]


def _unknown_type(described: dict[str, Any]) -> None:
    described["classifier.bias"]["dtype"] = "EVIL"


WEIGHTS: dict[str, Damage] = {
    "no weights": removed("model.safetensors"),
    "empty": written("model.safetensors", b""),
    "half of it": cut("model.safetensors", 0.5),
    "all but a little": cut("model.safetensors", 0.999),
    "header of 2**64 bytes": written("model.safetensors", b"\xff" * 64),
    "header of 2**40 bytes": written("model.safetensors", binary("{}", length=2**40)),
    "header of no JSON": written("model.safetensors", binary("{" * 100)),
    "header nested deeply": written("model.safetensors", binary(nested(50_000))),
    "header without tensors": written("model.safetensors", binary("{}")),
    "shape of 2**80 numbers": header(_reshape),
    "tensors that overlap": header(_overlap),
    "tensor beyond the file": header(_beyond),
    "unknown type": header(_unknown_type),
    "a tensor is missing": tensors(lambda found: found.pop("classifier.weight")),
    "a tensor has another shape": tensors(
        lambda found: found.update({"classifier.bias": found["classifier.bias"][:1]})
    ),
    "weights are NaN": tensors(lambda found: found["classifier.bias"].fill_(float("nan"))),
    "weights are infinite": tensors(lambda found: found["bert.embeddings.word_embeddings.weight"].fill_(float("inf"))),
    "weights are 1e38": tensors(lambda found: found["bert.embeddings.word_embeddings.weight"].fill_(1e38)),
    "link out of the folder": linked("model.safetensors"),
    "link to an endless device": linked("model.safetensors", "/dev/zero"),
    "link to itself": linked("model.safetensors", "model.safetensors"),
    "link to nothing": linked("model.safetensors", "nowhere"),
    "a pipe": special("model.safetensors"),
    "a folder": all_of(removed("model.safetensors"), lambda place: (place.folder / "model.safetensors").mkdir()),
    "index out of the folder": _outside,
    "index to nothing": _index('{"metadata": {}, "weight_map": {"classifier.weight": "nowhere.safetensors"}}'),
    "index of no map": _index('{"metadata": {}, "weight_map": ["a"]}'),
    "index without a map": _index("{}"),
    "index of numbers": _index('{"metadata": {}, "weight_map": {"classifier.weight": 5}}'),
    "index nested deeply": _index(nested(100_000)),
    "index to a device": _index('{"metadata": {}, "weight_map": {"classifier.weight": "/dev/zero"}}'),
}
