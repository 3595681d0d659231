"""Tests of `mase.scalars`: numbers of NumPy as options and as ids."""

import numpy as np
import pytest

import mase
from mase.corpus.items import Columns
from mase.datasets.documents import DocumentColumns
from mase.designs.focused import Focused
from mase.errors import DataError, OptionError
from mase.estimators.boosted_trees import BoostedTrees
from mase.io.json import dumps, loads
from mase.metrics.naopc import NormalisedAopc
from mase.models.http.service import check_batch_size
from mase.models.language.generated import check_max_new_tokens
from mase.procedures.beam_search import BeamSearch
from mase.procedures.partition_shap import PartitionShap


def judge(texts):
    return [[0.75, 0.25] if "good" in text else [0.5, 0.5] for text in texts]


NUMBERS = {"batch_size": np.int64(3), "evidence": np.uint8(2), "tolerance": np.float32(0.2), "seed": np.int32(1)}
NUMBERS |= {"n_samples": np.int64(64), "stable_top": np.int16(1), "confidence": np.float32(0.75)}


def test_options_are_numbers_of_any_library():
    plain = {name: number.item() for name, number in NUMBERS.items()}
    found, expected = (mase.Explainer(judge, **options)("a good film is long") for options in (NUMBERS, plain))
    assert found.scores.tolist() == expected.scores.tolist()
    assert found.method == expected.method
    assert loads(dumps(found)).method == expected.method
    zoomed = mase.Explainer(judge, units="sentence", zoom=np.int64(1))("A good film. It is long.").zoomed
    assert len(zoomed.units) == 3
    assert (check_batch_size(np.int64(3)), check_max_new_tokens(np.int64(3))) == (3, 3)


@pytest.mark.parametrize("option", [*NUMBERS, "zoom"])
@pytest.mark.parametrize("wrong", [True, np.True_, "3", -1, np.float64("nan")])
def test_other_values_are_refused(option, wrong):
    with pytest.raises(OptionError, match=f"{option} is"):
        mase.Explainer(judge, **{"units": "sentence", option: wrong})


@pytest.mark.parametrize("wrong", [0, 2.5, True, "3", None])
@pytest.mark.parametrize(
    ("part", "option"),
    [
        (BeamSearch, "beam"),
        (PartitionShap, "per_round"),
        (BoostedTrees, "depth"),
        (Focused, "rounds"),
        (NormalisedAopc, "beam"),
    ],
)
def test_parts_of_methods_refuse_other_values_too(part, option, wrong):
    with pytest.raises(OptionError, match=f"{option} is {wrong!r}, expected an integer >= 1"):
        part(**{option: wrong})


def test_ids_are_integers_of_any_library():
    columns = Columns(DocumentColumns("text"), id="id")
    assert columns.item(0, {"text": "a", "id": np.int64(7)}).id == "7"
    for wrong in (True, 7.0, np.float64(7)):
        with pytest.raises(DataError, match="expected a string or an integer"):
            columns.item(0, {"text": "a", "id": wrong})
