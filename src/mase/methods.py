"""The table of methods: a method is a row of named parts. Defaults are written here and nowhere else."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mase.baselines import PROCEDURES
from mase.designs import DESIGNS
from mase.designs.placement import Gaussian
from mase.errors import CapabilityError, OptionError, PluginError
from mase.estimators import ESTIMATORS
from mase.method import Method, describe, with_reference
from mase.models.protocol import Model
from mase.registry import Registry
from mase.regression.designed import Regression
from mase.regression.problem import Design
from mase.spaces import SPACES

__all__ = ["METHODS", "Method", "describe", "resolve", "suited", "with_reference"]


_TABLE: dict[str, dict[str, Any]] = {
    "mase": {
        "summary": "The default: words are taken out in rounds that turn to the words that matter, least squares",
        "space": "token-mask", "design": "focused", "estimator": "least-squares", "link": "margin",
    },
    "mase-nlgp": {
        "summary": "Saliency of the paper, estimated without its sampling error: mirrored orthogonal rows, least squares",
        "space": "token-scale", "design": "orthogonal", "estimator": "least-squares", "sigma": 0.1, "center": 1.0,
        "without_embeddings": "mase-mask",
    },
    "mase-paper": {
        "summary": "The paper's Algorithm 1 to the letter: independent rows, Theorem 1's closed form",
        "space": "token-scale", "design": "iid", "estimator": "moment", "sigma": 0.1, "center": 1.0,
    },
    "mase-sparse": {
        "summary": "The paper's MASE_Sparse: independent rows, the linear program of Eq. lp",
        "space": "token-scale", "design": "iid", "estimator": "sparse", "sigma": 0.1, "center": 1.0,
    },
    "mase-path": {
        "summary": "The saliency averaged along the path from the reference to the text",
        "space": "token-scale", "design": "path", "estimator": "least-squares", "sigma": 0.3, "center": 1.0,
    },
    "mase-gradient": {
        "summary": "White box: the same saliency from the model's gradients at a few points (Stein)",
        "space": "token-scale", "design": "antithetic", "estimator": "mean-gradient", "sigma": 0.1, "center": 1.0,
        "n_samples": 64,
    },
    "mase-cone": {
        "summary": "NLGP whose vectors may also turn by up to theta = 0.1",
        "space": "cone", "design": "antithetic", "estimator": "least-squares", "sigma": 0.1, "center": 1.0,
    },
    "mase-mask": {
        "summary": "For black boxes: words are there or not, half of them at a time",
        "space": "token-mask", "design": "bernoulli", "estimator": "least-squares",
    },
    "standard-gaussian": {
        "summary": "Noise on every entry of the embedding, Theorem 1's closed form: what the paper compares NLGP with",
        "space": "full-embedding", "design": "iid", "estimator": "moment", "sigma": 0.1, "center": 1.0,
    },
    "lime": {
        "summary": "LIME as the lime package does it: any number of words out, near texts weigh more, ridge regression",
        "space": "token-mask", "design": "lime", "estimator": "fixed-ridge",
    },
    "lime-paper": {
        "summary": "LIME as the paper states it: fair coins, near texts weigh more, least squares with a bound on the L1 norm",
        "space": "token-mask", "design": "lime-paper", "estimator": "lasso",
    },
    "kernel-shap": {
        "summary": "Kernel SHAP: coalitions and their complements, scores that sum to text minus reference",
        "space": "token-mask", "design": "shapley", "estimator": "constrained",
    },
    "occlusion": {
        "summary": "Leave one out: what each word's absence alone changes",
        "space": "token-mask", "design": "leave-one-out", "estimator": "moment",
    },
    "gradient-x-input": {
        "summary": "White box: the gradient at the text along each word's vector, the limit of mase-nlgp as sigma goes to 0",
        "space": "token-scale", "design": "text-only", "estimator": "mean-gradient", "n_samples": 2,
    },
    "integrated-gradients": {
        "summary": "White box: the gradient averaged along the straight path from the reference to the text",
        "space": "token-scale", "design": "gauss-legendre", "estimator": "mean-gradient", "n_samples": 100,
    },
    "smoothgrad": {
        "summary": "White box: gradient x input with the gradient averaged over noise on every entry of the embedding",
        "space": "relative-embedding", "design": "iid", "estimator": "mean-gradient", "sigma": 0.15, "center": 1.0,
        "n_samples": 100,
    },
    "gradient": {
        "summary": "White box: the length of the gradient by each word's vectors (Grad*), never negative",
        "space": "token-scale", "procedure": "gradient-norm", "n_samples": 2,
    },
    "sequential-ig": {
        "summary": "White box: integrated gradients of each word alone, the others in place",
        "space": "token-scale", "reference": "auto", "procedure": "sequential-ig", "n_samples": 333,
    },
    "deep-shap": {
        "summary": "White box: DeepLIFT's rules on the bundled LSTM classifiers, by captum",
        "space": "token-scale", "reference": "auto", "procedure": "deep-shap", "n_samples": 2,
    },
    "partition-shap": {
        "summary": "Partition SHAP: Owen values over halves of the text, the most telling parts first",
        "space": "token-mask", "procedure": "partition-shap",
    },
    "permutation-importance": {
        "summary": "What changes when another word of the text stands in a word's place",
        "space": "token-mask", "procedure": "permutation-importance",
    },
    "random": {
        "summary": "Scores drawn at random, the model not asked: what every method has to beat",
        "space": "token-mask", "procedure": "random",
    },
}  # fmt: skip


_REGISTRIES: dict[str, Registry] = {
    "space": SPACES, "design": DESIGNS, "estimator": ESTIMATORS, "procedure": PROCEDURES,
}  # fmt: skip
_FIELDS = {*_REGISTRIES, "summary", "reference", "sigma", "center", "link", "n_samples", "without_embeddings"}


def _method(name: str, row: Mapping[str, Any]) -> Method:
    """Return the method of a row of the table, its parts imported.

    Raises
    ------
    PluginError
        If the row of another package is none.
    """
    if not isinstance(row, Mapping) or not row.keys() <= _FIELDS:
        raise PluginError(
            f"method {name!r} is {row!r:.80}, expected a mapping with keys of {', '.join(sorted(_FIELDS))}"
        )
    given = dict(row)
    reference = given.pop("reference", None)
    parts = {part: registry[given.pop(part)]() for part, registry in _REGISTRIES.items() if part in given}
    distribution = {key: given.pop(key) for key in ("sigma", "center") if key in given}
    strategy = parts.pop("procedure", None) or Regression(
        replace(parts.pop("design"), **distribution), parts.pop("estimator")
    )
    method = Method(name=name, strategy=strategy, **given, **parts)
    return method if reference is None else with_reference(method, reference)


METHODS: Mapping[str, Method] = Registry("method", _TABLE, "mase.methods", _method)


def resolve(method: str | Method, **overrides: Any) -> Method:
    """Return the method of that name (or the one given) with the overrides that are not None.

    `space`, `design` and `estimator` may be names or values; `reference` replaces the reference of the space; `sigma`
    and `center` are those of a Gaussian design.

    Raises
    ------
    UnknownNameError
        If a name is not in its registry.
    OptionError
        If a value cannot be used, or the method has no such part.
    """
    chosen = METHODS[method] if isinstance(method, str) else method
    if not isinstance(chosen, Method):
        raise OptionError(f"method is {method!r}, expected a name such as 'mase', or a mase.Method")
    given = {key: value for key, value in overrides.items() if value is not None}
    for part in ("space", "design", "estimator"):
        if isinstance(given.get(part), str):
            given[part] = _REGISTRIES[part].build(given[part])
    reference = given.pop("reference", None)
    parts = {key: given.pop(key) for key in ("design", "estimator", "sigma", "center") if key in given}
    chosen = replace(chosen, **given)
    if parts:
        chosen = replace(chosen, strategy=_regression(chosen, **parts))
    return chosen if reference is None else with_reference(chosen, reference)


def _regression(method: Method, **parts: Any) -> Regression:
    """Return the method's regression with other parts.

    Raises
    ------
    OptionError
        If the method is no regression, or sigma or centre are given and its design has a distribution of its own, or its
        estimator is for its own design.
    """
    given = " and no ".join(parts)
    if not isinstance(method.strategy, Regression):
        raise OptionError(
            f"method {method.name!r} is a procedure, expected no {given}; leave that out, or use method='mase-nlgp'"
        )
    if "design" in parts and "estimator" not in parts:
        _check_estimator(method.name, method.strategy, parts["design"])
    regression = replace(method.strategy, **{key: parts.pop(key) for key in ("design", "estimator") if key in parts})
    if not parts:
        return regression
    if not isinstance(regression.design, Gaussian):
        raise OptionError(
            f"method {method.name!r} draws from a distribution of its own, expected no {' and no '.join(parts)}; leave "
            "that out, or use method='mase-nlgp'"
        )
    return replace(regression, design=replace(regression.design, **parts))


def _check_estimator(name: str, regression: Regression, design: Design) -> None:
    """Make sure that the estimator of a method suits another design than its own.

    A closed form (`needs_base`) that was chosen for a design with a distribution of its own, as that of occlusion, is
    right for that distribution only.

    Raises
    ------
    OptionError
        If it does not.
    """
    own, estimator = regression.design, regression.estimator
    if estimator.needs_base and not isinstance(own, Gaussian) and type(design) is not type(own):
        raise OptionError(
            f"design {DESIGNS.name_of(design)!r} given, but the estimator {ESTIMATORS.name_of(estimator)!r} of method "
            f"{name!r} is for its own design {DESIGNS.name_of(own)!r}, expected an estimator as well; try "
            "estimator='least-squares'"
        )


def suited(method: str | Method, model: Model, overrides: Mapping[str, Any]) -> Method:
    """Return the method with overrides, or the row that takes its place without embeddings, its reference resolved.

    Raises
    ------
    CapabilityError
        If the model has no embeddings or no such reference, and the method needs it.
    """
    chosen = resolve(method)
    if not model.has_embeddings and not chosen.space.binary:
        if chosen.without_embeddings is None:
            raise CapabilityError(
                f"method {chosen.name!r} needs an embedding layer, which {model.name} does not have; use 'mase'"
            )
        chosen = resolve(chosen.without_embeddings)
    chosen = resolve(chosen, **overrides)
    wanted = chosen.space.reference
    if wanted is None:
        return chosen
    if wanted == "auto":
        return with_reference(chosen, model.references[0])
    if wanted not in model.references:
        raise CapabilityError(
            f"reference is {wanted!r}, expected one that {model.name} has: {', '.join(model.references)}"
        )
    return chosen
