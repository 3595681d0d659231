"""Tests of `mase.outputs.html`."""

import io

from tests.attributions import attribution

from mase.io.json import Failure
from mase.outputs.html import HtmlPage


def test_the_page_names_the_texts_that_failed():
    stream = io.BytesIO()
    page = HtmlPage(stream)
    page.add(1, attribution())
    page.add(2, Failure(2, "ModelError", "it broke"))
    page.close()
    assert "Text 2: ModelError: it broke" in stream.getvalue().decode()
