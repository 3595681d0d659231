"""Pages of the site that are made when it is built, and links between its pages and the rest of the repository.

MkDocs calls the functions `on_...`. The pages below docs/ are also read in the repository, so they link to its files by
relative paths. Here such a link leads to a page of the site, or to a copy of the file on the site.
"""

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

import notebooks
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
# Files of the repository's root that are pages of the site.
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
# One page of the API each, in this order, with the names of a module that has no `__all__`; none for all of its own.
MODULES: dict[str, tuple[str, ...]] = {
    "mase": (),
    "mase.options": (),
    "mase.attribution": (),
    "mase.errors": (),
    "mase.models": (),
    "mase.methods": ("METHODS", "Method", "describe", "resolve"),
    "mase.metrics": (),
    "mase.outputs": (),
    "mase.attribution.json": ("Failure", "dumps", "load", "load_many", "loads", "save", "save_many"),
    "mase_corpora": (),
    "mase.units": (),
    "mase.links": ("LINKS", "Contrast", "Functions"),
    "mase.spaces": ("SPACES", "Noise", "Space"),
    "mase.designs": (),
    "mase.estimators": (),
    "mase.procedures": (),
    "mase.solve.strategy": ("Solution", "Strategy"),
    "mase.solve.oracle": ("Oracle",),
    "mase.testing": (),
}

_CODE_OR_LINK = re.compile(r"(^```.*?^```$|`[^`\n]+`)|(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)", re.M | re.S)
_FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)


def module_tree(name: str) -> ast.Module:
    """Return the syntax tree of a module or package."""
    path = ROOT / "src" / Path(*name.split("."))
    source = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    return ast.parse(source.read_text(encoding="utf-8"))


def public_names(name: str, tree: ast.Module) -> list[str]:
    """Return the names that a page shows: those of MODULES, of `__all__`, or the classes and functions of a module."""
    values = [node.value for node in tree.body if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node)]
    if MODULES[name] or values:
        return list(MODULES[name]) or [str(one) for one in ast.literal_eval(values[0])]
    defined = (node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef))
    return [one for one in defined if not one.startswith("_")]


def registered(tree: ast.Module) -> list[str]:
    """Return the objects that the registry of a package names as in "mase.designs.gaussian:Iid", each once."""
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    found = re.findall(r"^mase[\w.]+:\w+$", "\n".join(strings), re.MULTILINE)
    return list(dict.fromkeys(name.replace(":", ".") for name in found if not name.rpartition(":")[2].isupper()))


def api_page(name: str) -> str:
    """Return the page of a module: its public names, and the parts that its registry holds."""
    tree = module_tree(name)
    # A submodule has a page of its own, and a version needs none.
    apart = (*MODULES, "mase.__version__")
    members = [member for member in public_names(name, tree) if f"{name}.{member}" not in apart]
    listed = "\n".join(f"        - {member}" for member in members)
    options = (
        f"    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n      members:\n{listed}"
    )
    lines = [f"# `{name}`", f"::: {name}\n{options}"]
    parts = registered(tree)
    if parts:
        lines += ["## In the registry", *(f"::: {part}\n    options:\n      heading_level: 3" for part in parts)]
    return "\n\n".join(lines) + "\n"


def decisions() -> list[str]:
    """Return the pages of decisions, the latest first."""
    return sorted((path.name for path in (ROOT / "docs" / "decisions").glob("20*.md")), reverse=True)


def index_of_decisions() -> str:
    """Return the page that lists the decisions by date."""
    rows = []
    for name in decisions():
        title = (ROOT / "docs" / "decisions" / name).read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        rows.append(f"| {name[:10]} | [{title}]({name}) |")
    return "\n".join(
        ["# Decisions", "", "Why the library is as it is.", "", "| date | decision |", "|---|---|", *rows, ""]
    )


def expanded(entry: Any) -> Any:
    """Return an entry of the navigation with `folder/*` replaced by the pages of the folder."""
    if isinstance(entry, dict):
        return {title: expanded(below) for title, below in entry.items()}
    if isinstance(entry, list):
        return [expanded(below) for below in entry]
    if entry == "api/*":
        return [f"api/{name}.md" for name in MODULES]
    if entry == "notebooks/*":
        return [f"notebooks/{name}.md" for name in notebooks.names()]
    if entry == "decisions/*":
        return ["decisions/index.md", *(f"decisions/{name}" for name in decisions())]
    if entry.endswith("/*"):
        folder = ROOT / "docs" / entry[:-2]
        return [path.relative_to(ROOT / "docs").as_posix() for path in sorted(folder.glob("*.md"), key=_index_first)]
    return entry


def _index_first(path: Path) -> tuple[bool, str]:
    return path.name not in ("README.md", "index.md"), path.name


def on_config(config: MkDocsConfig) -> None:
    """Fill in the folders of the navigation."""
    config.nav = expanded(config.nav)


def on_files(files: Files, *, config: MkDocsConfig) -> None:
    """Add the pages that are made here."""
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    for name in MODULES:
        files.append(File.generated(config, f"api/{name}.md", content=api_page(name)))
    for name in notebooks.names():
        files.append(File.generated(config, f"notebooks/{name}.md", content=notebooks.markdown(name)))
    files.append(File.generated(config, "decisions/index.md", content=index_of_decisions()))
    for name in linked_pages():
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))


def linked_pages() -> list[str]:
    """Return the documents outside of docs/ that its pages, or such documents, link to."""
    seen = {f"docs/{path.relative_to(ROOT / 'docs').as_posix()}" for path in (ROOT / "docs").rglob("*.md")}
    seen.update(ROOT_PAGES)
    waiting, found = sorted(seen), []
    while waiting:
        page = waiting.pop()
        for code, _, _, address in _CODE_OR_LINK.findall((ROOT / page).read_text(encoding="utf-8")):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), address.partition("#")[0]))
            if not code and target.endswith(".md") and target not in seen and (ROOT / target).is_file():
                seen.add(target)
                found.append(target)
                waiting.append(target)
    return found


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to files of the repository to their page or copy; and rank the page for searches."""
    here = page.file.src_uri
    if here.startswith(("api/", "decisions/")):
        page.meta.setdefault("search", {"boost": 0.5})  # guides come first
    folder = posixpath.dirname(here if (ROOT / here).is_file() else f"docs/{here}") or "."

    def replaced(match: re.Match[str]) -> str:
        code, image, text, address = match.groups()
        if code or re.match(r"[a-z]+:|#", address):
            return match[0]
        return f"{image}[{replaced_in(text)}]({_on_the_site(address, here, folder, config, files)})"

    def replaced_in(text: str) -> str:
        return _CODE_OR_LINK.sub(replaced, text)

    return replaced_in(markdown)


def _on_the_site(address: str, here: str, folder: str, config: MkDocsConfig, files: Files) -> str:
    path, mark, anchor = address.partition("#")
    target = posixpath.normpath(posixpath.join(folder, path))
    if not (ROOT / target).exists():
        return address  # MkDocs reports it
    known = target.removeprefix("docs/")
    if known.endswith(".ipynb") and (as_page := str(Path(known).with_suffix(".md"))) != here:
        known = as_page
    if (ROOT / target).is_dir():
        index = next((file for file in (f"{known}/README.md", f"{known}/index.md") if file in files.src_uris), None)
        known = index or known
    if known not in files.src_uris and (ROOT / target).is_file():
        files.append(File(target, str(ROOT), config.site_dir, use_directory_urls=False))
    return posixpath.relpath(known, posixpath.dirname(here) or ".") + mark + anchor


def on_page_content(html: str, **_: Any) -> str:
    """Write formulas as MathML, which browsers show without a script."""
    return _FORMULA.sub(_formula, html)


def _formula(match: re.Match[str]) -> str:
    tag, source = match.groups()
    latex = source.strip()[2:-2].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
    if tag == "span":
        return convert(latex)
    # A formula may be wider than the screen and scroll; the keyboard must reach it.
    return convert(latex, display="block").replace("<math ", '<math tabindex="0" ', 1)
