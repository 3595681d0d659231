"""Draw lines of the pipeline and the solver, break each in a copy of the packages, and see the tests find it: `make
mutants`.
"""

import argparse
import ast
import random
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path

from tests.planted import PASSED, ROOT, copied, ran

SOURCES = ("mase/pipeline.py", "mase/evidence.py", "mase/solve/*.py")
# The tests of a file are tried first, then those of the solver, of what is near to it, and all others.
OWN = {
    "pipeline": ["test_pipeline.py", "test_explainer.py"],
    "evidence": ["test_evidence.py"],
    "kernel": ["solve/test_linalg.py", "estimators/test_kernel_ridge.py"],
}
SOLVER = ["solve", "test_pipeline.py", "test_evidence.py"]
NEAR = ["estimators", "designs", "../contract/test_registries.py", "test_propositions.py", "test_explainer.py"]
ALL = [".", "../contract"]
SECONDS = (120, 300, 600, 2700)  # for each of these steps; a mutant may have made a loop endless
MISSED = 0.05  # the largest share of mutants that may survive
ORDINARY = ("-m", "not slow and not pages and not hostile and not faults")

FLIPPED: dict[type[ast.AST], type[ast.AST]] = {ast.Is: ast.IsNot, ast.In: ast.NotIn, ast.Eq: ast.NotEq, ast.Lt: ast.GtE}
FLIPPED |= {ast.Gt: ast.LtE, ast.Add: ast.Sub, ast.Mult: ast.Div, ast.And: ast.Or}
FLIPPED |= {value: key for key, value in FLIPPED.items()} | {ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult}
# The order of their arguments is no matter.
COMMUTE = ("max", "min", "np.maximum", "np.minimum", "np.hypot")
PASSED_OVER = (ast.Raise, ast.Assert, ast.JoinedStr, ast.arguments, ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed line: its file below src, its number, its text before and after, and the changed file."""

    file: str
    line: int
    before: str
    after: str
    content: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is called in the list of equivalent ones, whatever its number."""
        return self.file, self.before, self.after


def changed(node: ast.AST, **parts: object) -> ast.AST:
    """Return a node with other parts."""
    result = copy(node)
    vars(result).update(parts)
    return result


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield nodes to replace at an expression or statement, and what to write in their place."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in FLIPPED:
            yield node, changed(node, ops=[FLIPPED[type(op)]()])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in FLIPPED:
            yield node, changed(node, op=FLIPPED[type(op)]())
        case ast.UnaryOp(operand=operand):
            yield node, operand
        case ast.Constant(value=bool() | int() | float() as value):
            yield node, ast.Constant(not value if isinstance(value, bool) else value + 1)
        case ast.Call(keywords=keywords):
            for one in keywords:
                if one.arg != "strict":  # of zip, which asserts
                    yield node, changed(node, keywords=[other for other in keywords if other is not one])
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare):
            yield test, ast.UnaryOp(ast.Not(), test)
    match node:
        case (ast.AugAssign() | ast.Break() | ast.Continue() | ast.Expr(value=ast.Call())) | ast.Assign(
            targets=[ast.Attribute() | ast.Subscript()]
        ):
            yield node, ast.Pass()


def crude_changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield changes that mostly end in an exception, for lines that have nothing else."""
    match node:
        case ast.Call(func=function, args=[first, second, *rest]):
            yield node, changed(node, args=[first, second, *rest][:-1])
            if ast.unparse(function) not in COMMUTE:
                yield node, changed(node, args=[second, first, *rest])
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield node, ast.Return(ast.Constant(None))


def nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below one that may be changed: no errors, messages, types, decorators and defaults."""
    match node:
        case ast.Module() | ast.ClassDef():
            parts = [part for part in node.body if isinstance(part, ast.FunctionDef | ast.ClassDef)]
        case ast.FunctionDef():
            parts = node.body
        case ast.AnnAssign():
            parts = [node.value] if node.value else []
        case _:
            parts = [*ast.iter_child_nodes(node)]
            yield node
    for part in parts:
        if not isinstance(part, PASSED_OVER):
            yield from nodes(part)


def mutants_of(file: str) -> dict[int, list[Mutant]]:
    """Return the mutants of each line of a file below src."""
    content = (ROOT / "src" / file).read_bytes()
    begins = [0, *(found.end() for found in re.finditer(rb"\n", content))]
    result: defaultdict[int, tuple[list[Mutant], list[Mutant]]] = defaultdict(lambda: ([], []))
    for node in nodes(ast.parse(content)):
        both = [(False, *change) for change in changes(node)] + [(True, *change) for change in crude_changes(node)]
        for crude, old, new in both:
            first, last = begins[old.lineno - 1], begins[old.end_lineno]
            start, end = first + old.col_offset, begins[old.end_lineno - 1] + old.end_col_offset
            written = ast.unparse(ast.fix_missing_locations(new))
            text = (f"({written})" if isinstance(new, ast.expr) else written).encode()
            lines = content[first:last], content[first:start] + text + content[end:last]
            before, after = (" ".join(line.decode().split()) for line in lines)
            whole = (content[:start] + text + content[end:]).decode()
            result[old.lineno][crude].append(Mutant(file, old.lineno, before, after, whole))
    return {line: fine or crude for line, (fine, crude) in sorted(result.items())}


def drawn(seed: int) -> Iterator[Mutant]:
    """Yield a mutant of each line that has any, in random order: the same for a seed and the content of the files."""
    files = sorted(path.relative_to(ROOT / "src").as_posix() for name in SOURCES for path in (ROOT / "src").glob(name))
    lines = [mutants for file in files for mutants in mutants_of(file).values()]
    rng = random.Random(seed)
    yield from map(rng.choice, rng.sample(lines, len(lines)))


def equivalents() -> dict[tuple[str, str, str], str]:
    """Return why no test can tell a mutant from the code, for those that are listed."""
    listed = tomllib.loads((ROOT / "tests" / "equivalent_mutants.toml").read_text(encoding="utf-8"))["mutant"]
    return {(one["file"], one["before"], one["after"]): one["reason"] for one in listed}


def found(file: str, content: str | None = None) -> str | None:
    """Return the first test that fails with a content of a file, or None; with the packages as they are by default."""
    own = OWN.get(Path(file).stem, [f"solve/test_{Path(file).stem}.py"])
    with tempfile.TemporaryDirectory() as folder:
        source = copied(folder)
        if content is not None:
            (source / file).write_text(content, encoding="utf-8")
        for names, seconds in zip((own, SOLVER, NEAR, ALL), SECONDS, strict=True):
            try:
                result = ran([*(f"tests/unit/{name}" for name in names), *ORDINARY], source, seconds=seconds)
            except subprocess.TimeoutExpired:
                return f"taking more than {seconds} seconds"
            if result.returncode != PASSED:
                failed = re.search(r"^(?:FAILED|ERROR) (?:tests/)?(\S+)", result.stdout, re.MULTILINE)
                return failed[1] if failed else f"exit code {result.returncode}"
    return None


def main() -> int:
    """Report every mutant; 1 if more than 5% survive, or if the tests fail without any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=40, help="number of lines")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if (failed := found("mase/pipeline.py")) is not None:
        print(f"{failed} fails on the code as it is: nothing can be said of mutants")
        return 1
    n_drawn, n_found, known = 0, 0, equivalents()
    for mutant in drawn(options.seed):
        reason = known.get(mutant.key)
        killer = None if reason else found(mutant.file, mutant.content)
        n_drawn, n_found = n_drawn + (reason is None), n_found + (killer is not None)
        said = f"equivalent, {reason}" if reason else f"found by {killer}" if killer else "SURVIVES"
        print(f"{mutant.file}:{mutant.line}: {mutant.before}\n    -> {mutant.after}\n    {said}", flush=True)
        if n_drawn == options.n:
            break
    print(f"{n_found} of {n_drawn} mutants are found")
    return int(n_drawn - n_found > MISSED * n_drawn)


if __name__ == "__main__":
    sys.exit(main())
