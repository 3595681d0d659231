"""What users declare about a model, for every kind of model: predictions and leave-one-out scores as by hand.

The words of the text have known weights, and the logit of a class is their sum: what a word adds is what leaving it
out takes away. A declaration is honoured, corrected with a note, or refused with the reason.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import mase
from mase.errors import MaseError
from mase.models import Callable, JSONService

torch = pytest.importorskip("torch")
tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "is", "superb", "dull"]
# Weights for three columns. Unknown and masking tokens weigh something, too.
WEIGHTS = np.array(
    [[0, 0, 0], [0.2, 0, -0.1], [0.5, 1.0, 0], [0, -0.8, 0.3], [0.1, 0.3, 0], [0.1, 0.2, 0], [-0.2, 0.1, 0.4],
     [0.3, 0, 0], [-1.0, 1.5, 0.2], [1.2, -0.9, 0.1]]
)  # fmt: skip
TEXT = "the film is superb"
LABELS = {2: ["neg", "pos"], 3: ["low", "mid", "high"]}


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def sigmoid(logits):
    return 1 / (1 + np.exp(-logits))


HEADS = {
    "logits": lambda z: z,
    "softmax": softmax,
    "sigmoid": sigmoid,
    "hard": lambda z: np.eye(z.shape[1])[z.argmax(axis=1)],
}


def logits(words, k=2, special=False):
    """Return the logits `(k,)` of a list of words."""
    rows = [*(["[CLS]"] if special else []), *words, *(["[SEP]"] if special else [])]
    return sum((WEIGHTS[WORDS.index(word), :k] for word in rows), np.zeros(k))


def by_hand(masked, k=2, special=False, text=TEXT, read=None):
    """Return the logits `(k,)` of a text, and `(p, k)` of it without each word, which `masked` replaces."""
    words = text.split()[:read]
    left_out = [[*words[:i], *([masked] if masked else []), *words[i + 1 :]] for i in range(len(words))]
    return logits(words, k, special), np.array([logits(row, k, special) for row in left_out])


def margins(z, target):
    p = np.log(softmax(z))
    return p[:, target] - np.delete(p, target, axis=1).max(axis=1)


def fast_tokenizer(*, special=True, **options):
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    if special:
        backend.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, mask_token="[MASK]", **names, **options)


class Sum(torch.nn.Module):
    """The sum of the vectors of the ids, with a head."""

    def __init__(self, k=2, head="logits"):
        super().__init__()
        self.words = torch.nn.Embedding(len(WORDS), k)
        self.head = head
        with torch.no_grad():
            self.words.weight.copy_(torch.tensor(WEIGHTS[:, :k]))

    def forward(self, ids):
        z = self.words(ids).sum(dim=1)
        if self.head == "hard":
            return torch.nn.functional.one_hot(z.argmax(dim=1), z.shape[1]).float()
        return {"logits": lambda z: z, "softmax": lambda z: z.softmax(dim=1), "sigmoid": torch.sigmoid}[self.head](z)


def module(k=2, head="logits", tokenizer=None, **options):
    return mase.models.TorchModule(Sum(k, head), tokenize=tokenizer or fast_tokenizer(), **options)


def onnx_model(k=2, head="logits", tokenizer=None, **options):
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    h, floats = onnx.helper, onnx.TensorProto.FLOAT
    last = {"logits": "Identity", "softmax": "Softmax", "sigmoid": "Sigmoid", "hard": "Hardmax"}[head]
    axis = {"axis": -1} if head in ("softmax", "hard") else {}
    graph = h.make_graph(
        [
            h.make_node("Gather", ["E", "input_ids"], ["e"]),
            h.make_node("ReduceSum", ["e", "one"], ["s"], keepdims=0),
            h.make_node(last, ["s"], ["logits"], **axis),
        ],
        "graph",
        [h.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["b", "t"])],
        [h.make_tensor_value_info("logits", floats, ["b", k])],
        [
            onnx.numpy_helper.from_array(WEIGHTS[:, :k].astype(np.float32), "E"),
            onnx.numpy_helper.from_array(np.array([1]), "one"),
        ],
    )
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return mase.models.OnnxModel(session, tokenizer or fast_tokenizer(), **options)


def keras_model(k=2, head="logits", vectorizer=None, **options):
    keras = pytest.importorskip("keras")
    ids = keras.Input((None,), dtype="int64")
    embedding = keras.layers.Embedding(len(WORDS), k)
    summed = keras.ops.sum(embedding(ids), axis=1)
    dense = keras.layers.Dense(k, activation={"logits": None}.get(head, head), use_bias=False)
    model = keras.Model(ids, dense(summed))
    embedding.set_weights([WEIGHTS[:, :k]])
    dense.set_weights([np.eye(k)])
    by_word = lambda text: [WORDS.index(word) if word in WORDS else 1 for word in text.split()] or [0]  # noqa: E731
    return mase.models.KerasModel(model, vectorizer or by_word, **options)


def test_the_vectorizer_of_a_keras_model_may_be_a_tokenizer():
    model = keras_model(vectorizer=fast_tokenizer())
    check(explained(Callable(model.predict)), *by_hand(None, special=True))


def of_texts(k=2, head="logits"):
    """Return a function of texts."""

    def function(texts):
        rows = [[word if word in WORDS else "[UNK]" for word in text.split()] for text in texts]
        return HEADS[head](np.array([logits(row, k) for row in rows]))

    return function


def function(k=2, head="logits", **options):
    return Callable(of_texts(k, head), **options)


def hugging_face(k=2, head="logits", **options):
    """Return a classifier whose logits are those of the words: a `PreTrainedModel` of one's own."""
    options.setdefault("tokenizer", fast_tokenizer(model_max_length=32))
    return mase.models.HuggingFace(_pretrained(k, head, options.pop("problem_type", None)), enter="words", **options)


class Additive(transformers.PreTrainedModel):
    """The sum of the vectors of the words, as a classifier of transformers."""

    config_class = transformers.BertConfig

    def __init__(self, config):
        super().__init__(config)
        self.inner = Sum(config.num_labels, config.head)
        self.post_init()

    def get_input_embeddings(self):
        return self.inner.words

    def forward(self, input_ids, attention_mask=None, **_):
        return transformers.modeling_outputs.SequenceClassifierOutput(logits=self.inner(input_ids))


def _pretrained(k, head, problem_type=None):
    names = dict(enumerate(LABELS[k]))
    config = transformers.BertConfig(
        vocab_size=len(WORDS), id2label=names, label2id={n: i for i, n in names.items()}, problem_type=problem_type
    )
    config.head = head
    model = Additive(config).eval()
    with torch.no_grad():
        model.inner.words.weight.copy_(torch.tensor(WEIGHTS[:, :k]))
    return model


def pipeline(k=2, head="logits", **options):
    problem = options.pop("problem_type", None)
    tokenizer = fast_tokenizer(model_max_length=options.pop("model_max_length", 32))
    made = transformers.pipeline(
        "text-classification", model=_pretrained(k, head, problem), tokenizer=tokenizer, **options
    )
    return mase.Explainer(made).model


def scikit_learn(k=2, kind="logistic"):
    """Return a pipeline with the weights of the words; `k` classes."""
    sklearn = pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    del sklearn
    classifier = {"logistic": LogisticRegression(), "bayes": MultinomialNB(), "svc": LinearSVC()}[kind]
    texts = [*WORDS[5:], *WORDS[5:]]
    made = make_pipeline(CountVectorizer(vocabulary=WORDS[5:]), classifier)
    made.fit(texts, (LABELS[k] * len(texts))[: len(texts)])
    weights = WEIGHTS[5:, :k]
    if kind == "bayes":
        classifier.feature_log_prob_, classifier.class_log_prior_ = 30 * weights.T, np.zeros(k)
        classifier.classes_ = np.array(LABELS[k])
    else:
        classifier.coef_ = weights.T if k > 2 else (weights[:, 1] - weights[:, 0])[None]
        classifier.intercept_ = np.zeros(len(classifier.coef_))
        classifier.classes_ = np.array(LABELS[k])
    return made


@pytest.fixture
def server():
    """The URL of a server that answers as a function of texts says."""
    answering = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, value = answering["function"](texts)
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()

    def url(k=2, head="logits", largest=10**6, **options):
        inner = of_texts(k, head)
        answering["function"] = lambda texts: (
            (200, inner(texts).tolist()) if len(texts) <= largest else (413, {"error": "too large"})
        )
        return JSONService(f"http://127.0.0.1:{running.server_port}", **options)

    yield url
    running.shutdown()
    running.server_close()


def explained(model, text=TEXT, link="margin", target=None, **options):
    return mase.Explainer(model, method="occlusion", link=link, **options)(text, target=target)


def check(found, own, left_out, link="margin", labels=("0", "1"), notes=()):
    """Compare a result with the logits of the text `(k,)` and without each word `(p, k)`."""
    probabilities = softmax(own[None])[0]
    assert list(found.prediction.probabilities) == list(labels)
    assert np.allclose(list(found.prediction.probabilities.values()), probabilities, atol=1e-5)
    target = int(own.argmax())
    assert found.target == labels[target]
    value = margins if link == "margin" else lambda z, target: softmax(z)[:, target]
    assert np.allclose(found.scores, value(own[None], target) - value(left_out, target), atol=1e-4)
    assert {note.code for note in found.notes} == set(notes)


def with_ids(text):
    encoded = fast_tokenizer()(text, return_offsets_mapping=True)
    return encoded["input_ids"], encoded["offset_mapping"]


class Wrapper:
    """An object with the interface of a tokenizer of transformers that is none of its classes."""

    def __init__(self):
        self.inner = fast_tokenizer()

    def __getattr__(self, name):
        if name in ("backend_tokenizer", "inner"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __call__(self, *args, **options):
        return self.inner(*args, **options)


TOKENIZERS = {
    "of transformers": fast_tokenizer,
    "of tokenizers": lambda: fast_tokenizer().backend_tokenizer,
    "of another class": Wrapper,
    "ids and offsets": lambda: with_ids,
    "ids and places": lambda: (
        lambda text: (
            with_ids(text)[0],
            [None if start == end else (start, end) for start, end in with_ids(text)[1]],
        )
    ),
    "an encoding": lambda: lambda text: fast_tokenizer()(text, return_offsets_mapping=True),
    "an encoding of tokenizers": lambda: lambda text: fast_tokenizer().backend_tokenizer.encode(text),
    "tensors": lambda: lambda text: fast_tokenizer()(text, return_offsets_mapping=True, return_tensors="pt"),
}


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("make", [module, onnx_model])
def test_special_tokens_stay_in_place_whatever_tells_of_them(make, tokenizer):
    model = make(tokenizer=TOKENIZERS[tokenizer](), unk_id=1)
    found = explained(model, reference="unk")
    check(found, *by_hand("[UNK]", special=True))


@pytest.mark.parametrize("tokenizer", ["of transformers", "ids and offsets", "ids alone"])
@pytest.mark.parametrize("keep", ["start", "end"])
@pytest.mark.parametrize("make", [module, onnx_model])
def test_special_tokens_are_kept_when_a_text_is_cut(make, keep, tokenizer):
    text = "the film is superb dull dull dull"
    options = {"special_ids": [2, 3]} if tokenizer == "ids alone" else {}
    tokenize = (lambda text: with_ids(text)[0]) if options else TOKENIZERS[tokenizer]()
    found = explained(make(tokenizer=tokenize, unk_id=1, max_length=5, keep=keep, **options), text, reference="unk")
    words = text.split()[:3] if keep == "start" else text.split()[-3:]
    check(found, *by_hand("[UNK]", special=True, text=" ".join(words)))
    assert (found.truncation.n_kept, found.truncation.n_total) == (5, 9)


def test_padding_of_a_function_gives_way_before_words():
    padded = lambda text: [*with_ids(text)[0], *[0] * 20]  # noqa: E731
    options = {"special_ids": [2, 3], "pad_id": 0, "unk_id": 1}
    found = explained(module(tokenizer=padded, max_length=6, **options), reference="unk")
    check(found, *by_hand("[UNK]", special=True))
    assert found.truncation is None


@pytest.mark.parametrize("make", [module, hugging_face])
def test_padding_that_is_written_in_a_text_is_fixed(make):
    found = explained(make(), "the [PAD] film", reference="unk")
    own, left_out = by_hand("[UNK]", special=True, text="the film")
    assert [unit.text for unit in found.units] == ["the", "film"]
    assert np.allclose(found.scores, margins(own[None], 1) - margins(left_out, 1), atol=1e-4)


MAKES = {
    "module": (module, "mask", True),
    "onnx": (onnx_model, "mask", True),
    "keras": (keras_model, None, False),
    "function": (function, None, False),
    "hugging face": (hugging_face, "mask", True),
}
MASKED = {"mask": "[MASK]", "unk": "[UNK]", "pad": "[PAD]", None: None, "delete": None}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", MAKES)
def test_logits_with_labels(kind, k):
    make, reference, special = MAKES[kind]
    named = {} if kind == "hugging face" else {"labels": LABELS[k]}
    outputs = {} if kind in ("module", "onnx") else {"outputs": "logits"}
    found = explained(make(k, **named, **outputs), **({"reference": reference} if reference else {}))
    check(found, *by_hand(MASKED[reference], k, special), labels=LABELS[k])


@pytest.mark.parametrize("kind", MAKES)
def test_probabilities_where_logits_are_declared(kind):
    make, reference, special = MAKES[kind]
    outputs = {} if kind == "hugging face" else {"outputs": "logits"}
    found = explained(make(head="softmax", **outputs), **({"reference": reference} if reference else {}))
    labels = LABELS[2] if kind == "hugging face" else ("0", "1")
    check(found, *by_hand(MASKED[reference], 2, special), notes=["outputs"], labels=labels)


@pytest.mark.parametrize("kind", ["module", "onnx", "keras", "function"])
def test_logits_where_probabilities_are_declared_are_refused(kind):
    with pytest.raises(MaseError, match=r"expected probabilities in \[0, 1\]; pass .*outputs='logits'"):
        explained(MAKES[kind][0](outputs="probabilities"))


@pytest.mark.parametrize("kind", ["module", "onnx", "keras", "function", "url"])
def test_values_are_explained_as_they_are(kind, server):
    make, reference, special = MAKES.get(kind, (server, None, False))
    found = explained(make(outputs="values"), link="value", **({"reference": reference} if reference else {}))
    own, left_out = by_hand(MASKED[reference], 2, special)
    column = int(found.target.removeprefix("value "))
    assert np.allclose(found.scores, own[column] - left_out[:, column], atol=1e-4)


@pytest.mark.parametrize("kind", ["module", "onnx", "keras", "function", "hugging face", "url"])
def test_separate_labels(kind, server):
    make, reference, special = MAKES.get(kind, (server, None, False))
    declared = {"multilabel": True} if kind != "keras" else {}
    head = "logits" if kind == "hugging face" else "sigmoid"
    model = make(head=head, **declared)
    found = explained(model, link="logit", target=model.labels[1], **({"reference": reference} if reference else {}))
    own, left_out = by_hand(MASKED[reference], 2, special)
    shown = list(found.prediction.probabilities.values())
    assert np.allclose(shown, sigmoid(own), atol=1e-5)
    assert np.allclose(found.scores, own[1] - left_out[:, 1], atol=1e-4)


@pytest.mark.parametrize("kind", ["module", "onnx", "function", "url"])
def test_hard_labels_are_explained_as_shares(kind, server):
    make, reference, special = MAKES.get(kind, (server, None, False))
    reference = reference and "unk"  # in place of the mask no class is ahead
    text = "film superb dull"
    found = explained(make(head="hard"), text, **({"reference": reference} if reference else {}))
    own, left_out = by_hand(MASKED[reference], 2, special, text)
    flips = left_out.argmax(axis=1) != own.argmax()
    assert flips.any()
    assert found.link == "probability" == found.method["link"]
    assert found.scores.tolist() == flips.astype(float).tolist()
    assert "hard-labels" in {note.code for note in found.notes}


@pytest.mark.parametrize("reference", ["mask", "unk", "pad"])
@pytest.mark.parametrize("kind", ["module", "onnx", "hugging face"])
def test_masks_of_models_of_ids(kind, reference):
    make, _, special = MAKES[kind]
    labels = LABELS[2] if kind == "hugging face" else ("0", "1")
    check(explained(make(), reference=reference), *by_hand(MASKED[reference], 2, special), labels=labels)


@pytest.mark.parametrize("kind", ["keras", "function", "url"])
def test_masks_of_models_of_texts(kind, server):
    make = MAKES.get(kind, (server,))[0]
    found = explained(make(outputs="logits", labels=LABELS[2], mask_token="[MASK]"))
    check(found, *by_hand("[MASK]"), labels=LABELS[2])


def test_deleted_tokens_leave_the_special_ones():
    check(explained(onnx_model(), reference="delete"), *by_hand(None, special=True))


@pytest.mark.parametrize("applied", ["default", "softmax", "sigmoid", "none"])
@pytest.mark.parametrize("k", [2, 3])
def test_what_a_pipeline_applies(k, applied):
    options = {} if applied == "default" else {"function_to_apply": applied}
    found = explained(pipeline(k, **options), link="value" if applied == "none" else "margin", reference="mask")
    own, left_out = by_hand("[MASK]", k, special=True)
    if applied == "none":
        assert found.target == LABELS[k][int(own.argmax())]
        assert found.prediction.values == pytest.approx(dict(zip(LABELS[k], own, strict=True)), abs=1e-5)
        assert np.allclose(found.scores, own.max() - left_out[:, own.argmax()], atol=1e-4)
    elif applied == "sigmoid":
        assert np.allclose(list(found.prediction.probabilities.values()), sigmoid(own), atol=1e-5)
    else:
        check(found, own, left_out, labels=LABELS[k])


def test_a_pipeline_cuts_texts_as_it_says():
    text = "the film is superb dull dull dull"
    found = explained(pipeline(truncation=True, max_length=5), text, reference="mask")
    check(found, *by_hand("[MASK]", special=True, text=text, read=3), labels=LABELS[2])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("listed", ["sorted objects", "objects by label"])
def test_a_function_that_lists_labels_is_read_by_them(listed, k):
    inner = of_texts(k, "softmax")

    def labelled(texts):
        rows = [dict(zip(LABELS[k], row, strict=True)) for row in inner(texts)]
        if listed == "objects by label":
            return rows
        pairs = [sorted(row.items(), key=lambda item: -item[1]) for row in rows]
        return [[{"label": label, "score": score} for label, score in row] for row in pairs]

    found = explained(Callable(labelled, labels=LABELS[k]))
    check(found, *by_hand(None, k), labels=LABELS[k])


def test_a_function_that_lists_the_best_label_alone_is_refused():
    with pytest.raises(MaseError, match="top_k=None"):
        explained(Callable(lambda texts: [{"label": "pos", "score": 0.9} for _ in texts]))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", ["logistic", "bayes", "svc"])
def test_estimators_of_scikit_learn(kind, k):
    """Probabilities of naive Bayes are far below 1e-9, and are taken from its logarithms."""
    found = explained(scikit_learn(k, kind), link="value" if kind == "svc" else "margin")
    scale = 30 if kind == "bayes" else 1
    own, left_out = by_hand(None, k)
    if kind == "svc":
        target = int(own.argmax())
        signed = (own[1] - own[0]) - (left_out[:, 1] - left_out[:, 0]) if k == 2 else (own - left_out)[:, target]
        assert found.target == LABELS[k][target]
        assert np.allclose(found.scores, signed, atol=1e-6)
    else:
        check(found, scale * own, scale * left_out, labels=LABELS[k])


@pytest.mark.slow
def test_a_question_with_one_answer_does_not_stop_the_others():
    ensemble = pytest.importorskip("sklearn.ensemble")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    texts = ["superb film", "superb", "dull film", "dull"] * 5
    labels = np.array([[1, 0, 1], [1, 0, 1], [0, 0, 1], [0, 0, 1]] * 5)
    model = make_pipeline(CountVectorizer(), ensemble.RandomForestClassifier(10, random_state=0)).fit(texts, labels)
    found = mase.Explainer(model)("superb film", target="0")
    assert found.top(1)[0].text == "superb"
    assert [found.prediction.probabilities[name] for name in ("1", "2")] == [0.0, 1.0]


@pytest.mark.slow
def test_batches_that_are_refused_are_halved_for_good_and_told(server):
    sizes = []
    inner = of_texts(head="softmax")

    def few(texts):
        sizes.append(len(texts))
        if len(texts) > 20:
            raise ValueError("at most 20 texts")
        return inner(texts)

    explainer = mase.Explainer(few, n_samples=200)
    text = "the film is superb the film is superb the film is dull the film is superb"
    plain, halved = mase.Explainer(inner, n_samples=200)(text), explainer(text)
    assert np.allclose(plain.scores, halved.scores)
    assert [note.code for note in halved.notes] == ["batch-halved"]
    assert "at most 20 texts" in halved.notes[0].message
    sizes.clear()
    explainer(f"{text} is")
    assert max(sizes) <= 20
    served = mase.Explainer(server(head="softmax", largest=20), n_samples=200)(text)
    assert np.allclose(plain.scores, served.scores)
    assert "413" in next(note.message for note in served.notes if note.code == "batch-halved")


def test_a_text_that_no_batch_helps_is_told():
    def touchy(texts):
        if any("superb" not in text for text in texts):
            raise ValueError("nothing superb")
        return [[0.5, 0.5] for _ in texts]

    with pytest.raises(MaseError, match="raised ValueError: nothing superb"):
        mase.Explainer(touchy)(TEXT)


def test_sorted_columns_are_told():
    inner = of_texts(3, "softmax")
    text = "the film is superb the film is dull and so is the dull film"
    codes = {
        name: {note.code for note in mase.Explainer(function, n_samples=300)(text).notes}
        for name, function in (("sorted", lambda texts: -np.sort(-inner(texts), axis=1)), ("fixed", inner))
    }
    assert "sorted-columns" in codes["sorted"]
    assert "sorted-columns" not in codes["fixed"]


def test_pairs_unpack_as_their_texts():
    inner = of_texts(head="softmax")
    functions = {
        "unpacked": lambda pairs: inner([f"{first} {second}" for first, second in pairs]),
        "numbered": lambda pairs: inner([f"{pair[0]} {pair[1]}" for pair in pairs]),
        "named": lambda pairs: inner([f"{pair['text']} {pair['text_pair']}" for pair in pairs]),
        "of records": lambda pairs: inner([" ".join(dict(pair).values()) for pair in pairs]),
    }
    for function in functions.values():
        check(explained(Callable(function), ("the film", "is superb")), *by_hand(None))


@pytest.mark.slow
def test_answers_for_the_first_texts_alone(server):
    inner = of_texts(head="softmax")
    text = "the film is superb the film is superb the film is dull the film is superb"
    plain, few = (mase.Explainer(function, n_samples=200)(text) for function in (inner, lambda ts: inner(ts[:8])))
    assert np.allclose(plain.scores, few.scores)
    assert [note.code for note in few.notes] == ["batch-halved"]

    def filled(texts):
        return np.concatenate([inner(texts)[:20], np.full((len(texts), 2), 0.5)])[: len(texts)]

    assert "batch-dependent" in {note.code for note in mase.Explainer(filled, n_samples=200)(text).notes}


def test_scores_that_a_floor_decides_are_not_called_reliable():
    inner = of_texts(head="softmax")
    found = mase.Explainer(lambda texts: np.round(inner(texts), 1))("superb film is superb superb superb")
    assert "floored" in {note.code for note in found.notes}
    assert not found.verdict.reliable


def test_percent_and_logarithms_are_told_as_such():
    inner = of_texts(head="softmax")
    for function, told in ((lambda texts: 100 * inner(texts), "percent"), (lambda ts: np.log(inner(ts)), "log-prob")):
        with pytest.raises(MaseError, match=told):
            mase.Explainer(function)(TEXT)


ORDERS = {
    "shortest first": lambda texts: sorted(texts, key=len),
    "longest first": lambda texts: sorted(texts, key=len, reverse=True),
    "backwards": lambda texts: texts[::-1],
    "alphabetical": sorted,
    "one further": lambda texts: [*texts[1:], *texts[:1]],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("text", [TEXT, "the film is superb and dull but the film is superb"])
def test_rows_that_come_back_in_another_order_are_noticed(order, text):
    inner = of_texts(head="softmax")
    found = mase.Explainer(lambda texts: inner(ORDERS[order](texts)), n_samples=200)(text)
    assert {note.code for note in found.notes} & {"batch-dependent", "not-deterministic"}
    assert not {note.code for note in mase.Explainer(inner, n_samples=200)(text).notes} & {"batch-dependent"}


@pytest.mark.parametrize("wrap", [torch.nn.DataParallel, torch.optim.swa_utils.AveragedModel])
def test_wrapped_modules_are_explained_as_what_they_hold(wrap):
    model = mase.models.TorchModule(wrap(Sum()), tokenize=fast_tokenizer())
    check(explained(model, reference="mask"), *by_hand("[MASK]", special=True))


@pytest.mark.parametrize("make", [module, hugging_face])
def test_ids_without_vectors_are_told_as_such(make):
    tokenizer = fast_tokenizer(model_max_length=32)
    tokenizer.add_tokens(["blockbuster"])
    with pytest.raises(MaseError, match=r"gives the id 10, .* vectors for the ids 0 to 9 .*resize_token_embeddings"):
        explained(make(tokenizer=tokenizer), "superb blockbuster film")


@pytest.mark.parametrize("limit", [0, -1, 10**30])
@pytest.mark.parametrize("make", [module, onnx_model])
def test_limits_of_a_tokenizer_that_are_none(make, limit):
    found = explained(make(tokenizer=fast_tokenizer(model_max_length=limit)), reference="mask")
    check(found, *by_hand("[MASK]", special=True))
    assert found.truncation is None


def test_heads_that_are_no_classifiers_are_refused_by_what_they_do():
    tokenizer = fast_tokenizer(model_max_length=32)
    config = transformers.BertConfig(
        vocab_size=10, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    for name in ("MultipleChoice", "QuestionAnswering", "TokenClassification", "MaskedLM"):
        head = getattr(transformers, f"BertFor{name}")(config)
        with pytest.raises(MaseError, match=r"expected a classifier of texts"):
            mase.models.HuggingFace(head, tokenizer)
