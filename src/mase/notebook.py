"""A widget for notebooks: results in which words can be taken out, and the model asked again."""

import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from mase.attribution.attribution import Attribution, Attributions
from mase.errors import MaseError, MissingDependencyError, OptionError
from mase.explainer import Explainer
from mase.render.html import answer_style, article, resource, style
from mase.render.terminal import listing_headline

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise MissingDependencyError(f"{error}; run: pip install 'mase-xai[notebook]'") from error

# Scripts that the workbench shares, each after those that it imports.
_SHARED = ("words.js", "citations.js", "numbers.js", "parts.js", "trial.js")
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./[\w-]+\.js";\n', re.MULTILINE)


def script() -> str:
    """Return the shared scripts and that of the widget as one module, without their imports of each other."""
    shared = [_IMPORT.sub("", resource("mase.render", f"static/{name}")) for name in _SHARED]
    return "\n".join([*shared, resource("mase.render", "static/widget.js")])


def sheet() -> str:
    """Return the style sheet of the view, which is applied inside of a shadow root only."""
    return (
        style() + answer_style() + resource("mase.render", "trial.css") + resource("mase.render", "static/widget.css")
    )


class Widget(anywidget.AnyWidget):  # type: ignore[misc]
    """A view of attributions for notebooks: the text with its words, the verdict, bars and details.

    Several attributions have a list to choose from. With an explainer, words can be clicked out and in: the model is
    asked, and its probability stands beside the one that the scores led to expect.

    Parameters
    ----------
    found
        An attribution, or several of them.
    explainer
        The explainer that made them, or another one of the same model and units. None shows them only.

    Attributes
    ----------
    index
        Index of the attribution that is shown, from 0. It can be set.
    out
        Indices of the units that are out. It can be set, if there is an explainer.

    Raises
    ------
    OptionError
        If there is no attribution, or something else.

    Examples
    --------
    >>> import mase
    >>> explainer = mase.Explainer(lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts])
    >>> widget = Widget(explainer("a good day"), explainer)
    >>> widget.out = [1]
    >>> widget.answer["label"], round(widget.answer["target_probability"], 2)
    ('1', 0.2)
    """

    _esm = script()
    css = traitlets.Unicode(sheet()).tag(sync=True)
    headlines = traitlets.List(traitlets.Unicode()).tag(sync=True)
    can_ask = traitlets.Bool().tag(sync=True)
    index = traitlets.Int(0).tag(sync=True)
    article = traitlets.Unicode().tag(sync=True)
    attribution = traitlets.Dict().tag(sync=True)
    out = traitlets.List(traitlets.Int()).tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)

    def __init__(self, found: Attribution | Iterable[Attribution], explainer: Explainer | None = None) -> None:
        if not isinstance(explainer, Explainer | None):
            raise OptionError(f"explainer is {explainer!r:.80}, expected a mase.Explainer, or None")
        self._found = _attributions(found)
        self._explainer = explainer
        several = len(self._found) > 1
        super().__init__(
            headlines=list(map(listing_headline, self._found)) if several else [],
            can_ask=explainer is not None,
            **self._shown(0),
        )

    def __repr__(self) -> str:
        """Return the attributions as text, for what shows no widget, such as a saved notebook without scripts."""
        return repr(self._found if len(self._found) > 1 else self._found[0])

    def _shown(self, index: int) -> dict[str, Any]:
        """Return the state that shows an attribution with all of its words in."""
        attribution = self._found[index]
        return {"article": article(attribution), "attribution": attribution.to_dict(), "out": [], "answer": {}}

    @traitlets.validate("index")  # type: ignore[untyped-decorator]
    def _check_index(self, proposal: dict[str, Any]) -> int:
        index = int(proposal["value"])
        if not 0 <= index < len(self._found):
            raise OptionError(f"index is {index}, expected one of the {len(self._found)} attributions, from 0")
        return index

    @traitlets.observe("index")  # type: ignore[untyped-decorator]
    def _show(self, change: dict[str, Any]) -> None:
        with self.hold_sync():
            for name, value in self._shown(change["new"]).items():
                setattr(self, name, value)

    @traitlets.observe("out")  # type: ignore[untyped-decorator]
    def _ask(self, change: dict[str, Any]) -> None:
        """Answer what the model predicts without the units that are out, and what the scores led to expect."""
        units: list[int] = change["new"]
        self.answer = self._answer(units) if units and self._explainer is not None else {}

    def _answer(self, units: list[int]) -> dict[str, Any]:
        result, explainer = self._found[self.index], self._explainer
        assert explainer is not None
        try:
            changed = explainer.predict_without(result, units)
        except MaseError as error:
            return {"units": units, "error": f"{type(error).__name__}: {error}"}
        return asdict(changed) | {
            "units": units,
            "expected_response": result.expected_without(units),
            "expected_probability": result.expected_probability_without(units),
        }


def _attributions(result: Any) -> Attributions:
    result = [result] if isinstance(result, Attribution) or not isinstance(result, Iterable) else list(result)
    for item in result:
        if not isinstance(item, Attribution):
            raise OptionError(f"found has {type(item).__name__}, expected an Attribution, or several of them")
    if not result:
        raise OptionError("there is no attribution to show, expected at least one")
    return Attributions(result)
