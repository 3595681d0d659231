"""The notebooks run, and are committed as they ran."""

import json
import re
from pathlib import Path

import pytest

tool = pytest.importorskip("tools.notebooks", reason="the notebooks are in the repository only")
FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def code_cells(path):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def printed(found):
    return ["".join(output["text"]) for output in found if output["output_type"] == "stream"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_was_executed_in_order(path):
    cells = code_cells(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell["outputs"]) for cell in cells) >= 4
    assert all(output["output_type"] != "error" for cell in cells for output in cell["outputs"])


@pytest.mark.pages
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_text_has_the_figures_of_the_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = [line for cell in cells if cell["cell_type"] == "markdown" for line in cell["source"]]
    assert set(re.findall(r"\d+\.\d+", "".join(text))) <= set(re.findall(r"\d+\.\d+", json.dumps(code_cells(path))))


@pytest.mark.pages
def test_a_notebook_still_prints_what_it_printed():
    pytest.importorskip("sklearn")
    pytest.importorskip("pandas")
    ran = list(tool.execute(FOLDER / "3-find-a-shortcut.ipynb"))
    assert len(ran) == 7
    for cell, found in ran:
        assert printed(found) == printed(cell["outputs"])


def test_outputs_are_what_a_cell_prints_and_its_last_value():
    class Shown:
        def __repr__(self):
            return "R² 0.98 · 1,001 evaluations · 1 min 22 s · seed 0\n"

        def _repr_html_(self):
            return "<p>R² 0.98 · 1.2 s</p>"

    first, second = tool.outputs("print(1)\nprint(2)\nshown", {"shown": Shown()}, "here")
    assert first == {"name": "stdout", "output_type": "stream", "text": ["1\n", "2\n"]}
    assert second["data"]["text/plain"] == ["R² 0.98 · 1,001 evaluations · seed 0\n"]
    assert second["data"]["text/html"] == ["<p>R² 0.98</p>"]
    assert tool.outputs("x = 1", {}, "here") == tool.outputs("None", {}, "here") == []


def test_a_path_of_the_machine_is_refused():
    with pytest.raises(ValueError, match="here: an output has the path"):
        tool.outputs(f"print({str(FOLDER)!r})", {}, "here")


def test_a_cell_that_fails_is_an_error():
    with pytest.raises(ZeroDivisionError):
        tool.outputs("1 / 0", {}, "here")
