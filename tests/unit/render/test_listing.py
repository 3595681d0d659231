"""Tests of `mase.render.listing`."""

from rich.cells import cell_len
from tests.answers import cited
from tests.attributions import attribution

from mase.attribution import Attributions


def test_a_line_names_prediction_and_strongest_words():
    found = Attributions([attribution(se=0.001), attribution("a dull film", label="neg", other="pos")])
    assert repr(found).splitlines() == [
        "2 attributions",
        " 1  pos 80.0 %  superb +0.250, dull −0.125, plot −0.040",
        " 2  neg 80.0 %  dull −0.125",
    ]


def test_words_that_may_be_noise_are_not_named():
    assert (
        repr(Attributions([attribution(se=1.0)]))
        .splitlines()[1]
        .endswith("80.0 %  no word for or against (read with care)")
    )


def test_results_that_are_not_reliable_say_so():
    found = Attributions([attribution(se=0.001), attribution(se=0.001, notes=[("poor-fit", "beware")])])
    assert [line.endswith("(read with care)") for line in repr(found).splitlines()] == [False, False, True]


def test_another_class_than_the_predicted_one_is_named():
    assert "for neg: superb" in repr(Attributions([attribution(target="neg")]))


def test_a_long_list_is_capped_and_says_so():
    lines = repr(Attributions([attribution()] * 1234)).splitlines()
    assert len(lines) == 22
    assert lines[0] == "1,234 attributions"
    assert lines[-1] == " … 1,214 more"


def test_hostile_names_stay_on_their_line_and_within_a_width():
    made = attribution(f"{'w' * 500} \x1b[31m", [1.0], spans=[(0, 500)], label="l\n\x1b" * 300)
    _, line = repr(Attributions([made])).splitlines()
    assert "\x1b" not in line
    assert cell_len(line) < 100


def test_a_notebook_shows_ten_articles_and_how_to_see_the_others():
    found = Attributions([attribution("<script>alert(1)</script> superb")] * 12)
    content = found._repr_html_()
    assert content.count("<article") == 10
    assert "2 more texts" in content
    assert "<script" not in content
    assert "more text" not in found[:10]._repr_html_()


def test_an_empty_list_says_so():
    assert repr(Attributions()) == "0 attributions"
    assert "0 attributions" in Attributions()._repr_html_()


def test_answers_are_listed_by_their_text():
    found = Attributions([cited(), attribution()])
    assert repr(found).splitlines()[1] == (
        " 1  The capital of France is Paris. It lies…  Paris is the capita… +6.00, The Seine flows thr… +3.00, "
        "Berlin lies on the… −1.00"
    )
    assert ".p3:hover" in found._repr_html_()
    assert ".p3:hover" not in found[1:]._repr_html_()


def test_what_is_read_from_right_to_left_is_kept_apart_from_numbers():
    _, line = repr(Attributions([attribution("جميل", [0.5], label="إيجابي")])).splitlines()
    assert "\u2068إيجابي\u2069 80.0 %" in line
    assert "\u2068جميل\u2069 +0.500" in line
