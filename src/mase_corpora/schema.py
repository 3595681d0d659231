"""The columns of the tables of a run (docs/run.md)."""

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from mase.attribution.attribution import Attribution, cited_units
from mase.attribution.evidence import Verdict
from mase.attribution.response import EFFECTS, Note, Response, error_of, total_error_of
from mase.document import TEXT, Document, Field, valid_text
from mase.sources.rows import Item, check_kept

TOTAL_ERRORS = ("total_error", *map(total_error_of, EFFECTS))
_KEY = [("id", pa.string()), ("row", pa.int64())]
_NOTE = pa.struct([("code", pa.string()), ("unit", pa.int32()), ("message", pa.string())])

# Columns are added in later releases, and never renamed. Kept columns of the input follow `document`.
_COLUMNS: dict[str, list[tuple[str, pa.DataType]]] = {
    "texts": [
        *_KEY,
        ("document", pa.string()),
        ("prediction", pa.string()),
        ("probability", pa.float64()),
        ("n_queries", pa.int64()),
        ("split_half", pa.float64()),
        ("notes", pa.list_(_NOTE)),
        ("evidence", pa.string()),
        ("windows", pa.string()),
        ("explained_answer", pa.string()),
        ("error", pa.string()),
        ("message", pa.string()),
    ],
    "responses": [
        *_KEY,
        ("response", pa.string()),
        ("link", pa.string()),
        ("value", pa.float64()),
        ("intercept", pa.float64()),
        ("r2", pa.float64()),
        ("exact", pa.bool_()),
        ("against", pa.string()),
        ("split_half", pa.float64()),
        ("response_notes", pa.list_(_NOTE)),
        ("r2_held_out", pa.float64()),
        ("reliable", pa.bool_()),
    ],
    "units": [
        *_KEY,
        ("response", pa.string()),
        ("position", pa.int32()),
        ("field", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("text", pa.string()),
        ("score", pa.float64()),
        ("standard_error", pa.float64()),
        *((name, pa.float64()) for effect in EFFECTS for name in (effect, error_of(effect))),
        ("rank", pa.int32()),
        ("cited", pa.bool_()),
        *((name, pa.float64()) for name in TOTAL_ERRORS),
    ],
    "timings": [*_KEY, ("seconds", pa.float64()), ("worker", pa.string())],
}

TABLES = tuple(_COLUMNS)

# The columns that runs of earlier versions do not have; they are null there.
ADDED = frozenset({"r2_held_out", "reliable", *TOTAL_ERRORS})
_BEFORE_KEPT = len(_KEY) + 1


def schema(table: str, kept: Sequence[str] = ()) -> pa.Schema:
    """Return the Arrow schema of a table of `TABLES`; the texts have a column of strings for each kept column."""
    columns = list(_COLUMNS[table])
    if table != "texts":
        return pa.schema(columns)
    ours = [name for name, _ in columns]
    check_kept(kept, ours, any_case=False)  # as releases before 0.3 wrote them
    columns[_BEFORE_KEPT:_BEFORE_KEPT] = [(name, pa.string()) for name in kept]
    return pa.schema(columns)


class Rows:
    """The rows of some texts of a run, in order.

    Parameters
    ----------
    kept
        Names of the kept columns.
    documents
        Whether the texts themselves are written.
    worker
        Name of the process that explains the texts.
    """

    def __init__(self, kept: Sequence[str], *, documents: bool, worker: str) -> None:
        self._schemas = {table: schema(table, kept) for table in TABLES}
        self._columns: dict[str, dict[str, list[Any]]] = {
            table: {name: [] for name in self._schemas[table].names} for table in TABLES
        }
        self._kept, self._documents, self._worker = tuple(kept), documents, worker

    def add(self, item: Item, attribution: Attribution, seconds: float) -> None:
        """Add a text that was explained, and the time it took."""
        answer = attribution.answer
        self._add_text(
            item,
            attribution.document,
            prediction=attribution.prediction.label,
            probability=attribution.prediction.probability,
            n_queries=attribution.fit.n_queries,
            split_half=attribution.fit.split_half,
            notes=_notes(attribution.own_notes),
            evidence=None if attribution.evidence is None else msgspec.json.encode(attribution.evidence).decode(),
            windows=msgspec.json.encode(attribution.windows).decode() if attribution.windows else None,
            explained_answer=None if answer is None else valid_text(answer.text),
        )
        sources = cited_units(attribution)
        for response in attribution.responses:
            own = _notes(note for note in attribution.notes if note.response == response.name)
            self._add_response(item, response, own, attribution.of(response.name).verdict)
            self._add_units(item, attribution, response, sources.get(response.name))
        self._append("timings", id=item.id, row=item.row, seconds=seconds, worker=self._worker)

    def add_failure(self, item: Item, error: str, message: str, seconds: float) -> None:
        """Add a text that could not be explained: the name of the error's type, its message, and the time it took."""
        document = item.text.fields if isinstance(item.text, Document) else ()
        if isinstance(item.text, str):
            document = (Field(TEXT, item.text),)
        self._add_text(item, document, notes=[], error=error, message=valid_text(message))
        self._append("timings", id=item.id, row=item.row, seconds=seconds, worker=self._worker)

    def tables(self) -> Mapping[str, pa.Table]:
        """Return the tables by name."""
        return {table: pa.table(self._columns[table], schema=self._schemas[table]) for table in TABLES}

    def _add_text(self, item: Item, document: Sequence[Field], **values: Any) -> None:
        kept = {name: value and valid_text(value) for name, value in zip(self._kept, item.kept, strict=True)}
        shown = _document(document) if self._documents and document else None
        self._append("texts", id=item.id, row=item.row, document=shown, **kept, **values)

    def _add_response(self, item: Item, response: Response, notes: list[dict[str, Any]], verdict: Verdict) -> None:
        self._append(
            "responses",
            id=item.id,
            row=item.row,
            response=response.name,
            link=response.link,
            value=response.value,
            intercept=response.intercept,
            r2=response.r2,
            exact=response.exact,
            against=response.against,
            split_half=response.split_half,
            response_notes=notes,
            r2_held_out=response.r2_held_out,
            reliable=verdict.reliable,
        )

    def _add_units(self, item: Item, attribution: Attribution, response: Response, sources: set[int] | None) -> None:
        """Add one row per unit, a column at a time; `sources` are the units that are cited, None without an answer."""
        w = len(attribution.units)
        ranks = [0] * w
        for rank, position in enumerate(response.order, 1):
            ranks[position] = rank
        columns = self._columns["units"]
        columns["id"].extend([item.id] * w)
        columns["row"].extend([item.row] * w)
        columns["response"].extend([response.name] * w)
        columns["position"].extend(range(w))
        columns["field"].extend([unit.field for unit in attribution.units])
        columns["start"].extend([unit.start for unit in attribution.units])
        columns["end"].extend([unit.end for unit in attribution.units])
        columns["text"].extend([unit.text for unit in attribution.units])
        columns["score"].extend(response.scores)
        columns["standard_error"].extend(response.standard_errors)
        for name in (name for effect in EFFECTS for name in (effect, error_of(effect))):
            columns[name].extend(response.effects.get(name) or [None] * w)
        columns["rank"].extend(ranks)
        columns["cited"].extend([None if sources is None else position in sources for position in range(w)])
        columns["total_error"].extend(response.interval_errors)
        for name in TOTAL_ERRORS[1:]:
            columns[name].extend(response.effects.get(name) or [None] * w)

    def _append(self, table: str, **values: Any) -> None:
        for name, column in self._columns[table].items():
            column.append(values.get(name))


def _notes(notes: Iterable[Note]) -> list[dict[str, Any]]:
    return [{"code": note.code, "unit": note.unit, "message": note.message} for note in notes]


def _document(document: Sequence[Field]) -> str:
    """Return a document as in `mase.attribution/2`."""
    return json.dumps([_field(field) for field in document], ensure_ascii=False)


def _field(field: Field) -> dict[str, Any]:
    plain = {"name": valid_text(field.name), "text": valid_text(field.text), "fixed": field.fixed}
    return plain if field.value is None else plain | {"value": field.value, "background": field.background}


# Punctuation, signs such as $ and +, and invisible characters; emoji are words, also the flags that end with tags.
_AROUND = r"(?:[\p{P}\p{Sm}\p{Sc}\p{Cc}]|[^\P{Cf}\x{E0020}-\x{E007F}])+"
BEFORE, AFTER = f"^{_AROUND}", f"{_AROUND}$"


def bare(units: pa.Array) -> pa.Array:
    """Return the texts of units in lower case, in NFC, and without punctuation around them, if anything else is left.

    Examples
    --------
    >>> bare(pa.array(["Film,", "film", "..."])).to_pylist()
    ['film', 'film', '...']
    """
    # By Python, because utf8_normalize of Arrow 17 composes no letters.
    composed = pa.array([unicodedata.normalize("NFC", unit) for unit in units.to_pylist()], units.type)
    lowered = pc.utf8_lower(composed)
    words = pc.replace_substring_regex(lowered, f"{BEFORE}|{AFTER}", "")
    return pc.if_else(pc.equal(words, ""), lowered, words)
