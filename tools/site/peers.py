"""Run the code of other libraries that pages show, and compare what it prints: python tools/site/peers.py FOLDER.

All blocks `python` of a page run from top to bottom in one namespace: examples with `>>>`, which are this library's and
also run by `make test`, and plain code, which is another library's. What plain code prints is shown in the block `text`
after it; `...` stands for anything. It runs in the environment of `make bench-peers`.
"""

import contextlib
import doctest
import io
import re
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_examples(code: str, names: dict[str, Any], place: str) -> str:
    """Run examples with `>>>`, keep the names that they define, and return what is wrong with them."""
    report = io.StringIO()
    test = doctest.DocTestParser().get_doctest(code, names, place, place, 0)
    doctest.DocTestRunner(verbose=False, optionflags=_OPTIONS).run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    return report.getvalue()


def run_code(code: str, expected: str, names: dict[str, Any], place: str) -> str:
    """Run plain code, keep the names that it defines, and return what is wrong with what it prints."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, place, "exec"), names)
    except Exception:  # noqa: BLE001  # any error of another library is a wrong page
        return f"{place}\n{traceback.format_exc()}"
    if doctest.OutputChecker().check_output(expected, printed.getvalue(), _OPTIONS):
        return ""
    return f"{place}\n{code}expected\n{expected}got\n{printed.getvalue()}"


def failures(path: Path) -> list[str]:
    """Run the blocks of a page and return what is wrong."""
    page, names, wrong = path.read_text(encoding="utf-8"), {"__name__": "__main__"}, []
    for match in _BLOCK.finditer(page):
        place = f"{path.name}, line {page[: match.start()].count(chr(10)) + 1}"
        code, expected = match[1], match[2] or ""
        wrong.append(run_examples(code, names, place) if ">>> " in code else run_code(code, expected, names, place))
    return [one for one in wrong if one]


def main(folder: Path) -> int:
    """Run all pages of a folder, print what is wrong, and return the exit code."""
    warnings.simplefilter("ignore")
    pages = sorted(folder.glob("*.md"))
    wrong = [one for path in pages for one in failures(path)]
    sys.stderr.writelines(f"{one}\n" for one in wrong)
    number = sum(len(_BLOCK.findall(path.read_text(encoding="utf-8"))) for path in pages)
    sys.stdout.write(f"{number} blocks on {len(pages)} pages of other libraries: {len(wrong)} wrong\n")
    return bool(wrong) or not pages


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
