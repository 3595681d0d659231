"""Tests of the threads of `mase.models.runtime`."""

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import mase
from mase.models import TorchModule
from mase.models.runtime import single_thread
from mase.provenance import environment
from mase.testing import LogisticClassifier, SmallLSTM, whitespace_ids

WORDS = [f"w{index}" for index in range(150)]


def threads():
    facts = environment(TorchModule(SmallLSTM(), tokenize=whitespace_ids))
    return facts["threads"], facts["torch_threads"]


def test_a_block_has_a_single_thread_and_gives_the_bits_of_one():
    explainer = mase.Explainer(LogisticClassifier(dict(zip(WORDS, np.linspace(-1, 1, 150), strict=True))))
    with threadpool_limits(1):
        expected = explainer(" ".join(WORDS)).scores.tolist()
    before = torch.get_num_threads()
    with threadpool_limits(2, user_api="blas"):
        torch.set_num_threads(2)
        try:
            with single_thread():
                assert threads() == (1, 1)
                assert explainer(" ".join(WORDS)).scores.tolist() == expected
            assert threads() == (2, 2)
        finally:
            torch.set_num_threads(before)
