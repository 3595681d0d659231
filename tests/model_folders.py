"""Model folders of the Hugging Face layout, and what may be wrong in them."""

import json
import os
import subprocess
import sys


def edit(folder, name="config.json", **changes):
    """Change keys of a JSON file of the folder; ... removes one."""
    path = folder / name
    content = json.loads(path.read_text()) if path.is_file() else {}
    merged = {key: value for key, value in (content | changes).items() if value is not ...}
    path.write_text(json.dumps(merged))
    return folder


CODE = """
import pathlib
import transformers

pathlib.Path({canary!r}).write_text("ran")


class C(transformers.BertConfig):
    model_type = "own"


class M(transformers.BertForSequenceClassification):
    config_class = C


class T(transformers.BertTokenizerFast):
    pass
"""


def with_code(folder, where):
    """Put code beside the model that leaves a canary, named in one of the places where transformers looks for it."""
    canary = folder.parent / "canary"
    (folder / "own.py").write_text(CODE.format(canary=str(canary)))
    whole = {"AutoConfig": "own.C", "AutoModelForSequenceClassification": "own.M"}
    config = {
        "config": {"auto_map": {"AutoConfig": "own.C"}, "model_type": "own"},
        "config of a known family": {"auto_map": {"AutoConfig": "own.C"}},
        "model": {"auto_map": whole, "model_type": "own"},
        "model alone": {"auto_map": {"AutoModelForSequenceClassification": "own.M"}},
        "another repository": {"auto_map": {"AutoConfig": "someone/else--own.C"}, "model_type": "own"},
        "part": {"text_config": {"auto_map": {"AutoConfig": "own.C"}, "model_type": "own"}},
        "family": {"model_type": "own"},
        "tokenizer's class": {"tokenizer_class": "T"},
    }
    tokenizer = {
        "tokenizer": {"auto_map": {"AutoTokenizer": ["own.T", "own.T"]}},
        "tokenizer, slow": {"auto_map": {"AutoTokenizer": ["own.T", None]}, "tokenizer_class": "T"},
        "tokenizer, old form": {"auto_map": ["own.T", "own.T"], "tokenizer_class": "T"},
        "class": {"tokenizer_class": "T"},
    }
    if where in config:
        edit(folder, **config[where])
        return canary, "config.json"
    edit(folder, "tokenizer_config.json", **tokenizer[where])
    return canary, "tokenizer_config.json"


def command(*arguments, given="", **environment):
    """Run the command in a process of its own, as a user does."""
    return python("-m", "mase", *arguments, given=given, **environment)


def python(*arguments, given="", **environment):
    """Run Python with these arguments."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)], input=given, capture_output=True, text=True, check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"} | environment, timeout=600,
    )  # fmt: skip


DEEP = "[" * 100_000 + "]" * 100_000


LESS_DEEP = '{"a":' * 40 + "1" + "}" * 40


CONTENTS = {
    "empty": b"", "cut": b'{"model_type": "bert"', "list": b"[]", "null": b"null", "deep": DEEP.encode(),
    "less deep": LESS_DEEP.encode(), "not UTF-8": b'{"model_type": "\xff"}', "NaN": b'{"model_type": "bert", "x": NaN}',
    "-Infinity": b'{"x": -Infinity}', "overflow": b'{"x": 1e999}', "digits": b'{"x": ' + b"9" * 5_000 + b"}",
    "many values": b"[" + b"0," * 4_000_000 + b"0]", "UTF-16": '{"a": 1}'.encode("utf-16"), "NUL": b"\0" * 100,
}  # fmt: skip
