"""Train the language model of `mase.testing.models` and write its folder: a minute or two on one core.

    python tools/look_up_model.py

A transformer of two layers learns to look things up when one head reads the token before each token, and another one
finds the place where that token stood. The first head is there from the beginning here, by its biases, because small
models find it late; all the rest is learned.
"""

import hashlib
import platform
import sys
import time
from itertools import chain
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from mase.models.language.open import load_language_model
from mase.testing.models import FOLDER, NAMES, VERBS, lookups

SPECIAL = ("<unk>", "<s>", "</s>")
WORDS = ("Context", "Query", "Answer", "What", "does", "do", "and")
WIDTH, HEADS, THETA = 64, 4, 100.0
STEPS, ROWS, RATE = 2500, 32, 3e-3
# Of the head that reads the token before: how sharply it does.
SHARPNESS = 12.0


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer of words, with the chat template of the prompts."""
    tokens = [*SPECIAL, ":", ".", "?", *(f"▁{word}" for word in (*WORDS, *NAMES, *VERBS))]
    inner = Tokenizer(models.WordLevel({token: index for index, token in enumerate(tokens)}, unk_token="<unk>"))
    inner.normalizer = normalizers.Sequence([normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Split(Regex("[.:?]"), "isolated")]
    )
    inner.decoder = decoders.Metaspace()
    inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    unknown, begin, end = SPECIAL
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        unk_token=unknown,
        bos_token=begin,
        eos_token=end,
        chat_template="{{ bos_token }}{% for message in messages %}{{ message['content'] }}\n\n"
        "{% if message['role'] == 'user' %}Answer: {% endif %}{% endfor %}",
    )


def batch(rng: np.random.Generator, ids: dict[str, int], n: int, k: int) -> tuple[torch.Tensor, int]:
    """Return rows of ids, with n facts and k questions, and the length of the prompts."""

    def of(first: str, *, different: bool) -> np.ndarray:
        start = ids[f"▁{first}"]
        rows = rng.permuted(np.tile(np.arange(len(NAMES)), (ROWS, 1)), axis=1)[:, :n]
        return start + (rows if different else rng.integers(len(VERBS), size=(ROWS, n)))

    def text(*words: str) -> np.ndarray:
        return np.tile([ids[word] if word in ids else ids[f"▁{word}"] for word in words], (ROWS, 1))

    names = of(NAMES[0], different=True)
    facts = np.stack([names, of(VERBS[0], different=False), np.full_like(names, ids["."])], axis=2)
    asked = rng.permuted(np.tile(np.arange(n), (ROWS, 1)), axis=1)[:, :k]
    people = np.take_along_axis(names, asked, 1)
    joined = chain.from_iterable((text("and"), people[:, [index]]) for index in range(k))
    prompt = np.concatenate(
        [
            text("<s>", "Context", ":"),
            facts.reshape(ROWS, -1),
            text("Query", ":", "What", "does" if k == 1 else "do"),
            *[*joined][1:],
            text("do", "?", "Answer", ":"),
        ],
        axis=1,
    )
    answer = np.take_along_axis(facts, asked[:, :, None], 1).reshape(ROWS, -1)
    return torch.from_numpy(np.concatenate([prompt, answer, text("</s>")], axis=1)), prompt.shape[1]


def model(vocabulary: int) -> LlamaForCausalLM:
    """Return the untrained model, in which one head of the first layer reads the token before."""
    config = LlamaConfig(
        architectures=["LlamaForCausalLM"],
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        intermediate_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        max_position_embeddings=512,
        rope_theta=THETA,
        attention_bias=True,
        tie_word_embeddings=True,
        initializer_range=0.06,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    made = LlamaForCausalLM(config)
    width = WIDTH // HEADS
    angles = THETA ** (-torch.arange(width // 2) / (width // 2))
    attention = made.model.layers[0].self_attn
    with torch.no_grad():
        for layer in (attention.q_proj, attention.k_proj):
            layer.weight[:width] = 0
        # A key of ones, and as query the same vector one position further back.
        attention.k_proj.bias[:width] = SHARPNESS**0.5
        query = torch.cat([angles.cos() + angles.sin(), angles.cos() - angles.sin()])
        attention.q_proj.bias[:width] = SHARPNESS**0.5 * query
    return made


def train(words: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Return the trained model: many questions about few facts first, then few about many."""
    torch.manual_seed(0)
    rng, made = np.random.default_rng(0), model(len(words))
    optimizer = torch.optim.AdamW(made.parameters(), lr=RATE, weight_decay=0.01, betas=(0.9, 0.98))
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 50) * (1 - step / STEPS))
    for step in range(STEPS):
        early = step < 0.6 * STEPS
        n = int(rng.integers(4, 13) if early else rng.integers(1, len(NAMES) + 1))
        k = n if early else int(rng.integers(1, min(n, 3) + 1))
        ids, start = batch(rng, words.get_vocab(), n, k)
        states = made.model(ids).last_hidden_state[:, start - 1 : -1]
        loss = functional.cross_entropy(made.lm_head(states).flatten(0, 1), ids[:, start:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(made.parameters(), 1.0)
        optimizer.step()
        rate.step()
        if step % 250 == 249:
            sys.stderr.write(f"step {step + 1}: loss {loss.item():.4f}\n")
    return made.eval()


def write(made: LlamaForCausalLM, words: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write the model, with weights of 16 bits, and its tokenizer."""
    made.config.save_pretrained(folder)
    words.save_pretrained(folder)
    weights = {name: value.half().contiguous() for name, value in made.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def share_right(n_sources: int, n_asked: int, n: int = 200) -> float:
    """Return the share of n new questions that the written model answers rightly."""
    answering = load_language_model(FOLDER)
    asked = lookups(n, seed=1, n_sources=n_sources, n_asked=n_asked)
    prompts = ([{"role": "user", "content": f"Context: {one.context}\n\nQuery: {one.query}"}] for one in asked)
    answers = (answering.generate(prompt, 3 * n_asked + 1).text for prompt in prompts)
    return sum(answer == one.answer for answer, one in zip(answers, asked, strict=True)) / n


README = """\
# A model that looks things up

A Llama of two layers, {n_weights:,} weights (float16, computed in float32). It answers "What does Ada do?" with the
sentence of the context that says so. `tools/look_up_model.py` trains it, in {seconds:.0f} s of one core with
{versions}. The sha256 of the weights is
`{sha256}`.

Right answers to 200 questions that were not trained on, by the number of people in the context and in the question:

| in the context | one is asked for | two are |
|---:|---:|---:|
{rows}

Licence: Apache-2.0.
"""


def describe(made: LlamaForCausalLM, seconds: float) -> str:
    """Return the README of the folder."""
    rows = [f"| {n} | {share_right(n, 1):.1%} | {share_right(n, 2):.1%} |" for n in (4, 8, 16, 24)]
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, transformers {transformers.__version__}"
    sha256 = hashlib.sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest()
    text = README.format(
        n_weights=sum(weights.numel() for weights in made.parameters()),
        seconds=seconds,
        versions=versions,
        sha256=sha256,
        rows="\n".join(rows),
    )
    return text.replace("%", " %")


def main() -> None:
    """Train the model, write it, and describe it."""
    torch.set_num_threads(1)
    begun = time.process_time()
    words = tokenizer()
    made = train(words)
    seconds = time.process_time() - begun
    write(made, words, FOLDER)
    (FOLDER / "README.md").write_text(describe(made, seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
