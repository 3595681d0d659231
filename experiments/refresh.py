"""Update the figures that README.md and docs/ quote from pages of results: `make pages`.

Between `<!-- rows:begin -->` and `<!-- rows:end -->` a page quotes tables that `mase reproduce` wrote. Each row there
is replaced by the row of the same name in the table with the same head and caption. Captions are replaced as well.
"""

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The pages that quote figures, and those of experiments that they quote.
CONFIRMATION = "eighth-confirmation/confirmation"
QUOTING = {"README.md": (CONFIRMATION,), "docs/results.md": (CONFIRMATION, "large/large")}
BLOCK = re.compile(r"(?<=<!-- rows:begin -->\n).*?(?=<!-- rows:end -->)", re.DOTALL)
WIDTH = 120


def name_of(row: str) -> str:
    """Return the name of a row or a caption: its first cell, bold beginning or heading, without numbers of texts."""
    first = re.match(r"\*\*([^*]+)\*\*", row) or re.match(r"#+ (.*)", row) or re.match(r"\|([^|]*)", row)
    return re.sub(r" \([\d,]+\)|<br>[\d,]+ texts", "", first.group(1)).strip() if first else ""


def located(text: str) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """Yield each line with its table: the name of the caption or heading before it, and the head."""
    caption, head = "", ""
    for line in text.splitlines():
        if line.startswith("|"):
            head = head or line
            yield line, (caption, head)
            continue
        head = ""
        caption = name_of(line) if line.startswith(("**", "#")) else caption
        yield line, None


def tables(text: str) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of each table by their names, without tables whose name and head are not unique."""
    by_table: dict[tuple[str, str], list[dict[str, str]]] = {}
    for table, lines in groupby(located(text), key=itemgetter(1)):
        if table is not None:
            by_table.setdefault(table, []).append({name_of(line): line for line, _ in lines})
    return {table: rows[0] for table, rows in by_table.items() if len(rows) == 1}


def captions(text: str) -> dict[str, str]:
    """Return, by name, the caption of a quoted table: each heading with the line after it, as one line."""
    headings = re.findall(r"^#+ (.+)\n\n([^#|\s].*)$", text, re.MULTILINE)
    return {name_of(f"# {heading}"): f"**{heading}**, {first[:1].lower()}{first[1:]}" for heading, first in headings}


def wrapped(paragraph: str) -> str:
    """Return a paragraph in lines of at most 120 characters, without the end of the last one."""
    return textwrap.fill(" ".join(paragraph.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def refreshed(block: str, rows: Mapping[tuple[str, str], Mapping[str, str]], named: Mapping[str, str]) -> str:
    """Return a block of quoted tables with the current rows and captions. A unique head needs no caption."""
    lines, replaced = [], False
    for line, table in located(block):
        name = name_of(line)
        if replaced and table is None and line:
            continue  # the rest of a caption of several lines
        if table is not None:
            sources = [
                known for (caption, head), known in rows.items() if head == table[1] and table[0] in ("", caption)
            ]
            if len(sources) != 1 or name not in sources[0]:
                raise SystemExit(f"expected exactly one row {name} in one table {table[0]} with the head {table[1]}")
            line = sources[0][name]
        replaced = table is None and line.startswith("**") and name in named
        lines.append(wrapped(named[name]) if replaced else line)
    return "".join(f"{line}\n" for line in lines)


def rewritten(text: str, rows: Mapping[tuple[str, str], Mapping[str, str]], named: Mapping[str, str]) -> str:
    """Return a page with the current rows and captions in its blocks of quoted tables."""
    return BLOCK.sub(lambda match: refreshed(match.group(), rows, named), text)


def main(root: Path) -> int:
    """Rewrite the pages below `root` that quote figures."""

    def page(name: str) -> str:
        return (root / "experiments" / f"{name}.md").read_text(encoding="utf-8")

    for name, quoted in QUOTING.items():
        rows = {table: known for one in quoted for table, known in tables(page(one)).items()}
        named = {caption: line for one in quoted for caption, line in captions(page(one)).items()}
        path = root / name
        path.write_text(rewritten(path.read_text(encoding="utf-8"), rows, named), encoding="utf-8")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the repository")
    sys.exit(main(parser.parse_args().root))
