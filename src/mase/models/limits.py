"""What a model folder may ask for. Files within these limits are read; others are refused before anything is built.

Each limit lies well above the largest model that we know of, so that a legitimate folder never meets one, and low
enough that reading what it admits takes seconds and some hundred megabytes beside the weights.
"""

__all__ = [
    "ADDED_TOKENS",
    "BYTES_OF_VALUE",
    "COMPONENTS",
    "COUNT",
    "DEPTH",
    "DIGITS",
    "DIMENSIONS",
    "GROWTH",
    "HEADER_BYTES",
    "HEADS",
    "JSON_BYTES",
    "LABELS",
    "LAYERS",
    "MODULES_SPARE",
    "MODULES_TIMES",
    "NUMBERS_SPARE",
    "NUMBERS_TIMES",
    "PARTS",
    "PATTERN_CHARACTERS",
    "PATTERN_NESTING",
    "PATTERN_REPEATS",
    "PATTERN_WAYS",
    "POSITIONS",
    "SHARDS",
    "STRING",
    "TENSORS",
    "TOKENS_SPARE",
    "TOKENS_TIMES",
    "VOCABULARY",
    "VOCABULARY_BYTES",
    "WIDTH",
    "WORD_CHARACTERS",
]

# --- files in JSON ----------------------------------------------------------------------------------------------------
JSON_BYTES = (
    8 << 20
)  # config.json, tokenizer_config.json and their like: the largest known, of 20,000 classes, has 2 MB
VOCABULARY_BYTES = 64 << 20  # tokenizer.json, vocab.txt, tokenizer.model, ...: Gemma 3 has 33 MB
BYTES_OF_VALUE = 8  # a file may have as many values as its largest size holds of these: each takes memory of its own
DEPTH = 32  # objects and lists within each other: the deepest known has 8
DIGITS = 40  # of a whole number: transformers writes 10 ** 30 for "no limit"

# --- config.json ------------------------------------------------------------------------------------------------------
LAYERS = 1_000  # Llama 3.1 405B has 126
WIDTH = 1 << 20  # of a layer, hidden or inner: 405B has 53,248
HEADS = 4_096  # 405B has 128
VOCABULARY = 1 << 22  # XLM-V has 901,629 entries
POSITIONS = 1 << 24  # Llama 4 Scout has 10,485,760
LABELS = 100_000  # extreme classification stops below
COUNT = 1 << 24  # any other number of things, which a configuration may count up to while it is built

# --- weights ----------------------------------------------------------------------------------------------------------
HEADER_BYTES = 64 << 20  # all that describes the tensors of a safetensors file: DeepSeek-V3 has 9 MB in all its files
TENSORS = 200_000  # in all files together: DeepSeek-V3 has 91,991
DIMENSIONS = 16  # of a tensor: convolutions have 5
SHARDS = 2_000  # files of one model: 405B has 191
# Weights that are not in the file cannot be loaded, so a model may have this many times the numbers that are stored
# (mT5 builds its word vectors three times before it shares them) and so many more (masks, the head that a training
# starts with).
NUMBERS_TIMES, NUMBERS_SPARE = 4, 1 << 24
MODULES_TIMES, MODULES_SPARE = 10, 2_000  # likewise modules: common models have one or two for each stored tensor

# --- tokenizers -------------------------------------------------------------------------------------------------------
ADDED_TOKENS = 200_000  # speech models add 65,536
COMPONENTS = 100  # steps of a normalizer, pre-tokenizer, post-processor or decoder: DeepSeek has 4
PARTS = 1_000  # special tokens that are put around a text: common are 2
STRING = 1_000  # characters of a prefix, suffix or unknown token
WORD_CHARACTERS = 1_000  # longest word that WordPiece looks up, in cubic time: BERT has 100
GROWTH = 256  # characters that the pipeline may make of one: XLM-R's table makes up to 18, and what follows doubles it
TOKENS_TIMES, TOKENS_SPARE = 16, 64  # tokens of a text per character, and those around it: byte level has up to 4

# --- regular expressions of tokenizers --------------------------------------------------------------------------------
PATTERN_CHARACTERS = 10_000  # the longest published ones list characters and have some hundreds
PATTERN_NESTING = 16  # groups within each other: published ones have 3
PATTERN_WAYS = 256  # in which a pattern may match at one place, unbounded repeats aside: GPT-4o's has about 40
PATTERN_REPEATS = 2  # unbounded repeats in a row: time grows with the length of the text to this power
