"""The figures printed in the paper (arXiv 2512.04386v1): Delta Accuracy by target, method and k."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["KS", "METHODS", "PAPER", "Figure", "PaperTable", "printed"]

# Columns of both tables.
KS = (1, 5, 10, 15)


@dataclass(frozen=True, slots=True)
class Figure:
    """A printed mean and the number after its ±, which the paper does not define."""

    mean: float
    spread: float


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One half of a table: its label in the paper's source, and its figures by the paper's names of the methods."""

    label: str
    rows: Mapping[str, tuple[Figure, ...]]


def _table(label: str, rows: Mapping[str, tuple[tuple[float, float], ...]]) -> PaperTable:
    return PaperTable(label, {name: tuple(Figure(*cell) for cell in cells) for name, cells in rows.items()})


# The paper prints its second table twice, with the same numbers and the same label.
PAPER: Mapping[str, PaperTable] = {
    "lstm-imdb": _table("tab:performance1", {
        "Random": ((0.015, 0.012), (0.063, 0.012), (0.116, 0.015), (0.158, 0.021)),
        "LIME": ((0.071, 0.022), (0.113, 0.032), (0.175, 0.027), (0.214, 0.02)),
        "SHAP": ((0.178, 0.014), (0.663, 0.022), (0.895, 0.039), (0.969, 0.041)),
        "PI": ((0.053, 0.018), (0.103, 0.033), (0.153, 0.034), (0.191, 0.036)),
        "Grad*": ((0.036, 0.017), (0.163, 0.026), (0.258, 0.03), (0.367, 0.034)),
        "MASE": ((0.174, 0.018), (0.646, 0.054), (0.817, 0.05), (0.876, 0.055)),
        "MASE_Sparse": ((0.171, 0.02), (0.643, 0.037), (0.818, 0.051), (0.866, 0.035)),
    }),
    "lstm-reuters": _table("tab:performance1", {
        "Random": ((0.018, 0.005), (0.051, 0.016), (0.099, 0.035), (0.163, 0.054)),
        "LIME": ((0.016, 0.022), (0.073, 0.026), (0.123, 0.031), (0.192, 0.043)),
        "SHAP": ((0.028, 0.018), (0.078, 0.025), (0.15, 0.026), (0.229, 0.033)),
        "PI": ((0.018, 0.013), (0.068, 0.029), (0.119, 0.028), (0.157, 0.043)),
        "Grad*": ((0.088, 0.018), (0.198, 0.024), (0.266, 0.025), (0.328, 0.017)),
        "MASE": ((0.095, 0.018), (0.481, 0.03), (0.732, 0.034), (0.841, 0.047)),
        "MASE_Sparse": ((0.104, 0.021), (0.483, 0.033), (0.646, 0.038), (0.693, 0.039)),
    }),
    "bert-imdb": _table("tab:performance2", {
        "Random": ((0.007, 0.005), (0.023, 0.017), (0.039, 0.028), (0.047, 0.025)),
        "LIME": ((0.045, 0.022), (0.055, 0.032), (0.061, 0.027), (0.062, 0.02)),
        "SHAP": ((0.033, 0.01), (0.117, 0.018), (0.171, 0.016), (0.219, 0.03)),
        "PI": ((0.009, 0.013), (0.032, 0.017), (0.047, 0.013), (0.05, 0.029)),
        "Grad*": ((0.024, 0.009), (0.097, 0.014), (0.129, 0.012), (0.147, 0.01)),
        "MASE": ((0.052, 0.018), (0.216, 0.054), (0.322, 0.05), (0.396, 0.055)),
        "MASE_Sparse": ((0.054, 0.02), (0.23, 0.037), (0.322, 0.051), (0.39, 0.035)),
    }),
    "bert-reuters": _table("tab:performance2", {
        "Random": ((0.011, 0.017), (0.02, 0.015), (0.034, 0.024), (0.049, 0.022)),
        "LIME": ((0.041, 0.027), (0.053, 0.029), (0.064, 0.023), (0.063, 0.021)),
        "SHAP": ((0.03, 0.014), (0.226, 0.02), (0.284, 0.019), (0.356, 0.029)),
        "PI": ((0.026, 0.031), (0.049, 0.034), (0.056, 0.043), (0.06, 0.051)),
        "Grad*": ((0.018, 0.023), (0.067, 0.026), (0.075, 0.031), (0.083, 0.029)),
        "MASE": ((0.061, 0.025), (0.256, 0.026), (0.358, 0.032), (0.409, 0.033)),
        "MASE_Sparse": ((0.058, 0.024), (0.251, 0.029), (0.362, 0.039), (0.402, 0.036)),
    }),
}  # fmt: skip

# The paper's row for each of our methods. SHAP is Deep SHAP on the LSTMs. On BERT the paper excludes Deep SHAP and
# still prints a row, so Kernel SHAP is compared with it. LIME has two variants: the paper's and the package's.
METHODS: Mapping[str, str] = {
    "random": "Random",
    "lime-paper": "LIME",
    "lime": "LIME",
    "deep-shap": "SHAP",
    "kernel-shap": "SHAP",
    "permutation-importance": "PI",
    "gradient": "Grad*",
    "mase-paper": "MASE",
    "mase-sparse": "MASE_Sparse",
}


def printed(target: str, method: str, k: int) -> Figure | None:
    """Return the paper's figure for one of our methods at one k, or None.

    Examples
    --------
    >>> printed("lstm-imdb", "mase-paper", 15)
    Figure(mean=0.876, spread=0.055)
    """
    if target not in PAPER or method not in METHODS or k not in KS:
        return None
    return PAPER[target].rows[METHODS[method]][KS.index(k)]
