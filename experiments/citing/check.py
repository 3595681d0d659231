"""Check on one validation prompt that packages score it alike with our scorer and with their own evaluation.

    python experiments/citing/check.py MODEL_FOLDER

Both evaluate the model in float32. For mase, it is `mase.cite`. interpreto and shap have no evaluation
of their own that deletes units.
"""

import argparse
import contextlib
import io
import tempfile
import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rivals import SEED, by_mase, captum_ablation, captum_shapley, context_cite
from scoring import Asked, LanguageModel, Scorer
from tasks import cases

import mase
from mase.arrays import Floats

N = 16


def own_context_cite(scorer: Scorer) -> Floats:
    """Return the scores of the package, which reads the context in our units."""
    context_cite(Asked(scorer), 2)  # the package can be imported after that
    from context_cite import ContextCiter
    from context_cite.context_partitioner import BaseContextPartitioner

    class Units(BaseContextPartitioner):
        @property
        def num_sources(self) -> int:
            return scorer.n_units

        def split_context(self) -> None:
            pass

        def get_source(self, index: int) -> str:
            return self.context[slice(*scorer.case.spans[index])]

        def get_context(self, mask: Any = None) -> str:
            return scorer.context(np.ones(scorer.n_units, dtype=bool) if mask is None else mask)

    model, case = scorer.model, scorer.case
    citer = ContextCiter(
        model.model, model.tokenizer, case.context, case.query, num_ablations=N, partitioner=Units(case.context)
    )
    prompt = citer._get_prompt_ids(return_prompt=True)[1]
    citer._cache["output"] = prompt + model.tokenizer.decode(scorer.answer)
    return np.asarray(citer.get_attributions(verbose=False))


def own_captum(scorer: Scorer, method: Callable[[Any], Any], **options: Any) -> Floats:
    """Return the scores of `LLMAttribution`, which fills a template with our units."""
    from captum.attr import LLMAttribution, TextTemplateInput

    model, case = scorer.model, scorer.case

    def prompt(*pieces: str) -> str:
        return model.tokenizer.decode(
            model.ids(scorer.context(np.array([bool(piece) for piece in pieces])), case.query)
        )

    units = TextTemplateInput(prompt, [case.context[slice(*span)] for span in case.spans])
    torch.manual_seed(SEED)
    own = LLMAttribution(method(model.model), model.tokenizer)
    target = torch.tensor(scorer.answer)
    return own.attribute(units, target=target, forward_in_tokens=False, **options).seq_attr.double().numpy()


def own_mase(scorer: Scorer) -> Floats:
    """Return the scores of `mase.cite` for the whole answer."""
    model, case = scorer.model, scorer.case
    found = mase.cite(
        model.model,
        model.tokenizer,
        context=case.context,
        query=case.query,
        answer=model.tokenizer.decode(scorer.answer),
        units=case.units,
        n_samples=N - 1,
    )
    return found.scores


def main() -> None:
    """Print the largest difference of the scores, and the largest score, for each of them."""
    from captum.attr import FeatureAblation, ShapleyValueSampling

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of the language model")
    model = LanguageModel.load(parser.parse_args().model, torch.float32)
    (case,) = islice(cases("question", "validation", "sentence", model.tokenizer), 1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = Scorer(model, case, Path(folder) / "rows")
        n_samples = (N - 1) // scorer.n_units
        for name, own, ours in (
            ("mase-cite", lambda: own_mase(scorer), by_mase("mase-cite")),
            ("context-cite", lambda: own_context_cite(scorer), context_cite),
            ("captum, ablation", lambda: own_captum(scorer, FeatureAblation), captum_ablation),
            (
                "captum, Shapley sampling",
                lambda: own_captum(scorer, ShapleyValueSampling, n_samples=n_samples),
                captum_shapley,
            ),
        ):
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                theirs, found = own(), ours(Asked(scorer), N)
            print(f"{name}: difference {abs(theirs - found).max():.2g} of scores up to {abs(theirs).max():.3g}")  # noqa: T201


if __name__ == "__main__":
    main()
