"""Results of lime, shap, shapiq, solvex, context-cite and interpreto on small cases, for tests/unit/test_peers.py.

    python -m venv peers && peers/bin/pip install --requirement benchmarks/requirements.txt
    peers/bin/pip install --no-deps solvex==1.0.3 tabulate
    peers/bin/python benchmarks/golden.py

writes tests/golden/peers.json with the versions of the packages. solvex also asks for spacy, which is not needed here.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import shap
from lime.lime_text import LimeTextExplainer
from solvex import BeamSearchExplainer

TARGET = Path(__file__).parents[1] / "tests" / "golden" / "peers.json"
WORDS = "one two three four five six seven"


def game(c):
    """Return the values `(n,)` of coalitions `(n, p)`, as in the tests."""
    weights = np.sin(1 + np.arange(c.shape[1]))
    return np.tanh(c @ weights) + 0.5 * np.prod(c[:, :3], axis=1) - 0.3 * c[:, 1] * c[:, -1]


def lime_case(n=200):
    """Return rows, responses and scores of one run of lime with all features and its default kernel and regression."""
    words, seen = WORDS.split(), []

    def predict(texts):
        rows = np.array([[word in text.split() for word in words] for text in texts], dtype=np.float64)
        probability = 1 / (1 + np.exp(-game(rows)))
        seen.append((rows, probability))
        return np.stack([1 - probability, probability], axis=1)

    explainer = LimeTextExplainer(bow=False, random_state=np.random.RandomState(3))
    explanation = explainer.explain_instance(WORDS, predict, num_features=len(words), num_samples=n)
    (rows, responses), scores = seen[0], dict(explanation.as_map()[1])
    scores = [float(scores[index]) for index in range(len(words))]
    return {"rows": rows.astype(int).tolist(), "responses": responses.tolist(), "scores": scores}


def kernel_case(p):
    """Return the scores of shap's Kernel explainer with all coalitions and no selection of features."""
    explainer = shap.KernelExplainer(game, np.zeros((1, p)))
    scores = explainer.shap_values(np.ones((1, p)), nsamples=2**p, l1_reg=False, silent=True)
    return {"p": p, "scores": np.asarray(scores)[0].tolist()}


def linkage(p):
    """Return the balanced tree over p neighbours, each part cut in its middle, as a linkage matrix `(p - 1, 4)`."""
    rows = []

    def node(first, last):
        if last - first == 1:
            return first
        middle = (first + last) // 2
        rows.append([node(first, middle), node(middle, last), 1.0, last - first])
        return p + len(rows) - 1

    node(0, p)
    return np.array(rows, dtype=np.float64)


def partition_case(p, n):
    """Return the scores of shap's Partition explainer, one part at a time; `n` includes the empty text."""
    explainer = shap.PartitionExplainer(game, shap.maskers.Partition(np.zeros((1, p)), clustering=linkage(p)))
    found = explainer(np.ones((1, p)), max_evals=n + 1, batch_size=2, silent=True)
    return {"p": p, "n": n, "scores": found.values[0].tolist()}


class Comprehensiveness(BeamSearchExplainer):
    """The search for the order of removal: solvex 1.0.3 calls `run` without two of its arguments there."""

    def run(self, *arguments):
        return game(np.array(arguments[0] if len(arguments) == 1 else arguments[1]))


class Removal:
    """The masker of rows of ones."""

    def get_num_features(self, x):
        return len(x)

    def delete_assigned(self, x, explanation):
        return [float(index not in explanation.fea2imp) for index in range(len(x))]


def search_case(p, beam):
    """Return the scores of solvex's beam search for the order of removal."""
    explainer = Comprehensiveness(Removal(), lambda rows: game(np.array(rows))[:, None], "comp", beam_size=beam)
    found = explainer.explain_instance([1.0] * p, label=0, logging="none")
    return {"p": p, "beam": beam, "scores": np.asarray(found["exp"]).tolist()}


def context_cite_case(n=60):
    """Return rows, responses and scores of the regression of context-cite."""
    import nltk

    nltk.download = lambda *_: True  # the package downloads a splitter of sentences when it is imported
    from context_cite.solver import LassoRegression

    rows = np.random.default_rng(5).integers(0, 2, (n, len(WORDS.split())))
    responses = game(rows.astype(np.float64))
    scores, _ = LassoRegression().fit(rows.astype(bool), responses, 1)
    return {"rows": rows.tolist(), "responses": responses.tolist(), "scores": scores.tolist()}


def proxy_case(p=10, n=300):
    """Return rows, responses and scores of shapiq's ProxySPEX: Banzhaf values of its trees, before its refinement."""
    from shapiq.approximator.sparse import ProxySPEX

    seen = []

    class Unrefined(ProxySPEX):
        def _refine(self, coefficients, rows, responses):
            seen.append((rows, responses))
            return coefficients

    explainer = Unrefined(n=p, index="BV", max_order=1, random_state=4)
    explainer.decoder_args = {"max_depth": [3], "max_iter": [100], "learning_rate": [0.1]}
    found = explainer.approximate(n, lambda rows: game(rows.astype(np.float64)))
    (rows, responses), scores = seen[0], found.get_n_order_values(1)
    return {"rows": rows.astype(int).tolist(), "responses": responses.tolist(), "scores": scores.tolist()}


def sobol_case(p=5, k=8):
    """Return responses to A and to A with each word of B, and the total indices of interpreto."""
    import torch
    from interpreto import Sobol
    from interpreto.attributions.aggregations.sobol_aggregation import SobolAggregator
    from interpreto.attributions.perturbations.sobol_perturbation import SobolTokenPerturbator

    masked = SobolTokenPerturbator(n_token_perturbations=k).get_mask(p)
    responses = game(1 - masked.numpy().astype(np.float64))
    told = torch.tensor(responses, dtype=torch.float32)[:, None]
    scores = SobolAggregator(k, Sobol.sobol_indices_orders.TOTAL_ORDER).aggregate(told, masked)[0]
    changed = responses[2 * k :].reshape(p, k).T
    return {"responses": responses[:k].tolist(), "changed": changed.tolist(), "scores": scores.tolist()}


def main():
    cases = {
        "versions": {
            name: version(name)
            for name in (
                *("lime", "shap", "shapiq", "lightgbm", "solvex", "context-cite", "interpreto"),
                *("scikit-learn", "numpy"),
            )
        },
        "lime": lime_case(),
        "kernel-shap": [kernel_case(p) for p in (4, 7, 10)],
        "partition-shap": [partition_case(p, n) for p, n in ((5, 1000), (8, 1000), (13, 41), (13, 101))],
        "context-cite": context_cite_case(),
        "proxy-spex": proxy_case(),
        "sobol-indices": sobol_case(),
        # A beam of 120 is that of all orders of five words.
        "beam-search": [search_case(p, beam) for p, beam in ((5, 1), (9, 1), (14, 1), (5, 120))],
    }
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(cases) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
