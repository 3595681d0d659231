"""Lines of Markdown have at most 120 characters, as those of Python, which ruff checks."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "experiments").is_dir():
    pytest.skip("the documents speak of the whole repository", allow_module_level=True)
LIMIT = 120
GENERATED = [*(ROOT / "experiments").rglob("*/*.md"), *(ROOT / "benchmarks" / "results").glob("*.md")]
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(page for folder in ("benchmarks", "docs", "experiments", "paper") for page in (ROOT / folder).rglob("*.md")),
    }
    - set(GENERATED)
)

_NOT_PROSE = re.compile(
    r"^```.*?^```$|<!-- rows:begin -->.*?<!-- rows:end -->|^ *\|.*?$|^#.*?$", re.MULTILINE | re.DOTALL
)
# A list item or a line of its own that is one link, one image or one word cannot be broken.
_UNBREAKABLE = re.compile(r"^ *(?:[-*] )?(?:!?\[[^\]]*\]\([^)]*\)|\S+)[.,:;]?$")


def long_lines(text: str, quoted: frozenset[str] = frozenset()) -> list[str]:
    """Return the lines of prose that are too long, without those that are quoted from generated pages."""
    lines = _NOT_PROSE.sub("", text).splitlines()
    return [line for line in lines if len(line) > LIMIT and not _UNBREAKABLE.match(line) and line not in quoted]


def test_lines_of_documents_have_at_most_120_characters():
    quoted = frozenset(line for path in GENERATED for line in path.read_text(encoding="utf-8").splitlines())
    found = {str(page.relative_to(ROOT)): long_lines(page.read_text(encoding="utf-8"), quoted) for page in PAGES}
    assert {page: lines for page, lines in found.items() if lines} == {}


WORDS, CODE = "word " * 24 + "end", "x" * 121


def test_long_prose_is_found():
    for line in (WORDS, f"- {WORDS}", f"  {WORDS}", f"{'w ' * 20}[a link](https://{CODE})"):
        assert long_lines(f"# Title\n\n{line}\nshort\n\n```sh\ncode\n```\n") == [line]
        assert long_lines(f"```sh\ncode\n```\n\n{line}\n\n```sh\ncode\n```\n") == [line]
        assert long_lines(line[:LIMIT]) == []


def test_lines_that_cannot_be_wrapped_may_be_long():
    for text in (
        f"```python\n{WORDS}\n```", f"| {WORDS} |", f"# {WORDS}", f"- [{WORDS}](page.md)", f"![{WORDS}](image.png)",
        f"`{CODE}`,", f"<!-- rows:begin -->\n{WORDS}\n<!-- rows:end -->",
    ):  # fmt: skip
        assert long_lines(text) == []
    assert long_lines(f"{WORDS}\n{WORDS}!", frozenset({WORDS})) == [f"{WORDS}!"]
