"""The pages of the corpora: a report and its list, and what is shown until it is there or if it cannot be made."""

import re
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from mase.characters import shortened
from mase.render.pieces import inline
from mase.render.templates import checksum, resource, templates
from mase.serve.corpora import Corpora, Corpus, Failure, Preparing, Version

__all__ = ["routes"]

# Nothing of a corpus stays with the browser, and no other page may load it: the slices of the list are scripts.
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_SLICE = re.compile(r"[a-z]+(-[0-9]+)?\.js")
_PACKAGE = "mase.serve"
_LONGEST_NAME, _LONGEST_MESSAGE = 300, 2_000

T = TypeVar("T")


def routes(corpora: Corpora) -> list[BaseRoute]:
    """Return the routes below `/corpora/`.

    `/corpora/N/` leads to the newest page of a corpus, `/corpora/N/V/`, or shows how far it is. A page that is loaded
    again leads back there if its corpus has changed.
    """
    pages = _Pages(corpora)
    return [
        Route("/corpora/{corpus}/", pages.newest),
        Route("/corpora/{corpus}/share", pages.share),
        Route("/corpora/{corpus}/{version}/", pages.page),
        Route("/corpora/{corpus}/{version}/index.html", pages.former),
        Route("/corpora/{corpus}/{version}/list/{name}", pages.listed),
    ]


@dataclass(frozen=True, slots=True)
class _Pages:
    """The answers to requests. All that they take from an address is looked up, so that none leads to another file."""

    corpora: Corpora

    def newest(self, request: Request) -> Response:
        found = self._corpus(request).look()
        if isinstance(found, Version):
            return RedirectResponse(f"{self._address(request)}{found.number}/", 303, _HEADERS)
        return _without_page(self._corpus(request), found, self._address(request))

    def page(self, request: Request) -> Response:
        found = self._corpus(request).look()
        if isinstance(found, Version) and str(found.number) == request.path_params["version"]:
            return _page(found)
        if isinstance(found, Failure):
            return _without_page(self._corpus(request), found, self._address(request))
        return RedirectResponse(self._address(request), 303, _HEADERS)

    def share(self, request: Request) -> Response:
        return JSONResponse({"share": self._corpus(request).share}, headers=_HEADERS)

    def former(self, request: Request) -> Response:
        return _page(self._version(request))

    def listed(self, request: Request) -> Response:
        name = request.path_params["name"]
        path = self._version(request).folder / "list" / name
        if _SLICE.fullmatch(name) is None or not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, headers=_HEADERS, media_type="text/javascript")

    def _corpus(self, request: Request) -> Corpus:
        return _known(self.corpora.by_number.get(request.path_params["corpus"]))

    def _version(self, request: Request) -> Version:
        return _known(self._corpus(request).version(request.path_params["version"]))

    def _address(self, request: Request) -> str:
        return f"{request.scope.get('root_path', '')}/corpora/{request.path_params['corpus']}/"


def _known(found: T | None) -> T:
    if found is None:
        raise HTTPException(404)
    return found


def _page(version: Version) -> Response:
    return FileResponse(
        version.folder / "index.html", headers=_HEADERS | _policy(version.policy), media_type="text/html"
    )


def _without_page(corpus: Corpus, found: Preparing | Failure, address: str) -> Response:
    """Return how far the page of a corpus is, or why it cannot be made."""
    style = "".join(
        resource(*place)
        for place in (("mase.render", "style.css"), ("mase.render", "page.css"), (_PACKAGE, "templates/corpus.css"))
    )
    script = resource(_PACKAGE, "templates/corpus.js") if isinstance(found, Preparing) else ""
    content = (
        templates(_PACKAGE)
        .get_template("templates/corpus.html")
        .render(
            name=_shortened(corpus.source, _LONGEST_NAME),
            share=found.share if isinstance(found, Preparing) else None,
            error="" if isinstance(found, Preparing) else _shortened(found.error, _LONGEST_NAME),
            message="" if isinstance(found, Preparing) else _shortened(found.message, _LONGEST_MESSAGE),
            former="" if corpus.newest is None else f"{address}{corpus.newest.number}/index.html",
            style=Markup(style),
            script=Markup(script),
        )
    )
    allowed = f"script-src '{checksum(script)}'; connect-src 'self'; " if script else ""
    policy = f"default-src 'none'; style-src '{checksum(style)}'; {allowed}base-uri 'none'; form-action 'none'"
    return HTMLResponse(content, 200 if script else 422, _HEADERS | _policy(policy))


def _policy(policy: str) -> dict[str, str]:
    return {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}


def _shortened(text: str, longest: int) -> str:
    return inline(shortened(text, longest))
