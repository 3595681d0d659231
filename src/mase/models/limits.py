"""Limits on the files of a model folder. Files beyond a limit are refused before anything is built from them.

Each limit is well above the largest published model that we know of, so that no legitimate folder is refused. Each
limit is also low enough that reading a folder takes at most seconds, and some hundred megabytes besides the weights.
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
    "ONNX_BYTES",
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
# config.json, tokenizer_config.json and similar files. The largest known one, with 20,000 classes, has 2 MB.
JSON_BYTES = 8 << 20
VOCABULARY_BYTES = 64 << 20  # tokenizer.json, vocab.txt, tokenizer.model, ...: Gemma 3 has 33 MB
BYTES_OF_VALUE = 8  # a file may hold one value per 8 bytes of its size limit, because each value takes memory
DEPTH = 32  # nesting of objects and lists: the deepest known file has 8 levels
DIGITS = 40  # digits of an integer: transformers writes 10 ** 30 for "no limit"

# --- config.json ------------------------------------------------------------------------------------------------------
LAYERS = 1_000  # Llama 3.1 405B has 126
WIDTH = 1 << 20  # hidden or inner width of a layer: Llama 3.1 405B has 53,248
HEADS = 4_096  # Llama 3.1 405B has 128
VOCABULARY = 1 << 22  # XLM-V has 901,629 entries
POSITIONS = 1 << 24  # Llama 4 Scout has 10,485,760
LABELS = 100_000  # published classifiers, also for extreme classification, have fewer
COUNT = 1 << 24  # any other count: building the configuration may loop that many times

# --- weights ----------------------------------------------------------------------------------------------------------
HEADER_BYTES = 64 << 20  # header of a safetensors file: the headers of DeepSeek-V3 have 9 MB in total
TENSORS = 200_000  # tensors in all files together: DeepSeek-V3 has 91,991
DIMENSIONS = 16  # dimensions of a tensor: convolutions have 5
ONNX_BYTES = 2 << 30  # a file of ONNX: more does not fit into a message of Protocol Buffers
SHARDS = 2_000  # weight files of one model: Llama 3.1 405B has 191
# A model cannot have many more numbers than its files store: at most TIMES the stored numbers plus SPARE. The factor
# is for weights that are shared after building (mT5 builds its word vectors three times). The spare numbers are for
# attention masks and an untrained head.
NUMBERS_TIMES, NUMBERS_SPARE = 4, 1 << 24
MODULES_TIMES, MODULES_SPARE = 10, 2_000  # the same for modules: common models have one or two per stored tensor

# --- tokenizers -------------------------------------------------------------------------------------------------------
ADDED_TOKENS = 200_000  # speech models add 65,536
COMPONENTS = 100  # steps of a normalizer, pre-tokenizer, post-processor or decoder: DeepSeek has 4
PARTS = 1_000  # special tokens that are added around a text: 2 are common
STRING = 1_000  # characters of a prefix, a suffix or the unknown token
WORD_CHARACTERS = 1_000  # longest word that WordPiece splits, in cubic time: BERT has 100
GROWTH = 256  # output characters per input character: XLM-R's table gives up to 18, and the next step doubles them
TOKENS_TIMES, TOKENS_SPARE = 16, 64  # tokens per character, and tokens around a text: byte-level BPE has up to 4

# --- regular expressions of tokenizers --------------------------------------------------------------------------------
PATTERN_CHARACTERS = 10_000  # length of a pattern: the longest published ones have some hundred characters
PATTERN_NESTING = 16  # nesting of groups: published patterns have up to 3 levels
PATTERN_WAYS = 256  # ways to match at one position, not counting unbounded repeats: GPT-4o's pattern has about 40
PATTERN_REPEATS = 2  # consecutive unbounded repeats: matching time grows as the text length to this power
