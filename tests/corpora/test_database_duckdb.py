"""Tests of the database for the tables of runs."""

import pyarrow as pa
import pytest

from mase.errors import DataError
from mase_corpora.database import database

pytest.importorskip("duckdb")
TABLES = [pa.table({"x": [1.0, 2.0]}), pa.table({"x": [None, 4.0]})]


def test_tables_are_loaded_and_asked():
    with database() as found:
        found.load("numbers", TABLES[0].schema, TABLES, "x, 2 * x AS y")
        assert found.row("SELECT sum(x), sum(y), count(*) FROM numbers") == (7, 14, 4)
        assert found.table("SELECT y FROM numbers ORDER BY y").column("y").to_pylist() == [2, 4, 8, None]
        batches = list(found.numbers("SELECT x FROM numbers WHERE x IS NOT NULL ORDER BY x"))
        assert [x for batch in batches for x in batch] == [1, 2, 4]
        found.load("none", TABLES[0].schema, [])
        assert found.row("SELECT count(*) FROM none") == (0,)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('{path}')",
        "SELECT * FROM '{path}'",
        "ATTACH '{path}.db'",
        "COPY (SELECT 1) TO '{path}.csv'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ],
)
def test_it_opens_no_other_file(tmp_path, statement):
    path = tmp_path / "secret.csv"
    path.write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(DataError), database() as found:
        found.run(statement.format(path=path))
    assert [file.name for file in tmp_path.iterdir()] == ["secret.csv"]
