"""Compare two runs over the same texts."""

import os

from mase.comparison.comparison import Comparison, Texts
from mase.comparison.matching import flips, match, predictions, turn
from mase.comparison.reasons import compare_reasons
from mase.comparison.shifts import compare_words
from mase.corpus.database import database
from mase.corpus.opened import Run, open_run
from mase.errors import DataError, OptionError
from mase.scalars import check_integer, is_real

__all__ = ["compare"]


def compare(
    first: Run | str | os.PathLike[str],
    second: Run | str | os.PathLike[str],
    *,
    common_only: bool = False,
    min_texts: int = 20,
    rate: float = 0.05,
) -> Comparison:
    """Return which predictions and which reasons differ between two runs over the same texts.

    Texts are matched by id. Their documents must be equal, and of language models the explained answers, too. Scores
    are compared for the responses (classes) that both runs explain of a text. Of two classes whose scores are opposite
    (of the links margin and probability), those for one are counted for the other with the sign turned, if the runs
    explain the predicted class. Of more, texts whose prediction flips are left out, and words that are frequent in them
    are named. Single scores are tested with the
    difference divided by ``sqrt(se_1**2 + se_2**2)``, over all words of all texts at the false discovery rate `rate`
    (Benjamini and Hochberg). The rate is as good as the standard errors: where they are too small, as they are for a
    few words of some texts, two runs that differ by their seed alone have false discoveries, too. With the same seed,
    the two share a part of their noise, and the test is conservative.

    Parameters
    ----------
    first, second
        Runs, or their folders.
    common_only
        Compare the texts that both runs explained, even if others are in one only, have different documents, or failed
        in one of the runs.
    min_texts
        Test the mean score of words that occur in at least so many different texts. A text that occurs several times
        counts once, unless neither run has texts, without which copies cannot be recognised.
    rate
        False discovery rate of the tests of single scores, and of words.

    Raises
    ------
    DataError
        If a run cannot be read, an id is not unique, or the texts differ or failed in one run only and `common_only` is
        not set.
    OptionError
        If `min_texts` is below 2, `rate` is not between 0 and 1, or `first` or `second` is neither a run nor a path.
    MissingDependencyError
        If DuckDB is not installed.

    Notes
    -----
    Scores of different links have different units. Where the runs explain different links, the order and the signs of
    the scores are compared, and neither the sizes of single scores nor the means of words.
    """
    min_texts = check_integer("min_texts", min_texts, 2)
    if not is_real(rate) or not 0 < rate < 1:
        raise OptionError(f"rate is {rate!r:.60}, expected a number between 0 and 1, for example 0.05")
    one, other = open_run(first), open_run(second)
    with database() as connection:
        texts = match(connection, one, other)
        if not common_only:
            _check_equal(texts)
        changed = predictions(connection)
        common = turn(connection, one, other)
        reasons, agreement = compare_reasons(connection, rate)
        tables = {"flips": flips(connection), "reasons": agreement}
        shifts = None
        if all(link == other_link for link, other_link in reasons.links):
            shifts, tables["words"] = compare_words(connection, one, min_texts, rate, common)
    places = one.folder.place, other.folder.place
    return Comparison(*places, texts, changed, reasons, shifts, tables, common_only)


def _check_equal(texts: Texts) -> None:
    unequal = {
        "only in the first run": texts.only_first,
        "only in the second run": texts.only_second,
        "with different documents or answers": texts.different,
        "that failed in the first run only": texts.failed_first - texts.failed_both,
        "that failed in the second run only": texts.failed_second - texts.failed_both,
    }
    if any(unequal.values()):
        counts = ", ".join(f"{count:,} {what}" for what, count in unequal.items() if count)
        raise DataError(
            f"the runs have different texts: {counts}; expected the same, or common_only=True to compare the "
            f"{texts.compared:,} that are equal and explained in both"
        )
