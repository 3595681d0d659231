"""`Explainer` and `explain`: from a model, options and texts to results."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, Unpack, overload

from mase.attribution.attribution import Attribution, Attributions
from mase.attribution.evidence import Changed, chosen
from mase.defaults import EVIDENCE, NSamples, Precision
from mase.document import Document, Input, Scalar, check_no_model, is_single, is_split
from mase.errors import DataError, OptionError
from mase.evidence import check_evidence, n_for_evidence
from mase.files import without_password
from mase.links import Link
from mase.long_texts import MaskedWindow, explained, masked, with_evidence
from mase.methods import Method, Variant, suited
from mase.models.base import Model
from mase.models.limits import is_taken
from mase.models.open import adapt
from mase.models.origin import as_recorded, identity, is_same
from mase.options import (
    ExplainerOptions,
    Windows,
    accepts_former,
    checked_windows,
    former_listener,
    names_of,
    stopping_of,
    values_of,
)
from mase.pipeline import BoundText, Measurement, check_zoom, zoomed
from mase.progress import Listener, each, tracked
from mase.registry import warn_deprecated
from mase.rng import seeded, stream_key
from mase.solve.oracle import KnownScores, QueryOptions
from mase.solve.strategy import NEVER, Stopping
from mase.sources.rows import Fields, documents
from mase.target import Label, Question, Target
from mase.units import DEFAULT, Units, splitter
from mase.units.splitters import Splitter
from mase.windows import LongText, WindowText, check_windows


class Explainer:
    """Explain the predictions of one model with fixed settings.

    Parameters
    ----------
    model, tokenizer
        A name, folder or URL (`mase.models.load`), a Hugging Face classifier with its tokenizer, a function
        `list[str] -> (n, k)`, a fitted scikit-learn estimator that takes texts, or an adapter from `mase.models`.
    method
        The name of a method in `mase.METHODS`, perhaps with settings as in "mase-nlgp+sigma=0.3" (`design`,
        `estimator`, `space`, `center`, `sigma`, `link`, `reference`, `n_samples`), or a `mase.methods.Method`, as of
        ``mase.methods.resolve("mase", design="focused(rounds=3)")``. By default it is "mase", and for the answers of a
        language model "mase-cite". For a model without embeddings, "mase-nlgp" is replaced by "mase-mask".
    units
        What is in or out as one: "word" (with the punctuation that touches it), "sentence" or another name in
        `mase.units.UNITS`; "re:" and a regular expression, or a compiled one; or a function from a text to spans.
    link, reference, n_samples
        Replace that part of the method; None keeps it. `link` is the number of the class that is explained.
        `reference` stands for an absent unit: "zero", "mask", "unk" or "pad", or "delete" for a function of texts.
        `n_samples` is a number of evaluations, or "auto" for as many as a text of so many units asks for, the default
        of "mase".
    fixed, background
        Names of fields that are never masked, such as the question of a pair; and for each field that is a number or a
        category, the value that replaces it when it is masked.
    seed
        Seed of the perturbations. The same seed, text and settings give the same scores, whatever the order of texts,
        on the same machine and with the same versions of the packages.
    stopping
        When to stop before `n_samples`, as in ``mase.options.Stopping(stable_top=3)``.
    evidence
        Number K of units to test on the model: the predictions without the best 1 to K units and from them alone, and a
        set of units whose masking changes the prediction (`Attribution.evidence`). The evaluations are part of
        `n_samples`, but for a method of fewer than 50 samples, where they come on top. 0 for no test.
    zoom
        Number K of units to explain word by word afterwards, with everything else in place (`Attribution.zoomed`). It
        takes as many evaluations again.
    windows
        Whether a text that is longer than the model reads is explained in windows, in place of what the model reads of
        it; or how, as in ``mase.options.Windows(overlap=0.25, pooling="mean")``. A score is the effect on one window,
        and `n_samples` is for each of them.
    batch_size, precision
        Rows per forward pass, or "auto"; and "float32", or "bfloat16" for half precision where its noise on 16 rows is
        small. Another batch size changes scores by rounding (up to 3e-7 of the largest).
    show_progress
        Whether to show a progress bar on stderr for a list of texts.

    Raises
    ------
    OptionError
        If an option has an invalid value.
    UnknownNameError
        If a name is unknown.

    Examples
    --------
    >>> explainer = Explainer(lambda texts: [[0.5, 0.5] for _ in texts])
    >>> explainer("all is well").scores.tolist()
    [0.0, 0.0, 0.0]
    """

    @accepts_former
    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        method: str | Method | Variant | None = None,
        units: Units = DEFAULT,
        link: Link | None = None,
        reference: str | None = None,
        fixed: Collection[str] = (),
        background: Mapping[str, Scalar] | None = None,
        n_samples: NSamples | None = None,
        seed: int = 0,
        stopping: Stopping = NEVER,
        evidence: int = EVIDENCE,
        zoom: int = 0,
        windows: Windows | bool = False,
        batch_size: int | Literal["auto"] = "auto",
        precision: Precision = "float32",
        show_progress: bool = False,
    ) -> None:
        self.query, self.stopping, self.splitter = (
            QueryOptions(batch_size, precision),
            stopping_of(stopping),
            splitter(units),
        )
        stream_key(seed, "")
        self.model: Model = adapt(model, tokenizer)
        self.method = suited(method, self.model, {"n_samples": n_samples, "reference": reference, "link": link})
        self.seed, self.show_progress, self.n_tested = int(seed), show_progress, check_evidence(evidence)
        self.zoom = check_zoom(zoom, self.splitter)
        self.fixed, self.background = names_of(fixed), values_of(background)
        self.windows = check_windows(checked_windows(windows), self.model, self.zoom)
        settings = {"zoom": self.zoom, "fixed": list(self.fixed), "background": self.background}
        settings = {name: value for name, value in settings.items() if value}
        settings |= {} if self.windows is None else self.windows.settings
        self.measurement = Measurement(
            self.method, self.splitter, self.query, self.stopping, self.seed, self.n_tested, settings
        )

    def __repr__(self) -> str:
        method, units, n_samples = self.method.name, self.splitter.name, self.method.n_samples
        return f"<Explainer of {self.model!r}: {method=}, {units=}, {n_samples=}, seed={self.seed}>"

    @overload
    def __call__(
        self, texts: Input, *, target: Target = None, against: Label = None, on_progress: Listener | None = None
    ) -> Attribution: ...

    @overload
    def __call__(
        self, texts: Any, *, target: Target = None, against: Label = None, fields: Fields = None
    ) -> Attributions: ...

    def __call__(
        self,
        texts: Any,
        *,
        target: Target = None,
        against: Label = None,
        fields: Fields = None,
        on_progress: Listener | None = None,
    ) -> Attribution | Attributions:
        """Return the attribution of one text, or a list of attributions (`Attributions`) for several texts.

        One text is a str, a pair of str (a tuple) or a mapping of fields. Several texts are a list, a generator, a
        Series, or a table of pandas, polars, pyarrow or datasets whose columns `fields` make the documents. `target` is
        a label, or else an index; the default is the predicted class. A list of them, or "all", explains several
        classes from the same evaluations, whose rows are chosen for the first (of "all", the predicted one). `against`
        is a class to compare with: why the target rather than this one.

        `on_progress` is a function that is told how far the explanation of one text is (`mase.progress.Progress`):
        after every batch of evaluations, and after every round but the last one of a design with several rounds, then
        with the attribution so far. For a text that is explained in windows it is called after batches only. The scores
        are those of a plain call, bit for bit. What it raises ends the explanation and is raised here.

        Examples
        --------
        >>> explainer = Explainer(lambda texts: [[0.5, 0.5] for _ in texts])
        >>> n_asked = []
        >>> attribution = explainer("all is well", on_progress=lambda progress: n_asked.append(progress.n_asked))
        >>> n_asked[-1] == attribution.fit.n_queries
        True
        """
        if is_single(texts) and fields is None and not is_split(texts):
            return self._explain(texts, Question(target, against), on_progress)
        if on_progress is not None:
            raise OptionError("on_progress is given for several texts, expected one text; call it for each of them")
        return Attributions(self.stream(texts, target=target, against=against, fields=fields))

    def stream(
        self, texts: Any, *, target: Target = None, against: Label = None, fields: Fields = None
    ) -> Iterator[Attribution]:
        """Yield the attributions of several texts one by one, without keeping them in memory.

        Raises
        ------
        MaseError
            As for one text, with a note of the number of the text, or if `texts` is a single text.
        """
        several, question = documents(texts, fields), Question(target, against)
        shown = tracked(several) if self.show_progress else several
        return each(shown, lambda text: self._explain(text, question), ahead=self.model.waits)

    def follow(self, text: Input, listener: Listener, *, target: Target = None, against: Label = None) -> Attribution:
        """Return the attribution of one text. Deprecated: use `on_progress` of a call."""
        warn_deprecated("Explainer.follow", "explainer(text, on_progress=...)")
        return self(text, target=target, against=against, on_progress=listener)

    def predict_without(self, found: Attribution, units: Iterable[int]) -> Changed:
        """Ask the model once what it predicts with some units of an attribution masked.

        They are masked as the method masks them; where it scales or moves their vectors, they are replaced by its
        reference.

        Parameters
        ----------
        found
            An attribution of this explainer, or of another one of the same model and units.
        units
            Indices of the units.

        Raises
        ------
        OptionError
            If a unit does not exist, or the attribution is of another model or has other units.
        ModelError
            If the model raises an exception or returns something other than finite class scores.
        """
        if not isinstance(found, Attribution):
            raise OptionError(
                f"found is of type {type(found).__name__}, expected an attribution; explain the text first"
            )
        out = chosen(units, len(found.units))
        own = as_recorded(identity(self.model), found.model)
        if not is_same(found.model, own):
            recorded = as_recorded(found.model, own)
            differs = " and ".join(key for key in {**own, **recorded} if recorded.get(key) != own.get(key))
            raise OptionError(
                f"the attribution is of the model {found.model.get('name')!r}, with another {differs} than that of "
                f"this explainer, expected one of {self.model.name!r} as it is now; explain the text again"
            )
        units_name = found.units_name or self.splitter.name
        if units_name != self.splitter.name:
            raise OptionError(
                f"the attribution has the units {units_name!r}, expected {self.splitter.name!r}, those of this "
                f"explainer; make an explainer with units={units_name!r}"
            )
        document = Document(found.document)
        with seeded(self.seed, document.key):
            if found.windows:
                return masked(found, self._masked_windows(found), 1).without(out)
            bound = self._bound(document, Question(found.target, found.responses[0].against), self.splitter)
            bound.check_units(found)
            return bound.masked(KnownScores(), 1, self.query.rows).without(out)

    def _explain(self, text: Input, question: Question, listener: Listener | None = None) -> Attribution:
        if listener is not None and not callable(listener):
            raise OptionError(f"on_progress is of type {type(listener).__name__}, expected a function of the progress")
        document = Document.of(text, fixed=self.fixed, background=self.background)
        with seeded(self.seed, document.key):
            long = None if self.windows is None else LongText.of(self.model, document, self.splitter, self.windows)
            if long is None:
                bound = self._bound(document, question, self.splitter)
                result = self.measurement.attribution(bound, listener)
                return (
                    replace(result, zoomed=zoomed(bound, result, self.zoom, self.measurement)) if self.zoom else result
                )
            result = explained(long, self.model, question, self._window, listener)
            tested = self._masked_windows(result) if self.n_tested else []
            return with_evidence(result, tested, self.n_tested) if tested else result

    def _window(self, window: WindowText, question: Question, listener: Listener | None) -> Attribution:
        with seeded(self.seed, window.document.key):
            bound = self._bound(window.document, question, window.splitter)
            return self.measurement.attribution(bound, listener, tests=False)

    def _masked_windows(self, attribution: Attribution) -> list[MaskedWindow]:
        """Return the windows of an attribution, with the predictions for them with units masked."""
        question, windows = Question(attribution.target, attribution.responses[0].against), []
        for window in LongText.found(attribution, self.splitter).windows:
            bound = self._bound(window.document, question, window.splitter)
            n_samples = self.measurement.budget(bound.probe)
            tested = bound.masked(KnownScores(), n_for_evidence(n_samples, self.n_tested), self.query.rows)
            windows.append(MaskedWindow(window, bound.units, tested, bound.probe.n_setup))
        return windows

    def _bound(self, document: Document, question: Question, splitter: Splitter) -> BoundText:
        rows = self.query.rows
        return BoundText.of(self.model, self.method, document, question, splitter, seed=self.seed, batch_size=rows)

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that decide the scores, as plain JSON types.

        Raises
        ------
        TypeError
            If sigma is a function of the number of coordinates: each text then has settings of its own.
        """
        return self.measurement.settings(self.method)


def explain(
    text: Input,
    model: Any = "lstm-imdb",
    tokenizer: Any = None,
    *,
    target: Target = None,
    against: Label = None,
    on_progress: Listener | None = None,
    **options: Unpack[ExplainerOptions],
) -> Attribution:
    """Return the attribution of one text. Create one `Explainer` for several: the model is then loaded only once.

    `model`, `tokenizer` and the options are those of `Explainer`; the others are those of its call.

    Raises
    ------
    MaseError
        If an option, the model or the text is invalid (see `Explainer`).
    """
    check_no_model(text)
    _check_no_text(model)
    on_progress = former_listener(options, on_progress)
    explainer = Explainer(model, tokenizer, **options)
    return explainer(text, target=target, against=against, on_progress=on_progress)


def _check_no_text(model: Any) -> None:
    """Check, before a model is opened, that what stands in its place is no text: the name of no model has a space."""
    if isinstance(model, str) and len(model.split(maxsplit=1)) > 1 and not is_taken(model):
        raise DataError(
            f"model is {without_password(model)!r:.60}, which is no file or folder, expected a model, its name, its "
            "folder or its URL; if both are texts, a pair of them is one tuple, as in "
            "mase.explain((first, second), model)"
        )
