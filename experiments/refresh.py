"""Bring the rows of figures in README.md and docs/ up to date with the pages beside this file: `make pages`.

Between `<!-- rows:begin -->` and `<!-- rows:end -->` a page quotes tables that `mase reproduce` wrote. Each row there is
replaced by the row of the same name in the table with the same head and caption; so are captions and the counts of comparisons.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUOTING = ("README.md", "docs/results.md")
PAGES = tuple(f"experiments/results/{name}.md" for name in ("faithfulness", "table1", "table2"))
BLOCK = re.compile(r"(?<=<!-- rows:begin -->\n).*?(?=<!-- rows:end -->)", re.DOTALL)
COUNT = re.compile(r"^(Of|Without this library's own methods).* comparisons \(target.*$", re.MULTILINE)


def name_of(row: str) -> str:
    """Return what a row or a caption is about: its first cell or its bold beginning, without the number of texts."""
    first = re.match(r"\*\*[^*]+\*\*", row) or re.match(r"\|[^|]*", row)
    return re.sub(r" \([\d,]+\)", "", first.group()).strip() if first else ""


def tables(text: str) -> dict[tuple[str, str], list[str]]:
    """Return the lines of each table by the name of its caption and its head, the caption's line first."""
    found: dict[tuple[str, str], list[str]] = {}
    caption, current = "", None
    for line in text.splitlines():
        if line.startswith("|"):
            if current is None:
                current = found.setdefault((name_of(caption), line), [caption])
            current.append(line)
            continue
        current = None
        caption = line if line.startswith("**") else "" if line else caption
    return found


def refreshed(block: str, known: dict[tuple[str, str], list[str]]) -> str:
    """Return a block of quoted tables with the rows and captions that are known by now."""
    for (caption, head), lines in tables(block).items():
        if (caption, head) not in known:
            raise SystemExit(f"no page has a table {caption} with the head {head}")
        by_name = {name_of(line): line for line in known[caption, head]}
        for line in lines:
            if line and name_of(line) not in by_name:
                raise SystemExit(f"no page has a row {name_of(line)} in the table {caption}")
            block = block.replace(line, by_name[name_of(line)]) if line else block
    return block


def main() -> int:
    """Rewrite the quoting pages."""
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    known = {key: lines for page in pages for key, lines in tables(page).items()}
    counts = {match.group(1): match.group() for match in COUNT.finditer(pages[0])}
    for name in QUOTING:
        path = ROOT / name
        text = BLOCK.sub(lambda found: refreshed(found.group(), known), path.read_text(encoding="utf-8"))
        path.write_text(COUNT.sub(lambda found: counts[found.group(1)], text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
