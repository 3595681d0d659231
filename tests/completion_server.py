"""A small real completion server for tests: a tiny random model of transformers behind the routes of several servers.

Each function returns the routes of one kind of server, for `tests.servers.served`: vLLM, llama.cpp, a host that knows
only `echo`, and llama-cpp-python. `shifted` makes any of them lie as llama-cpp-python does.
"""

import re
from functools import cache

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tests.servers import Refused

CORPUS = [
    "The capital of France is Paris. One, two, three, four, five, six, seven, eight.",
    "Question: where is Paris? Answer: Paris is in France. Café, naïve, déjà vu.",
    "The kitchen is clean and the garden is large. Who lives in Paris?",
]
CHAT = (
    "{% for message in messages %}<|turn|>{{ message['role'] }}\n{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)


class Engine:
    """A language model and its tokenizer, and what servers compute with them."""

    name = "tiny"

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer, self.known = model, tokenizer, {}

    def ids(self, text, special=True):
        return self.tokenizer(text, add_special_tokens=special)["input_ids"]

    def text(self, ids):
        return self.tokenizer.decode(ids, clean_up_tokenization_spaces=False)

    def chat(self, messages):
        return self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)

    def log_probabilities(self, ids):
        """Return those of all tokens of the vocabulary `(t, v)` after each of t tokens."""
        if (key := tuple(ids)) not in self.known:
            with torch.inference_mode():
                self.known[key] = torch.log_softmax(self.model(torch.tensor([ids])).logits[0].double(), dim=-1)
        return self.known[key]

    def scores(self, ids):
        """Return the log-probability of each token after those before it; None for the first."""
        table = self.log_probabilities(ids)
        return [None, *table[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()] if ids else []

    def generated(self, ids, n, allowed=None):
        """Return the ids and log-probabilities of n greedy tokens, up to the one that ends the text.

        `allowed` has the only token that may follow, for each of the n.
        """
        ids, scores = list(ids), []
        for step in range(n):
            last = self.log_probabilities(ids)[-1]
            token = int(last.argmax()) if allowed is None else allowed[step]
            ids.append(token)
            scores.append(float(last[token]))
            if token == self.tokenizer.eos_token_id:
                break
        return ids[len(ids) - len(scores) :], scores

    def shown(self, ids):
        """Return the text of generated ids, without the token that ends it."""
        return self.text(ids[:-1] if ids and ids[-1] == self.tokenizer.eos_token_id else ids)


@cache
def engine(bos=False):
    """Return a model with few, distinct log-probabilities, and a tokenizer that puts a first token before texts."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<|turn|>", "<|end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=330, special_tokens=special, initial_alphabet=alphabet)
    )
    if bos:
        raw.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", eos_token="</s>", chat_template=CHAT)
    torch.manual_seed(3)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), initializer_range=0.7, **shape)).eval()
    model.lm_head = torch.nn.Linear(16, len(tokenizer))
    torch.nn.init.normal_(model.lm_head.weight, std=0.7)
    torch.nn.init.constant_(model.lm_head.bias, 0.0)
    odd = [token for token in range(len(tokenizer)) if not tokenizer.decode([token]).strip(" .,").isalpha()]
    model.lm_head.bias.data[odd] = -20.0  # it writes letters, as models do that were trained
    return Engine(model, tokenizer)


def completion(choices):
    for index, choice in enumerate(choices):
        choice["index"] = index
    return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": Engine.name, "choices": choices}


def legacy(engine, ids, scores, first=0):
    """Return the object `logprobs` of OpenAI; offsets begin at `first`."""
    tokens = [engine.text([one]) for one in ids]
    offsets = [first + len(engine.text(ids[:end]).rstrip("\ufffd")) for end in range(len(ids))]
    tops = [None if score is None else {token: score} for token, score in zip(tokens, scores, strict=True)]
    return {"tokens": tokens, "token_logprobs": scores, "text_offset": offsets, "top_logprobs": tops}


def prompts_of(prompt):
    """Return the prompts of a request: one or several, each a text or ids."""
    return [prompt] if isinstance(prompt, str) or isinstance(prompt[0], int) else prompt


def listing(body):
    return {"object": "list", "data": [{"id": Engine.name, "object": "model"}]}


def vllm(engine, *, token_ids=True):
    """The routes of vLLM; `token_ids` is whether it knows `return_token_ids`, as it does since 0.10.2."""

    def entry(token, score):
        top = {str(token + 1): {"logprob": -0.01, "rank": 1, "decoded_token": "x"}}
        return top | {str(token): {"logprob": score, "rank": 2, "decoded_token": engine.text([token])}}

    def choice(body, prompt):
        held = echoing(engine, body, prompt)
        ids, new = held.pop("ids")
        held["prompt_logprobs"] = None
        if "prompt_logprobs" in body:
            held["prompt_logprobs"] = [None, *map(entry, ids[1:], engine.scores(ids)[1:])]
        if body.get("return_token_ids") and token_ids:
            held |= {"token_ids": new, "prompt_token_ids": ids}
        return held

    def tokenize(body):
        text = engine.chat(body["messages"]) if "messages" in body else body["prompt"]
        ids = engine.ids(text, body.get("add_special_tokens", "prompt" in body))
        return {"count": len(ids), "max_model_len": 2048, "tokens": ids, "token_strs": None}

    return {
        "GET /v1/models": listing,
        "POST /v1/completions": lambda body: completion([choice(body, one) for one in prompts_of(body["prompt"])]),
        "POST /tokenize": tokenize,
        "POST /detokenize": lambda body: {"prompt": engine.text(body["tokens"])},
    }


def echoing(engine, body, prompt):
    """Return a choice with the legacy `logprobs`, and the ids of prompt and generated text beside it."""
    ids = engine.ids(prompt) if isinstance(prompt, str) else prompt
    new, scores = engine.generated(ids, body["max_tokens"])
    ended = new[-1:] == [engine.tokenizer.eos_token_id]
    held = {"text": engine.shown(new), "finish_reason": "stop" if ended else "length", "logprobs": None}
    if body.get("echo"):
        held["text"] = (prompt if isinstance(prompt, str) else engine.text(ids)) + held["text"]
        held["logprobs"] = legacy(engine, [*ids, *new], [*engine.scores(ids), *scores])
    elif "logprobs" in body:
        held["logprobs"] = legacy(engine, new, scores)
    return held | {"ids": (ids, new)}


def echo(engine):
    """The routes of a host that knows `echo` and nothing else."""

    def choice(body, prompt):
        held = echoing(engine, body, prompt)
        del held["ids"]
        return held

    return {
        "GET /v1/models": listing,
        "POST /v1/completions": lambda body: completion([choice(body, one) for one in prompts_of(body["prompt"])]),
    }


def llama_cpp_python(engine):
    """The routes of llama-cpp-python 0.3, whose echoed scores are false for models without a first token.

    It takes row i of its table of scores for token i of the text that it repeats, which leaves the first token out if
    there is one (`Llama._create_completion`).
    """

    def answer(body):
        prompt = body["prompt"]
        if not isinstance(prompt, str):
            raise Refused(422, "prompt: Input should be a valid string")
        ids = engine.ids(prompt)
        new, scores = engine.generated(ids, body["max_tokens"])
        new = new[: len(engine.tokenizer(engine.shown(new), add_special_tokens=False)["input_ids"])]
        held = {"text": engine.shown(new), "finish_reason": "length"}
        if not body.get("echo"):
            return completion([held | {"logprobs": legacy(engine, new, scores[: len(new)], len(prompt))}])
        repeated = [*ids[ids[0] == engine.tokenizer.bos_token_id :], *new]
        table = engine.log_probabilities([*ids, *new[:-1]])  # the last token is not evaluated any more
        repeated = repeated[: len(table)]
        wrong = [float(row[token]) for row, token in zip(table, repeated, strict=True)]
        held["text"] = prompt + held["text"]
        return completion([held | {"logprobs": legacy(engine, repeated, [None, *wrong[1:]])}])

    return {"GET /v1/models": listing, "POST /v1/completions": answer}


def llama_cpp(engine, *, grammars=True):
    """The routes of the server of llama.cpp; `grammars` is whether a grammar may name tokens."""

    def entry(token, score):
        text = engine.text([token])
        return {"id": token, "token": text, "bytes": list(text.encode()), "logprob": score, "top_logprobs": []}

    def answer(body):
        named = [int(one) for one in re.findall(r"<\[(\d+)\]>", body.get("grammar", ""))]
        allowed = named if named and grammars else None
        new, scores = engine.generated(body["prompt"], body["n_predict"], allowed)
        return {
            "content": engine.shown(new),
            "tokens": [],
            "truncated": False,
            "stop_type": "eos" if new[-1:] == [engine.tokenizer.eos_token_id] else "limit",
            "tokens_evaluated": len(body["prompt"]),
            "completion_probabilities": list(map(entry, new, scores)),
        }

    return {
        "GET /v1/models": listing,
        "GET /props": lambda body: {"default_generation_settings": {}, "build_info": "b7400"},
        "POST /tokenize": lambda body: {"tokens": engine.ids(body["content"], body["add_special"])},
        "POST /detokenize": lambda body: {"content": engine.text(body["tokens"])},
        "POST /apply-template": lambda body: {"prompt": engine.chat(body["messages"])},
        "POST /completion": answer,
    }
