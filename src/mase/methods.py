"""The table of methods. Each row names the parts of a method; this is the only place for defaults."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mase.budget import Rule
from mase.designs import DESIGNS
from mase.designs.placement import Gaussian
from mase.errors import OptionError, PluginError
from mase.estimators import ESTIMATORS
from mase.method import Method, describe, with_reference
from mase.procedures import PROCEDURES
from mase.registry import Registry
from mase.regression.design import Design
from mase.regression.designed import Regression
from mase.spaces import SPACES

__all__ = ["DEFAULT", "METHODS", "Method", "describe", "resolve", "with_reference"]

DEFAULT = "mase"

_TABLE: dict[str, dict[str, Any]] = {
    "mase": {
        "summary": "The default: words are masked in rounds that focus on high-scoring words, kernel ridge",
        "space": "token-mask", "design": "focused", "estimator": "kernel-ridge", "link": "margin",
        "n_samples": "auto",
    },
    "mase-rationale": {
        "summary": "For words that suffice without the rest: the default, ranked by the effect of words that are kept",
        "space": "token-mask", "design": "focused(effect=kept)", "estimator": "kernel-ridge", "link": "margin",
        "n_samples": "auto",
    },
    "mase-cite": {
        "summary": "The default of mase.cite, for few evaluations: orthogonal rows, strongest words, kernel ridge",
        "space": "token-mask", "design": "close-up", "estimator": "kernel-ridge", "link": "logit",
        "n_samples": "auto", "rule": Rule(base=32, per_unit=1, most=128),
    },
    "mase-nlgp": {
        "summary": "The paper's saliency with less sampling error: mirrored orthogonal rows, least squares",
        "space": "token-scale", "design": "orthogonal", "estimator": "least-squares", "sigma": 0.1, "center": 1.0,
        "without_embeddings": "mase-mask",
    },
    "mase-paper": {
        "summary": "The paper's Algorithm 1: independent rows, the closed form of Theorem 1",
        "space": "token-scale", "design": "iid", "estimator": "moment", "sigma": 0.1, "center": 1.0,
    },
    "mase-sparse": {
        "summary": "The paper's MASE_Sparse: independent rows, the linear program of Eq. lp",
        "space": "token-scale", "design": "iid", "estimator": "sparse", "sigma": 0.1, "center": 1.0,
    },
    "mase-path": {
        "summary": "The saliency, averaged along the path from the reference to the text",
        "space": "token-scale", "design": "path", "estimator": "least-squares", "sigma": 0.3, "center": 1.0,
    },
    "mase-gradient": {
        "summary": "White box: the same saliency from the model's gradients at a few points (Stein)",
        "space": "token-scale", "design": "antithetic", "estimator": "mean-gradient", "sigma": 0.1, "center": 1.0,
        "n_samples": 64,
    },
    "mase-cone": {
        "summary": "NLGP whose vectors are also rotated by up to theta = 0.1",
        "space": "cone", "design": "antithetic", "estimator": "least-squares", "sigma": 0.1, "center": 1.0,
    },
    "mase-mask": {
        "summary": "For black boxes: each word is masked with probability 1/2, least squares",
        "space": "token-mask", "design": "bernoulli", "estimator": "least-squares",
    },
    "standard-gaussian": {
        "summary": "Noise on every entry of the embedding, the closed form of Theorem 1: the paper's comparison",
        "space": "full-embedding", "design": "iid", "estimator": "moment", "sigma": 0.1, "center": 1.0,
    },
    "lime": {
        "summary": "LIME as in the lime package: any number of masked words, weighted by proximity, ridge regression",
        "space": "token-mask", "design": "lime", "estimator": "fixed-ridge",
    },
    "lime-paper": {
        "summary": "LIME as in the paper: Bernoulli rows weighted by proximity, least squares with bounded L1 norm",
        "space": "token-mask", "design": "lime-paper", "estimator": "lasso",
    },
    "glime": {
        "summary": "GLIME-Binomial of width 1: words are kept with probability .73, no weights, ridge regression",
        "space": "token-mask", "design": "independent(p_keep=0.7310585786)", "estimator": "fixed-ridge",
    },
    "context-cite": {
        "summary": "ContextCite: each word is masked with probability 1/2, lasso on the log-odds of the class",
        "space": "token-mask", "design": "independent", "estimator": "penalised-lasso", "link": "margin",
    },
    "proxy-spex": {
        "summary": "ProxySPEX: each word is masked with probability 1/2, Banzhaf values of boosted trees, no errors",
        "space": "token-mask", "design": "independent", "estimator": "boosted-trees", "link": "margin",
    },
    "kernel-shap": {
        "summary": "Kernel SHAP: coalitions and their complements, scores that sum to text minus reference",
        "space": "token-mask", "design": "shapley", "estimator": "constrained",
    },
    "leverage-shap": {
        "summary": "Leverage SHAP: Kernel SHAP with as many coalitions of each size, drawn without replacement",
        "space": "token-mask", "design": "leverage", "estimator": "constrained",
    },
    "occlusion": {
        "summary": "Leave one out: the change in response when each word is masked alone",
        "space": "token-mask", "design": "leave-one-out", "estimator": "moment",
    },
    "gradient-x-input": {
        "summary": "White box: the gradient along each word's vector, the limit of mase-nlgp as sigma goes to 0",
        "space": "token-scale", "design": "text-only", "estimator": "mean-gradient", "n_samples": 2,
    },
    "integrated-gradients": {
        "summary": "White box: the gradient, averaged along the straight path from the reference to the text",
        "space": "token-scale", "design": "gauss-legendre", "estimator": "mean-gradient", "n_samples": 100,
    },
    "smoothgrad": {
        "summary": "White box: gradient x input, averaged over noise on every entry of the embedding",
        "space": "relative-embedding", "design": "iid", "estimator": "mean-gradient", "sigma": 0.15, "center": 1.0,
        "n_samples": 100,
    },
    "gradient": {
        "summary": "White box: the norm of the gradient with respect to each word's vectors (Grad*), never negative",
        "space": "token-scale", "procedure": "gradient-norm", "n_samples": 2,
    },
    "sequential-ig": {
        "summary": "White box: integrated gradients of each word alone, with all others kept",
        "space": "token-scale", "reference": "auto", "procedure": "sequential-ig", "n_samples": 333,
    },
    "deep-shap": {
        "summary": "White box: the rules of DeepLIFT for the bundled LSTM classifiers, with captum",
        "space": "token-scale", "reference": "auto", "procedure": "deep-shap", "n_samples": 2,
    },
    "partition-shap": {
        "summary": "Partition SHAP: Owen values over halves of the text, the most important parts first",
        "space": "token-mask", "procedure": "partition-shap",
    },
    "greedy-search": {
        "summary": "Greedy search: the word whose removal lowers the margin most, then the next; scores are places",
        "space": "token-mask", "procedure": "beam-search(beam=1)", "link": "margin",
    },
    "beam-search": {
        "summary": "Beam search for the order of removal that lowers the margin fastest; scores are places",
        "space": "token-mask", "procedure": "beam-search", "link": "margin",
    },
    "permutation-importance": {
        "summary": "The change in response when a word is replaced by another word of the text",
        "space": "token-mask", "procedure": "permutation-importance",
    },
    "sobol-indices": {
        "summary": "Total Sobol' indices: shares of the variance while words are masked, without a sign",
        "space": "token-mask", "procedure": "sobol-indices",
    },
    "random": {
        "summary": "Random scores, without evaluating the model: the lower baseline for every method",
        "space": "token-mask", "procedure": "random",
    },
}  # fmt: skip


_REGISTRIES: dict[str, Registry] = {
    "space": SPACES, "design": DESIGNS, "estimator": ESTIMATORS, "procedure": PROCEDURES,
}  # fmt: skip
_FIELDS = {*_REGISTRIES, "summary", "reference", "sigma", "center", "link", "n_samples", "rule", "without_embeddings"}


def _method(name: str, row: Mapping[str, Any]) -> Method:
    """Return the method of a row of the table, with its parts imported."""
    if not isinstance(row, Mapping) or not row.keys() <= _FIELDS:
        raise PluginError(
            f"method {name!r} is {row!r:.80}, expected a mapping with keys from {', '.join(sorted(_FIELDS))}"
        )
    missing = sorted({"summary", "space", *(() if "procedure" in row else ("design", "estimator"))} - row.keys())
    if missing:
        raise PluginError(
            f"method {name!r} has no {' and no '.join(missing)}, expected summary, space and either procedure, or "
            "design and estimator"
        )
    options = dict(row)
    reference = options.pop("reference", None)
    parts = {part: registry.build(str(options.pop(part))) for part, registry in _REGISTRIES.items() if part in options}
    distribution = {key: options.pop(key) for key in ("sigma", "center") if key in options}
    strategy = parts.pop("procedure", None) or Regression(
        replace(parts.pop("design"), **distribution), parts.pop("estimator")
    )
    method = Method(name=name, strategy=strategy, **options, **parts)
    return method if reference is None else with_reference(method, reference)


METHODS: Mapping[str, Method] = Registry("method", _TABLE, "mase.methods", _method)


def resolve(method: str | Method, **overrides: Any) -> Method:
    """Return a method, given by name or value, with the overrides that are not None.

    `space`, `design` and `estimator` are names or values. `reference` replaces the reference of the space. `sigma` and
    `center` replace those of a Gaussian design.

    Raises
    ------
    UnknownNameError
        If a name is not in its registry.
    OptionError
        If a value is invalid, or the method has no such part.
    """
    chosen = METHODS[method] if isinstance(method, str) else method
    if not isinstance(chosen, Method):
        raise OptionError(f"method is {method!r}, expected a name such as 'mase', or a mase.Method")
    options = {key: value for key, value in overrides.items() if value is not None}
    for part in ("space", "design", "estimator"):
        if isinstance(options.get(part), str):
            options[part] = _REGISTRIES[part].build(options[part])
        _check_part(part, options.get(part))
    reference = options.pop("reference", None)
    parts = {key: options.pop(key) for key in ("design", "estimator", "sigma", "center") if key in options}
    chosen = replace(chosen, **options)
    if parts:
        chosen = replace(chosen, strategy=_regression(chosen, **parts))
    return chosen if reference is None else with_reference(chosen, reference)


# What a value must have to be a part of a method.
_PART_METHODS = {"space": ("apply", "offset"), "design": ("distribution", "draw"), "estimator": ("fit",)}


def _check_part(part: str, value: Any) -> None:
    """Check that a value can be a part of a method."""
    if value is None:
        return
    if isinstance(value, type) or not all(callable(getattr(value, name, None)) for name in _PART_METHODS[part]):
        known = ", ".join(list(_REGISTRIES[part])[:4])
        raise OptionError(f"{part} is {value!r}, expected a name such as {known}, or a value of that kind")


def _regression(method: Method, **parts: Any) -> Regression:
    """Return the regression of the method with other parts."""
    if not isinstance(method.strategy, Regression):
        raise OptionError(
            f"{' and '.join(parts)} given for the method {method.name!r}, which is a procedure, expected none, or "
            "method='mase-nlgp'"
        )
    if "design" in parts and "estimator" not in parts:
        _check_estimator(method.name, method.strategy, parts["design"])
    regression = replace(method.strategy, **{key: parts.pop(key) for key in ("design", "estimator") if key in parts})
    if not parts:
        return regression
    if not isinstance(regression.design, Gaussian):
        raise OptionError(
            f"{' and '.join(parts)} given for the method {method.name!r}, whose design has a fixed distribution, "
            "expected none, or method='mase-nlgp'"
        )
    return replace(regression, design=replace(regression.design, **parts))


def _check_estimator(name: str, regression: Regression, design: Design) -> None:
    """Check that the estimator of a method is valid for another design.

    A closed form (`needs_base`) for a design with a fixed distribution, such as occlusion, is valid for that
    distribution only.
    """
    original, estimator = regression.design, regression.estimator
    if estimator.needs_base and not isinstance(original, Gaussian) and type(design) is not type(original):
        raise OptionError(
            f"design is {DESIGNS.name_of(design)!r}, but the estimator {ESTIMATORS.name_of(estimator)!r} of method "
            f"{name!r} is valid only for design {DESIGNS.name_of(original)!r}, expected an estimator as well; use "
            "estimator='least-squares'"
        )
