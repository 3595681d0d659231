"""Small pretrained encoders."""

import pytest
from paper.tests.training.bases import write_base


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """Return the folder of a random BERT and its tokenizer."""
    return write_base(tmp_path_factory.mktemp("base"), "bert")
