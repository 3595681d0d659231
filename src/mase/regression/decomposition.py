"""The singular value decomposition, of every finite matrix."""

import numpy as np
from scipy import linalg

from mase.arrays import Floats

__all__ = ["decomposed"]


def decomposed(matrix: Floats, *, whole: bool = False) -> tuple[Floats, Floats, Floats]:
    """Return the singular value decomposition u `(n, r)`, s `(r,)` and v' `(r, p)` of a matrix `(n, p)`.

    The algorithm of NumPy (gesdd of LAPACK) is fast, but does not converge for a few finite matrices. Of these the
    decomposition is by a slower one (gesvd).

    Parameters
    ----------
    matrix
        The matrix.
    whole
        Whether u is `(n, n)` and v' is `(p, p)`.

    Examples
    --------
    >>> decomposed(np.diag([3.0, 4.0]))[1].tolist()
    [4.0, 3.0]
    """
    try:
        return np.linalg.svd(matrix, full_matrices=whole)
    except np.linalg.LinAlgError:
        u, s, vt = linalg.svd(matrix, full_matrices=whole, lapack_driver="gesvd")
        return u, s, vt
