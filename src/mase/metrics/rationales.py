"""What removal of the top words costs at several sizes: shared by comprehensiveness and sufficiency."""

from collections.abc import Sequence

import numpy as np

from mase.arrays import Floats
from mase.metrics.curves import chances
from mase.metrics.protocol import Better, Case, Column
from mase.metrics.ranking import ranking, share_counts, without_top

__all__ = ["ERASER_SHARES", "drops", "rationale_columns"]

# DeYoung et al., ERASER, ACL 2020, section 4: the top 1 %, 5 %, 10 %, 20 % and 50 % of the words.
ERASER_SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


def rationale_columns(shares: Sequence[float], ks: Sequence[int], better: Better) -> tuple[Column, ...]:
    """Return the mean over the shares, each k, and each share (which tables leave out)."""
    parts = tuple(Column(f"{100 * share:g}%", better, headline=False) for share in shares)
    return (Column("mean", better), *(Column(f"k={k}", better) for k in ks), *parts)


def drops(case: Case, shares: Sequence[float], ks: Sequence[int], *, keep_top: bool) -> Floats:
    """Return p(text) - p(what is left) as `rationale_columns` orders them: the top words are taken out, or alone are kept."""
    counts = (*share_counts(len(case.masker.words), shares), *ks)
    without = without_top(ranking(case.scores), counts)
    lost = case.whole - chances(case, ~without if keep_top else without)
    by_share, by_k = lost[: len(shares)], lost[len(shares) :]
    return np.concatenate([by_share.mean(keepdims=True), by_k, by_share])
