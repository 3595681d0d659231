"""The table of methods: a method is a row of parts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from mase.defaults import AUTO, SAMPLES_RULE, NSamples, Rule, check_n_samples
from mase.designs import DESIGNS
from mase.designs.placement import Gaussian
from mase.errors import CapabilityError, OptionError, PluginError
from mase.estimators import ESTIMATORS
from mase.links import LINKS
from mase.models.base import Model
from mase.procedures import PROCEDURES
from mase.registry import Registry, completed, unknown
from mase.solve.problem import Design
from mase.solve.regression import Regression
from mase.solve.strategy import Strategy
from mase.spaces import SPACES, Space


@dataclass(frozen=True, slots=True)
class Method:
    """A complete configuration of an explanation: the space, the strategy, the link and the budget.

    Parameters
    ----------
    name, summary
        The name in `mase.METHODS`, and a description in one line.
    space
        How coordinates change the input.
    strategy
        A `mase.solve.regression.Regression` of a design and an estimator, or a procedure.
    link
        The function of the model's scores that is explained.
    n_samples
        Maximum number of samples, for each of which the model is evaluated; "auto" for as many as the number of units
        of a text asks for.
    rule
        How many that are.
    without_embeddings
        The name of the method that replaces this one for models that take only strings.

    Raises
    ------
    OptionError
        If n_samples is neither "auto" nor an integer of at least 2.
    UnknownNameError
        If there is no such link.
    """

    name: str
    summary: str
    space: Space
    strategy: Strategy
    link: str = "probability"
    n_samples: NSamples = SAMPLES_RULE.most
    rule: Rule = SAMPLES_RULE
    without_embeddings: str | None = None

    def __post_init__(self) -> None:
        check_n_samples(self.n_samples)
        object.__setattr__(self, "strategy", completed(self.strategy, Strategy))
        if self.link not in LINKS:
            raise unknown(LINKS.kind, self.link, list(LINKS))

    def budget(self, n_units: int, *, stops_early: bool = False) -> int:
        """Return the number of samples for a text of so many units.

        "auto" is a rule of the number of units. With a stopping rule, which decides itself, it is the largest number
        that this rule allows.
        """
        if self.n_samples != AUTO:
            return int(self.n_samples)
        return self.rule.most if stops_early else self.rule.samples(n_units)

    @property
    def needs_gradients(self) -> bool:
        """Whether it needs the gradients of the model."""
        return self.strategy.needs_gradients

    @property
    def gaussian(self) -> Gaussian | None:
        """The design if it is Gaussian (with sigma and center), else None."""
        design = self.strategy.design if isinstance(self.strategy, Regression) else None
        return design if isinstance(design, Gaussian) else None

    @property
    def noise_level(self) -> float:
        """The standard deviation of a Gaussian design, if it is a single number; 0 for anything else."""
        sigma = np.asarray(None if self.gaussian is None else self.gaussian.sigma)
        return float(sigma) if sigma.ndim == 0 and sigma.dtype.kind in "fiu" else 0.0


def with_reference(method: Method, reference: str) -> Method:
    """Return the method with another reference of its space."""
    if method.space.reference is None:
        name = SPACES.name_of(method.space)
        raise OptionError(
            f"reference is {reference!r}, expected None because the space {name!r} has no reference; leave it out or "
            "use method='mase'"
        )
    return replace(method, space=replace(method.space, reference=reference))  # type: ignore[type-var]


def describe(method: Method) -> dict[str, Any]:
    """Return all hyper-parameters of a method as JSON types, including sigma and center of a Gaussian design."""
    plain: dict[str, Any] = {"name": method.name, "space": _part(SPACES, method.space)}
    if isinstance(method.strategy, Regression):
        design = _part(DESIGNS, method.strategy.design)
        distribution = {key: design.pop(key) for key in ("sigma", "center") if method.gaussian is not None}
        plain |= {
            "design": design,
            "estimator": _part(ESTIMATORS, method.strategy.estimator),
            "link": method.link,
        } | distribution
    else:
        plain |= {"procedure": _part(PROCEDURES, method.strategy), "link": method.link}
    if "sigma" in plain:
        plain["sigma"] = np.asarray(plain["sigma"], dtype=np.float64).tolist()
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in plain.items()} | {
        "n_samples": check_n_samples(method.n_samples)
    }


def _part(registry: Registry, value: Any) -> dict[str, Any]:
    settings, _ = settings_of(value)
    return {"name": registry.name_of(value)} | {name: value for name, value in settings.items() if name != "name"}


def settings_of(part: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the settings of a part, and the names of attributes that may be settings but cannot be recorded.

    The settings are the fields of a dataclass, or the attributes of another object that are plain JSON types.
    """
    if is_dataclass(part):
        return {field.name: getattr(part, field.name) for field in fields(part)}, ()
    values = dict(getattr(part, "__dict__", {}))
    plain = {name: value for name, value in values.items() if _is_plain(value)}
    return plain, tuple(name for name in values if name not in plain)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in {bool, int, float, str}


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
    "mase-chat": {
        "summary": "For chat models that only answer: pairs of halves, then the parts that matter, few requests",
        "space": "token-mask", "procedure": "screening", "link": "probability",
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
    """
    chosen = METHODS[method] if isinstance(method, str) else method
    if not isinstance(chosen, Method):
        raise OptionError(f"method is {method!r}, expected a name such as 'mase', or a mase.methods.Method")
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
            "method='NAME+estimator=least-squares'"
        )


@dataclass(frozen=True, slots=True)
class Variant:
    """A method with other parts: its name or value, None for that of the model, and the parts by name."""

    method: str | Method | None
    parts: Mapping[str, Any]


def _parts(method: "str | Method | Variant | None") -> tuple[str | Method | None, dict[str, Any]]:
    """Return a method without its settings, and the settings of a string as in "mase+sigma=0.3"."""
    if isinstance(method, Variant):
        name, settings = _parts(method.method)
        return name, settings | dict(method.parts)
    if not isinstance(method, str) or "+" not in method:
        return method, {}
    configuration = parse(method)
    if configuration.seed:
        raise OptionError(f"method is {method!r:.80} with a seed, expected none; give it as seed={configuration.seed}")
    return configuration.method, configuration.options


def configured(method: "str | Method | Variant", **overrides: Any) -> Method:
    """Return a method with the settings of its string and with overrides, those that are None apart."""
    named, settings = _parts(method)
    assert named is not None
    return resolve(named, **settings, **{name: value for name, value in overrides.items() if value is not None})


def _substitute(chosen: Method, overrides: Mapping[str, Any], model: Model) -> Method:
    """Return the method for a model without embeddings, with what was changed of the one that it replaces."""
    if chosen.without_embeddings is None:
        raise CapabilityError(
            f"method {chosen.name!r} needs an embedding layer, which {model.name} does not have; use method='mase'"
        )
    own = describe(chosen)
    usual = describe(METHODS[chosen.name]) if chosen.name in METHODS else own | {"link": None, "n_samples": None}
    for name in ("sigma", "center", "design"):
        if own.get(name) != usual.get(name) or (name in overrides and name != "design"):
            raise CapabilityError(
                f"{name} was given for method {chosen.name!r}, which scales embeddings, and {model.name} has none; "
                "leave it out, or use method='mase'"
            )
    kept = {name: getattr(chosen, name) for name in ("link", "n_samples") if own[name] != usual[name]}
    if own.get("estimator") != usual.get("estimator") and isinstance(chosen.strategy, Regression):
        kept["estimator"] = chosen.strategy.estimator
    return resolve(chosen.without_embeddings, **kept)


def suited(method: "str | Method | Variant | None", model: Model, overrides: Mapping[str, Any]) -> Method:
    """Return the method with overrides, adapted to a model.

    Without a name it is "mase", or the one that a language model asks for. A method that needs embeddings is replaced
    for a model without them, the reference "auto" is resolved, and the link of a model without classes is one of its
    own.
    """
    method, settings = _parts(method)
    overrides = settings | {name: value for name, value in overrides.items() if value is not None}
    if method is None:
        method = model.default_method or DEFAULT
    chosen = resolve(method, space=overrides.get("space"))
    if not model.has_embeddings and not chosen.space.binary:
        chosen = _substitute(chosen, overrides, model)
    chosen = resolve(chosen, **overrides)
    links = model.links
    if links and overrides.get("link") is None:
        chosen = replace(chosen, link=links[0])
    elif links and chosen.link not in links:
        raise CapabilityError(
            f"link is {chosen.link!r}, but {model.name} returns values, not class scores, expected one of "
            f"{', '.join(links)}; or leave it out"
        )
    reference = chosen.space.reference
    if reference is None:
        return chosen
    if isinstance(reference, str) and reference == "auto":
        return with_reference(chosen, model.references[0])
    if not isinstance(reference, str) or reference not in model.references:
        raise CapabilityError(
            f"reference is {reference!r:.60}, expected one that {model.name} supports: {', '.join(model.references)}"
        )
    return chosen


# The settings of `mase.Explainer` that a configuration may name, with the type of their values.
SETTINGS: Mapping[str, type] = {
    "center": float, "design": str, "estimator": str, "link": str, "n_samples": int, "reference": str, "sigma": float,
    "space": str,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Configuration:
    """A method with settings, sorted by name. Its string is used on the command line, in results and names of files.

    A seed of 0 stands for none.

    Examples
    --------
    >>> str(Configuration("mase-paper", (("n_samples", 250),), seed=1))
    'mase-paper+n_samples=250+seed=1'
    """

    method: str
    settings: tuple[tuple[str, Any], ...] = ()
    seed: int = 0

    def __str__(self) -> str:
        named = [f"{name}={value}" for name, value in self.settings]
        return "+".join([self.method, *named, *([f"seed={self.seed}"] if self.seed else [])])

    @property
    def options(self) -> dict[str, Any]:
        """The settings and, if it has one, the seed, as options of `mase.Explainer` by name."""
        return dict(self.settings) | ({"seed": self.seed} if self.seed else {})

    def with_seed(self, seed: int) -> "Configuration":
        """Return the configuration with this seed, unless it already has one."""
        return self if self.seed else Configuration(self.method, self.settings, seed)


def parse(text: str) -> Configuration:
    """Return the configuration that a string METHOD+SETTING=VALUE+... describes.

    Whether there is such a method, and whether it takes such a value, is not checked.

    Examples
    --------
    >>> parse("mase+sigma=0.3").settings
    (('sigma', 0.3),)
    """
    method, *parts = text.strip().split("+")
    settings: dict[str, Any] = {}
    for part in parts:
        name, value = _setting(part)
        if name in settings:
            raise OptionError(f"{text!r:.80} has the setting {name!r} twice, expected it once")
        settings[name] = value
    seed = settings.pop("seed", 0)
    return Configuration(method, tuple(sorted(settings.items())), seed)


def _setting(part: str) -> tuple[str, Any]:
    name, sign, typed = part.partition("=")
    if name not in SETTINGS and name != "seed":
        raise unknown("setting", name, [*SETTINGS, "seed"])
    kind = SETTINGS.get(name, int)
    try:
        value = kind(typed) if sign else None
    except ValueError:
        value = None
    if value is None:
        raise OptionError(f"got {part!r:.80}, expected '{name}=VALUE' with a value of type {kind.__name__}")
    if name == "seed" and value < 1:
        raise OptionError(f"got {part!r:.80}, expected a seed >= 1, or none for that of the whole comparison")
    return name, value
