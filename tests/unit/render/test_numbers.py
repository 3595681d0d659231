"""Tests of `mase.render.numbers`."""

import json
import shutil
import subprocess

import pytest

from mase.render.numbers import amount, duration, percent, percent_of_all, share
from mase.render.templates import resource

NODE = shutil.which("node")
AMOUNTS = {
    0.0: "0", 1.0: "1", 0.99996: "1.000", 0.8: "0.8", 1.0625: "1.063", -2.5: "−2.5", 9999.4: "9999", 9999.5: "10,000",
    10000.5: "10,001", -123456.7: "−123,457", 1e6: "1,000,000", 1.5e20: "150,000,000,000,000,000,000", 1e22: "1e+22",
    1.23456e30: "1.235e+30", 1.5e-6: "0.0000015", 1.23456e-6: "0.000001235", 1e-7: "1e-7", -1.23456e-7: "−1.235e-7",
}  # fmt: skip


def test_shares_and_times_are_not_rounded_to_what_they_are_not():
    assert percent(1.0) == "> 99.9 %"
    assert percent(0.0) == "0.0 %"
    assert [percent_of_all(share) for share in (1.0, 0.99999, 0.5)] == ["100 %", "> 99.9 %", "50.0 %"]
    assert duration(0.0004) == "0 ms"
    assert [duration(seconds) for seconds in (0.9996, 59.96, 119.7)] == ["1.0 s", "1 min 0 s", "2 min 0 s"]


def test_no_digit_of_an_amount_is_made_up():
    assert {value: amount(value) for value in AMOUNTS} == AMOUNTS


def written_by_script(function, values):
    """Return what a function of the script makes of each of some numbers."""
    script = resource("mase.render", "static/numbers.js")
    script += f"console.log(JSON.stringify({json.dumps(values)}.map({function})));"
    command = [NODE, "--input-type=module", "-"]
    found = subprocess.run(command, input=script, capture_output=True, text=True, encoding="utf-8", check=True)
    return json.loads(found.stdout)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_scripts_write_amounts_as_python_does():
    values = [*AMOUNTS, *(sign * 1.2345678 * 10.0**power for power in range(-12, 25) for sign in (1, -1))]
    assert written_by_script("amount", values) == [amount(value) for value in values]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_scripts_round_shares_as_python_does():
    """Trees that vote give shares that are in the middle between two of those that are written, such as 13/16."""
    shares = [*(n / 64 for n in range(65)), *(n / 2000 for n in range(2001))]
    found = [text.replace("\u00a0", " ") for text in written_by_script("percent", shares)]
    assert found == [percent(value) for value in shares]
    signed = shares + [-value for value in shares if value]
    assert written_by_script("share", signed) == [share(value) for value in signed]
