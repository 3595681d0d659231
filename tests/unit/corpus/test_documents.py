"""Tests of documents that are read from a run."""

import pytest

from mase.corpus.documents import fields_of
from mase.errors import DataError


def test_fields_are_read_in_order():
    document = '[{"name": "title", "text": "é", "fixed": true}, {"name": "text", "text": "b", "fixed": false}]'
    assert fields_of(document, 0) == [("title", "é"), ("text", "b")]
    assert fields_of(None, 0) == []


@pytest.mark.parametrize("document", ["", "{}", "[1]", '[{"name": "text"}]', "[" * 100_000, '[{"name": 1, "text": 2}]'])
def test_what_is_no_document_is_refused_with_its_row(document):
    with pytest.raises(DataError, match="row 7"):
        fields_of(document, 7)
