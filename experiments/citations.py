"""How often the rule of `Attribution.citations` names the true source of an answer, and a source where there is none.

A small language model (`smollm2.py`) is given seven unrelated sentences and an answer. In the first case another
sentence says the answer, which nobody could know otherwise. In the second case nothing says it. In the third case the
model knows it. The table counts, for several least effects, what would be cited:

    python experiments/citations.py
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import NormalDist, fmean

import numpy as np
from smollm2 import folder
from transformers import AutoModelForCausalLM, AutoTokenizer

import mase
from mase.attribution import Attribution
from mase.models import CausalLM

# A sentence, a question and its answer: invented, and so without a trace in any model.
INVENTED = (
    ("The Hollin bakery opens at six in the morning.", "When does the Hollin bakery open?", "It opens at six."),
    ("Captain Ardle keeps a green parrot.", "What does Captain Ardle keep?", "He keeps a green parrot."),
    ("The bridge at Voss was painted yellow in May.", "What colour is the bridge at Voss?", "The bridge is yellow."),
    ("Mira Tolk plays the harp in the town band.", "What does Mira Tolk play?", "Mira Tolk plays the harp."),
    ("The ferry to Sund costs nine crowns.", "What does the ferry to Sund cost?", "The ferry costs nine crowns."),
    ("Lake Orrin freezes every January.", "When does Lake Orrin freeze?", "It freezes every January."),
    ("The mayor of Pell lost her umbrella in the library.", "Where did the mayor lose it?", "In the library."),
    ("Goats guard the lighthouse of Brann.", "Who guards the lighthouse of Brann?", "Goats guard it."),
    ("Old Fenwick sells kites made of silk.", "What does Old Fenwick sell?", "He sells kites made of silk."),
    ("The clock of Tarn runs eleven minutes late.", "How late is the clock of Tarn?", "It is eleven minutes late."),
    ("Doctor Quill travelled to Lisbon by balloon.", "How did Doctor Quill travel?", "He travelled by balloon."),
    ("The school of Emmet has a garden of pumpkins.", "What grows at the school?", "Pumpkins grow in its garden."),
)  # fmt: skip
KNOWN = (
    ("What is the capital of France?", "The capital of France is Paris."),
    ("How many days does a week have?", "A week has seven days."),
    ("What is the opposite of hot?", "The opposite of hot is cold."),
    ("What do bees make?", "Bees make honey."),
    ("Which planet do we live on?", "We live on planet Earth."),
    ("What is the largest ocean?", "The largest ocean is the Pacific Ocean."),
    ("How many legs does a spider have?", "A spider has eight legs."),
    ("What is water made of?", "Water is made of hydrogen and oxygen."),
    ("Who wrote Romeo and Juliet?", "William Shakespeare wrote Romeo and Juliet."),
    ("What is the colour of grass?", "Grass is green."),
)
N_OTHERS, MOST = 7, 3
PAGE = Path(__file__).parent / "citations" / "citations.md"
FACTORS = (1, 2, 5, 10, 30, 100)


@dataclass(frozen=True, slots=True)
class Case:
    """An attribution, and the index of the sentence that says the answer; None if there is none."""

    found: Attribution
    true: int | None

    def cited(self, factor: float) -> list[int]:
        """Return the units that are cited if a source makes the odds at least so many times as high."""
        scores, errors = self.found.scores, self.found.standard_errors
        width = NormalDist().inv_cdf(1 - 0.025 / len(scores))
        least = max(log(factor), 0.1 * np.abs(scores).max())
        good = [unit for unit in np.argsort(-scores) if scores[unit] > width * errors[unit] and scores[unit] >= least]
        return [int(unit) for unit in good[:MOST]]


def cases(model: CausalLM) -> dict[str, list[Case]]:
    """Return the cases by kind."""
    rng = np.random.default_rng(0)
    found: dict[str, list[Case]] = {"said": [], "not said": [], "known": []}
    for index, (sentence, query, answer) in enumerate(INVENTED):
        others = [INVENTED[other][0] for other in rng.permutation(len(INVENTED)) if other != index][:N_OTHERS]
        at = int(rng.integers(N_OTHERS + 1))
        said = [*others[:at], sentence, *others[at:]]
        found["said"].append(Case(cite(model, said, query, answer), at))
        found["not said"].append(Case(cite(model, others, query, answer), None))
    for query, answer in KNOWN:
        others = [INVENTED[other][0] for other in rng.permutation(len(INVENTED))[:N_OTHERS]]
        found["known"].append(Case(cite(model, others, query, answer), None))
    return found


def cite(model: CausalLM, sentences: list[str], query: str, answer: str) -> Attribution:
    """Return the attribution of an answer to sentences."""
    return mase.cite(model, context=" ".join(sentences), query=query, answer=answer)


def table(found: Mapping[str, Sequence[Case]]) -> str:
    """Return the page with the counts."""
    head = f"said ({len(INVENTED)}): true one cited | others cited, per answer"
    lines = [
        f"| least factor | {head} | not said ({len(INVENTED)}): any cited | known ({len(KNOWN)}): any cited |",
        "|---:|---:|---:|---:|---:|",
    ]
    for factor in FACTORS:
        hits = fmean(case.true in case.cited(factor) for case in found["said"])
        others = fmean(len(set(case.cited(factor)) - {case.true}) for case in found["said"])
        wrong = [fmean(bool(case.cited(factor)) for case in found[kind]) for kind in ("not said", "known")]
        lines.append(f"| {factor} | {hits:.2f} | {others:.2f} | {wrong[0]:.2f} | {wrong[1]:.2f} |")
    for kind, several in found.items():
        highest = sorted(float(case.found.scores.max()) for case in several)
        lines += ["", f"{kind}: highest scores {', '.join(f'{score:.1f}' for score in highest)}"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a folder of transformers; SmolLM2-135M-Instruct by default")
    path = parser.parse_args().model or folder()
    network = AutoModelForCausalLM.from_pretrained(path, dtype="bfloat16")
    model = CausalLM(network, AutoTokenizer.from_pretrained(path))
    PAGE.write_text(f"# Sources that are cited, and how strong they must be\n\n{table(cases(model))}", encoding="utf-8")


if __name__ == "__main__":
    main()
