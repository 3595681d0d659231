"""Tests of `mase.models.http.pace`."""

import pytest

from mase.models.http.pace import retry_after


@pytest.mark.parametrize(
    "value", ["", "soon", "-5", "Wed, 21 Oct 99999 07:28:00 GMT", "Wed, 1 Oct 9999 07:28:007099999999"]
)
def test_what_is_neither_a_number_nor_a_date_asks_for_nothing(value):
    assert retry_after({"Retry-After": value}) is None
