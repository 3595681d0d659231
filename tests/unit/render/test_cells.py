from rich.cells import cell_len

from mase.render.cells import cells, shortened


def test_long_labels_end_with_an_ellipsis():
    assert (shortened("a sentence", 10), shortened("a sentence!", 10)) == ("a sentence", "a sentenc…")
    assert cells("ab", 4) == "ab  "
    assert cells("我们明天去", 6) == "我们… "


def test_a_label_from_right_to_left_is_kept_apart_from_the_number_after_it():
    label = cells("مملة", 6)
    assert label == "\u2068مملة\u2069  "
    assert cell_len(label) == 6
    assert cells("كلمة طويلة", 5).rstrip().endswith("…\u2069")


def test_a_label_is_not_cut_inside_of_a_flag_or_an_emoji():
    for one in ("🇩🇪", "👨‍👩‍👧"):
        for width in range(2, 8):
            assert set(shortened(one * 8, width).removesuffix("…").split(one)) == {""}
