"""Check the built site: python tools/site/check.py docs-out.

Every link leads to a page and an anchor of the site, to a file of it, or away. Nothing is loaded from
elsewhere. The pages of the API have every public name.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hooks import MODULES, module_tree, public_names


class PageReader(HTMLParser):
    """Collects the anchors of a page, its links, and the addresses that a browser loads with it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag has."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(values["href"])


def broken(link: str, page: Path, pages: dict[Path, PageReader]) -> bool:
    """Return whether a link of a page leads to no page, anchor or file."""
    parts = urlsplit(link)
    if parts.scheme:
        return False
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return True
    anchors = pages[target].anchors | {""} if target in pages else {parts.fragment}
    return unquote(parts.fragment) not in anchors


def undocumented(folder: Path, pages: dict[Path, PageReader]) -> list[str]:
    """Return the public names that the page of their module does not have."""
    names = [(module, name) for module in MODULES for name in public_names(module, module_tree(module))]
    return [
        f"{module}.{name}"
        for module, name in names
        if f"{module}.{name}" not in (*MODULES, "mase.__version__")
        and f"{module}.{name}" not in pages[folder / "api" / f"{module}.html"].anchors
    ]


def main(folder: Path) -> int:
    """Print what is wrong and how much was checked; return the exit code."""
    # The page for missing addresses is shown at any address, so its links begin at the root of a server.
    paths = [path for path in sorted(folder.rglob("*.html")) if path.name != "404.html"]
    pages = {path: PageReader(path) for path in paths}
    links = [(path, link) for path, page in pages.items() for link in page.links]
    loaded = [(path, address) for path, page in pages.items() for address in page.loaded]
    wrong = [f"{path.relative_to(folder)}: {link} leads nowhere" for path, link in links if broken(link, path, pages)]
    wrong += [
        f"{path.relative_to(folder)}: {address} is not a file of the site"
        for path, address in loaded
        if urlsplit(address).scheme not in ("", "data") or broken(address, path, pages)
    ]
    wrong += [f"{name} is not in the pages of the API" for name in undocumented(folder, pages)]
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    sys.stdout.write(f"{len(pages)} pages, {len(links)} links, {len(loaded)} loaded files: {len(wrong)} wrong\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
