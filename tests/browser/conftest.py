"""A server of the workbench, and Chromium to look at it.

Tests are skipped where Chromium, playwright or the extra `serve` is not installed: `make browser` installs them.
"""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RECALL = f"{ROOT / 'tests' / 'language_models.py'}:recall"
TOPICS, MOODS, SLOW, PRICES = (f"{HERE / 'classifiers.py'}:{name}" for name in ("topics", "moods", "slow", "prices"))
AXE = ROOT / ".browser" / "node_modules" / "axe-core" / "axe.min.js"
# The shell has the same engine without the windows of the desktop, and takes half of the time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
PATIENCE = 600_000  # milliseconds until a page counts as one that hangs, also on a machine that is busy
MODELS = ("lstm-imdb", f"{HERE / 'classifiers.py'}:refunds", f"{HERE / 'classifiers.py'}:loans")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def chromium():
    """A browser without a window.

    It is closed after these tests, because playwright runs an event loop as long as it is open, and other tests run
    their own.
    """
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: make browser")
    playwright = pytest.importorskip("playwright.sync_api")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE)
        yield Patient(browser)
        browser.close()


class Patient:
    """A browser whose pages may take long."""

    def __init__(self, browser):
        self._browser = browser

    def new_context(self, **options):
        context = self._browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        return context

    def new_page(self, **options):
        page = self._browser.new_page(**options)
        page.set_default_timeout(PATIENCE)
        return page


@pytest.fixture(scope="package")
def address(tmp_path_factory):
    """The first address of a server with these models, a run, and a file that holds no results."""
    missing = [name for name in ("starlette", "uvicorn", "torch", "duckdb") if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    from tests.browser.reviews import write_reviews

    folder = tmp_path_factory.mktemp("corpora")
    run, broken = write_reviews(folder / "run"), folder / "broken.jsonl"
    broken.write_text("<script>alert(1)</script>\n", encoding="utf-8")
    models = [option for name in (*MODELS, TOPICS, MOODS, SLOW, PRICES, RECALL) for option in ("-m", name)]
    command = [sys.executable, "-m", "mase", "serve", *models, "--port", "0", "--no-browser"]
    command += ["--label-column", "label", run, broken]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        yield next(word for word in server.stdout.readline().split() if word.startswith("http"))
        server.terminate()


class Page:
    """A page of the workbench in a context of its own, with what went wrong in it."""

    def __init__(self, context, root, fragment):
        self.errors, self.root = [], root
        self.tab = context.new_page()
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()))
        self.open(fragment)

    def open(self, fragment):
        """Open the workbench in another state."""
        self.tab.goto("about:blank")
        self.tab.goto(self.root + fragment)
        self.tab.locator("body.workbench").wait_for()  # the door leads on
        while self.tab.evaluate("document.readyState") != "complete":
            self.tab.wait_for_timeout(20)

    def part(self, name, side="a"):
        return self.tab.locator(f"[data-side={side}] [data-part={name}]")

    def word(self, unit, side="a"):
        return self.tab.locator(f'[data-side={side}] .text [data-unit="{unit}"]')

    def explained(self, side="a"):
        """Wait for an explanation that is done."""
        self.part("copies", side).wait_for()

    def compared(self):
        """Wait for two explanations that are done, and return what is said of their differences."""
        for side in "ab":
            self.explained(side)
        return self.tab.locator("#differences").inner_text()

    def outcome(self, side="a"):
        """Wait for what the model says without the units that are out, and return it."""
        said = self.part("outcome", side).filter(has_text="Without")
        said.wait_for()
        return said.inner_text()

    def copied(self, kind):
        """Return what the page copies as a kind; it needs the permission to use the clipboard."""
        self.tab.click(f"[data-copy={kind}]")
        self.part("copied").filter(has_text=re.compile(f"Copied as {kind}", re.IGNORECASE)).wait_for()
        return self.tab.evaluate("navigator.clipboard.readText()")

    def violations(self, rules, within="html"):
        """Return what axe finds wrong with the page, or with its elements of a selector."""
        if not AXE.is_file():
            pytest.skip("axe-core is not installed: make browser")
        if not self.tab.evaluate("() => 'axe' in window"):
            self.tab.evaluate(AXE.read_text("utf-8"))
        # What fades in has the contrast of its end only then.
        self.tab.wait_for_function("() => document.getAnimations().every((one) => one.playState === 'finished')")
        code = "([rules, within]) => axe.run(within, { runOnly: rules, resultTypes: ['violations'] })"
        found = self.tab.evaluate(code, [rules, within])["violations"]
        return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


@pytest.fixture(scope="package")
def known(chromium, address):
    """The address of the workbench, and the state of a browser that the server knows."""
    context = chromium.new_context()
    tab = context.new_page()
    tab.goto(address)
    tab.locator(".workbench").wait_for()  # the first address leads on
    root, state = tab.url, context.storage_state()
    context.close()
    return root, state


@pytest.fixture
def browse(chromium, known):
    """A function that opens a page in a state; its options are those of a context of playwright."""
    contexts, (root, state) = [], known

    def browse(fragment="", **options):
        size = {"width": 1280, "height": 900}
        contexts.append(chromium.new_context(storage_state=state, **{"viewport": size} | options))
        return Page(contexts[-1], root, fragment)

    yield browse
    for context in contexts:
        context.close()
