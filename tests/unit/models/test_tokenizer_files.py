"""Tests of `mase.models.tokenizer_files`."""

import json
import struct

import pytest
import tokenizers
import transformers
from tests.model_folders import edit

from mase.errors import DataError
from mase.models import HuggingFace, limits, load

TEXT = "a good film"


def replacing(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def sequence(parts, name="normalizers"):
    return {"type": "Sequence", name: parts}


def nested(depth):
    inner = replacing({"String": "a"}, "aaaa")
    for _ in range(depth):
        inner = sequence([replacing({"String": "a"}, "aaaa"), inner])
    return inner


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def table(text):
    """A table of SentencePiece whose search tree finds nothing, and one text."""
    import base64

    tree = bytes(4 * 256)
    content = base64.b64encode(struct.pack("<I", len(tree)) + tree + text + b"\0").decode()
    return {"type": "Precompiled", "precompiled_charsmap": content}


BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}


PIECES = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]


def template(single, ids=(2,)):
    special = {"[CLS]": {"id": "[CLS]", "ids": list(ids), "tokens": ["[CLS]"] * len(ids)}}
    return {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": special}


BOMBS = {
    "replaces": {"normalizer": sequence([replacing({"String": "a"}, "aaaa")] * 40)},
    "replaces in each other": {"normalizer": nested(20)},
    "one replace": {"normalizer": replacing({"String": "a"}, "a" * 100_000)},
    "without a type": {"normalizer": {"normalizers": [{"pattern": {"String": "a"}, "content": "a" * 100_000}]}},
    "of a strange type": {"normalizer": {"type": "Strange", "pattern": {"String": "a"}, "content": "a" * 100_000}},
    "beside a list": {"normalizer": replacing({"String": "a"}, "a" * 100_000) | {"x": [{}]}},
    "empty pattern": {"normalizer": replacing({"Regex": ""}, "a" * 1_000)},
    "lookahead": {"normalizer": replacing({"Regex": "(?=a)"}, "a" * 1_000)},
    "prepend": {"normalizer": sequence([{"type": "Prepend", "prepend": "aaa"}, replacing({"String": "a"}, "a" * 100)])},
    "table": {"normalizer": table(b"a" * 10_000)},
    "table cut short": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "////"}},
    "table not base64": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "a"}},
    "bytes of bytes": {"pre_tokenizer": sequence([BYTES] * 30, "pretokenizers")},
    "many steps": {"normalizer": sequence([{"type": "Lowercase"}] * 1_000)},
    "unknown step": {"normalizer": {"type": "Explode"}},
    "chunks of nothing": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    "template": {"post_processor": template(PIECES[:1] * 10_000 + PIECES[1:])},
    "ids": {"post_processor": template(PIECES, range(100_000))},
    "text twice": {"post_processor": sequence([template(PIECES[1:] * 2)] * 40, "processors")},
    "text twice once": {"post_processor": template(PIECES[1:] * 2)},
    "added": {"added_tokens": [{"id": 9, "content": "x", "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": True, "special": False}] * 300_000},
    "model": {"model": {"type": "WordPiece", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]",
        "max_input_chars_per_word": 10**9}},
    "prefix": {"model": {"type": "WordPiece", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]",
        "max_input_chars_per_word": 100,
        "continuing_subword_prefix": "#" * 10**6}},
    "no model": {"model": None},
    "unknown model": {"model": {"type": "Oracle"}},
    "ids beyond": {"model": {"type": "WordPiece", "vocab": {"a": 2**63}, "unk_token": "a",
        "max_input_chars_per_word": 100}},
    "vocabulary": {"model": {"type": "Unigram", "vocab": "all", "unk_id": 0}},
}  # fmt: skip


PATTERNS = [
    "(a+)+b", "(a|a)*b", "(a?){50}b", "a?" * 30 + "a" * 30, ".*.*.*Z", ".*.*Z", "((a{1000}){1000}){1000}", "(a*)*",
    r"(a)\1",
    "(?=.*.*.*Z)", "(?:a|b|c|d)?" * 10, "(?<x>a)\\g<x>", "(a{0,200}){1,}", "(?:ab?)+c", "x" * 20_000,
    "(" * 500 + "a" + ")" * 500,
    "(", "[a", "a)", "*a", "\\", "(?x)a", r"\d{1,3}+x",
]  # fmt: skip


@pytest.mark.parametrize("changes", BOMBS.values(), ids=BOMBS)
@pytest.mark.slow
def test_tokenizers_that_explode_are_refused(changes, folder):
    edit(folder, "tokenizer_config.json", tokenizer_class="TokenizersBackend")  # which takes every step of the file
    edit(folder, "tokenizer.json", **changes)
    with pytest.raises(DataError, match="tokenizer"):
        load(folder)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("step", ["normalizer", "pre_tokenizer", "decoder"])
@pytest.mark.slow
def test_patterns_that_may_search_for_ever_are_refused(step, pattern, folder):
    edit(folder, "tokenizer_config.json", tokenizer_class="TokenizersBackend")
    edit(
        folder,
        "tokenizer.json",
        **{step: split(pattern) if step == "pre_tokenizer" else replacing({"Regex": pattern}, "")},
    )
    with pytest.raises(DataError, match="regular expression"):
        load(folder)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("tokenizer_config.json", {"model_max_length": "long"}),
        ("tokenizer_config.json", {"model_max_length": -1}),
        ("tokenizer_config.json", {"model_max_length": float("inf")}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"999999999999": {"content": "x"}}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"-1": {"content": "x"}}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {str(index): {"content": "x"} for index in range(1_001)}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"1": 5}}),
        ("tokenizer_config.json", {"extra_special_tokens": "x"}),
        ("tokenizer_config.json", {"padding_side": "up"}),
        ("tokenizer_config.json", {"pad_token": 5}),
        ("added_tokens.json", {str(index): index for index in range(1_001)}),
        ("special_tokens_map.json", {"additional_special_tokens": ["x"] * 1_001}),
    ],
)
def test_settings_of_tokenizers_that_make_no_sense_are_refused(file, changes, folder, monkeypatch):
    monkeypatch.setattr(limits, "ADDED_TOKENS", 1_000)
    edit(folder, file, **changes)
    with pytest.raises(DataError, match=r"token"):
        load(folder)


def test_a_name_twice_in_a_tokenizer_is_refused(folder):
    """Python takes the last, other parsers may take the first."""
    text = (folder / "tokenizer.json").read_text().rstrip()
    (folder / "tokenizer.json").write_text(text[:-1] + ', "normalizer": null}')
    with pytest.raises(DataError, match="twice"):
        load(folder)


def field(number, content):
    """One field of a message of Protocol Buffers."""
    length, digits = len(content), []
    while length > 127:
        digits, length = [*digits, length & 127 | 128], length >> 7
    return bytes([number << 3 | 2, *digits, length]) + content


def test_tables_of_sentencepiece_models_are_checked_too(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").unlink(missing_ok=True)
    edit(folder, "tokenizer_config.json", tokenizer_class="TokenizersBackend")
    map_of = struct.pack("<I", 1024) + bytes(1024)
    pieces = field(1, field(1, b"<unk>") + b"\x15\0\0\0\0\x18\x02")
    (folder / "tokenizer.model").write_bytes(
        pieces + field(3, field(1, b"nfkc") + field(2, map_of + b"a" * 10_000 + b"\0"))
    )
    with pytest.raises(DataError, match=r"tokenizer\.model may turn one character into 10,000"):
        load(folder)
    for content in (pieces + field(3, field(2, b"\xff" * 8)), b"\xff" * 100, b"", b"no message"):
        (folder / "tokenizer.model").write_bytes(content)
        with pytest.raises(DataError, match="token"):
            load(folder)


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


PUBLISHED = {
    "GPT-2": GPT2,
    "Llama 3": LLAMA3,
    "Qwen 2": LLAMA3.replace("{1,3}", ""),
    "GPT-4o": rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{ENDING}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{ENDING}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "DeepSeek": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "BLOOM": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "CLIP": r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    "digits from the right": r"\d{1,3}(?=(?:\d{3})*\b)",
    "ideographs": "[一-龥\u3040-ゟ゠-ヿ]+",
    "spaces": " {2,}",
    "molecules": r"(\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p"
    r"|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>|\*|\$|\%[0-9]{2}|[0-9])",
}


@pytest.mark.parametrize("pattern", PUBLISHED.values(), ids=PUBLISHED)
def test_published_patterns_are_read(pattern, folder):
    edit(folder, "tokenizer_config.json", tokenizer_class="TokenizersBackend")
    edit(folder, "tokenizer.json", pre_tokenizer=sequence([split(pattern), {"type": "Whitespace"}], "pretokenizers"))
    tokens = load(folder).encode("a good film, 12345 films!  \n 電影 It's")
    assert [tokens.text[start:end] for start, end in filter(None, tokens.spans)][:1] == ["a"]


def byte_level():
    letters = {
        character: index for index, character in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()), 4)
    }
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | letters
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    backend.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return backend


def llama():
    backend = byte_level()
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Split(tokenizers.Regex(LLAMA3), "isolated"),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    around = tokenizers.processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", special_tokens=[("<s>", 0)])
    backend.post_processor = tokenizers.processors.Sequence([tokenizers.processors.ByteLevel(), around])
    return backend


def unigram():
    """As of T5 and XLM-R: a table of normal forms whose longest has 18 characters, then spaces become marks."""
    pieces = [
        ("<s>", 0.0),
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", 0.0),
        ("▁a", -1.0),
        ("▁good", -1.0),
        ("▁film", -1.0),
    ]
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=3))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    backend.normalizer = tokenizers.normalizers.Replace(tokenizers.Regex(" {2,}"), " ")
    steps = json.loads(backend.to_str())
    longest = "صلى الله عليه وسلم".encode()
    steps["normalizer"] = sequence([table(b"\0".join([b"fi", longest])), steps["normalizer"]])
    return steps


def spaces():
    """As of Llama 2: a mark before the text and for each space, and bytes for what is unknown."""
    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2, "▁": 3, **{f"<0x{byte:02X}>": byte + 4 for byte in range(256)}}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [], byte_fallback=True, unk_token="<unk>"))
    normal = tokenizers.normalizers
    backend.normalizer = normal.Sequence([normal.Prepend("▁"), normal.Replace(" ", "▁")])
    backend.decoder = tokenizers.decoders.Sequence(
        [tokenizers.decoders.Replace("▁", " "), tokenizers.decoders.ByteFallback()]
    )
    return backend


def albert():
    steps = unigram()
    known = [
        replacing({"String": "``"}, '"'),
        replacing({"String": "''"}, '"'),
        {"type": "NFKD"},
        {"type": "StripAccents"},
    ]
    steps["normalizer"] = sequence([*known, {"type": "Lowercase"}, *steps["normalizer"]["normalizers"]])
    return steps


@pytest.mark.parametrize("making", [byte_level, llama, unigram, spaces, albert])
def test_the_common_kinds_of_tokenizers_are_read(making, folder):
    made = making()
    (folder / "tokenizer.json").write_text(json.dumps(made) if isinstance(made, dict) else made.to_str())
    (folder / "vocab.txt").unlink(missing_ok=True)
    roles = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "pad_token": ..., "mask_token": ...}
    edit(folder, "tokenizer_config.json", **roles, cls_token=..., sep_token=..., added_tokens_decoder=...)
    edit(folder, vocab_size=300)
    transformers.BertForSequenceClassification(transformers.AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    assert load(folder).encode(TEXT).text == TEXT


@pytest.mark.slow
def test_the_tokenizer_of_a_published_model_is_read(minilm, folder):
    minilm[0].save_pretrained(folder)
    minilm[1].save_pretrained(folder)
    assert load(folder).encode(TEXT).ids == HuggingFace(*minilm).encode(TEXT).ids
