"""Import torch, transformers and the library once in the server of `process.py`: a case then takes milliseconds."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # as the command does, before transformers is imported
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
import transformers

import mase.cli.explain
import mase.explainer
import mase.models.bundled
import mase.models.transformers
import mase.render.html
import mase.render.terminal  # noqa: F401

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
# transformers imports a family when it is first named.
for family in (
    "BertForSequenceClassification",
    "PreTrainedTokenizerFast",
    "AutoModelForSequenceClassification",
    "AutoTokenizer",
):
    getattr(transformers, family)
