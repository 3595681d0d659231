"""Tests of `mase.datasets.imdb`."""

import io

from tests.unit.datasets.archives import IMDB_ROWS, REVIEWS, tar_gz

from mase.datasets.imdb import IMDB


def test_imdb_rows_are_sorted_and_raw_and_the_unlabelled_part_is_left_out():
    assert IMDB.rebuild(io.BytesIO(tar_gz(REVIEWS))) == IMDB_ROWS
