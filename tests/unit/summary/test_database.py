"""Tests of what statements may do: nothing but compute."""

import pytest

from mase.errors import DataError
from mase.summary.database import database


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{path}')",
        "COPY (SELECT 1) TO '{path}.copy'",
        "ATTACH '{path}.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
    ],
)
def test_statements_reach_no_file_and_change_no_setting(tmp_path, statement):
    path = tmp_path / "file.csv"
    path.write_text("a\n1\n")
    with pytest.raises(DataError), database() as tables:
        tables.run(statement.format(path=path))
    assert [found.name for found in tmp_path.iterdir()] == ["file.csv"]
