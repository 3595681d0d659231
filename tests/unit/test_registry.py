"""Names with settings, as in "focused(p_high=0.8)"."""

import pytest

from mase.designs import DESIGNS
from mase.errors import OptionError, UnknownNameError
from mase.methods import resolve
from mase.registry import Registry
from mase.spaces import SPACES


def test_settings_in_a_name():
    design = DESIGNS.build(" focused( rounds=3; p_high = .8,softness=1e1 )")
    assert (design.rounds, design.p_high, design.softness, design.p_low) == (3, 0.8, 10.0, 0.1)
    assert SPACES.build("token-scale(reference='unk')").reference == "unk"
    assert resolve("mase", design="focused(n_top=7)").strategy.design.n_top == 7
    assert DESIGNS.build("iid") == DESIGNS["iid"]()


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("focuse(p_high=0.8)", UnknownNameError, "did you mean 'focused'"),
        ("focused(p_hig=0.8)", UnknownNameError, "did you mean 'p_high'"),
        ("iid(p_high=0.8)", UnknownNameError, "unknown setting of design 'iid'"),
        ("leave-one-out(p_high=0.8)", UnknownNameError, "known: none"),
        ("focused(p_high=0.8", OptionError, "NAME(SETTING=VALUE, ...)"),
        ("focused(p_high)", OptionError, "NAME(SETTING=VALUE, ...)"),
        ("focused(p_high=)", OptionError, "NAME(SETTING=VALUE, ...)"),
        ("focused(p_high=much)", OptionError, "the wrong type"),
        ("focused(p_high=2)", OptionError, "0 < p_low <= p_high < 1"),
    ],
)
def test_settings_that_cannot_be_read(text, error, said):
    with pytest.raises(error) as caught:
        DESIGNS.build(text)
    assert said in str(caught.value)


def test_what_is_shown_of_a_registry_are_its_names():
    assert repr(Registry("colour", {"red": "a:b", "blue": "c:d"})) == "<registry of 2 colours: red, blue>"


def test_a_name_of_earlier_versions_is_answered_with_a_warning():
    registry = Registry("colour", {"red": "mase.errors:MaseError"}, renamed={"rouge": "red"})
    with pytest.warns(FutureWarning, match="colour 'rouge' is now 'red'"):
        assert registry["rouge"] is registry["red"]
    assert "rouge" in registry
    assert "rouge" not in registry.names


def test_the_gaussian_process_is_answered_with_kernel_ridge():
    with pytest.warns(FutureWarning, match="kernel-ridge"):
        method = resolve("mase", estimator="gaussian-process(dof=3)")
    assert method == resolve("mase", estimator="kernel-ridge(dof=3)")
