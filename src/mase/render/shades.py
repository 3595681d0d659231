"""Units that are shaded for one of several responses at a time, by a style sheet alone."""

from collections.abc import Sequence

from markupsafe import Markup

from mase.attribution import Attribution
from mase.render.palette import is_significant, is_unsigned, scale_of

__all__ = ["shades", "shading"]

# Opacity, and pixels of the line below, by level.
_LEVELS = ((0.08, 1), (0.16, 1), (0.25, 2), (0.34, 2), (0.44, 3), (0.56, 3))


def shades(found: Sequence[Attribution]) -> list[Markup]:
    """Return for each unit its attributes `r0`, `r1`, ...: one for each of these attributions of several responses.

    They hold the level, after "-" if the unit speaks against the response, and before "~" if its interval includes 0.
    """
    names = [Markup("")] * len(found[0].units)
    for index, one in enumerate(found):
        signed = not is_unsigned(one)
        for unit, (word, level) in enumerate(
            zip(one.word_scores, scale_of(one).levels(one.scores, len(_LEVELS)).tolist(), strict=True)
        ):
            if level:
                sign, faint = "-" if signed and word.score < 0 else "", "" if is_significant(word) else "~"
                names[unit] += Markup(f" r{index}={sign}{level}{faint}")
    return names


def shading(n_parts: int) -> str:
    """Return the style sheet that shades sources for a whole answer, and for one of n parts that is chosen."""
    rules = [_rules(".mase .cites ", 0)]
    for index in range(1, n_parts + 1):
        part = f".p{index}"
        chosen = (
            f":has({part}:hover),:not(:has(.part:hover)):has({part}:focus-within),"
            f":not(:has(.part:hover,.part:focus-within)):has({part}:target,{part}.target)"
        )
        of = f".of0{{display:none}}.of{index}{{display:inline}}.at{index}{{background:rgb(128 128 128/.16)}}"
        rules.append(f".mase .cites:is({chosen}){{{_rules('', index)}{of}}}")
    return "".join(rules)


def _rules(within: str, index: int) -> str:
    """Return the rules that shade units by their attribute `r` of one response."""
    levels = (
        f'{within}[r{index}*="{level}"]{{--k:{opacity};--w:{width}px;--e:1}}'
        for level, (opacity, width) in enumerate(_LEVELS, 1)
    )
    return (
        f"{within}.u{{--k:0;--f:1;--e:0;--c:var(--for);--s:solid;--g:1}}{''.join(levels)}"
        f'{within}[r{index}^="-"]{{--c:var(--against);--s:dashed;--g:var(--solid,1)}}'
        f'{within}[r{index}$="~"]{{--f:.4;--e:0}}'
    )
