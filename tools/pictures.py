"""Draw the pictures of README.md and docs/ from explanations of examples/reviews.txt: `make pictures`.

Chromium draws them.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import mase
from mase.attribution import Attributions

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
REVIEWS = (ROOT / "examples" / "reviews.txt").read_text("utf-8").splitlines()
THIRD = 3  # the review of the smaller pictures, and the first of the large one


def draw(browser: Browser, page: Path, name: str, articles: str, *, width: int, scale: float, scheme: str) -> None:
    """Write a picture of the articles of a page that a selector finds, over the whole width of the window."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        device_scale_factor=scale,
        color_scheme="dark" if scheme == "dark" else "light",
    )
    tab = context.new_page()
    tab.goto(page.as_uri())
    boxes = [box for one in tab.locator(articles).all() if (box := one.bounding_box()) is not None]
    top, bottom = min(box["y"] for box in boxes), max(box["y"] + box["height"] for box in boxes)
    clip = {"x": 0, "y": top + 1, "width": width, "height": bottom - top - 2}
    tab.screenshot(path=IMAGES / f"{name}.png", full_page=True, clip=clip)  # type: ignore[arg-type]
    context.close()


def main() -> None:
    """Explain the reviews, and draw them."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    explainer = mase.Explainer("lstm-imdb", evidence=5)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        many, one = Path(folder) / "many.html", Path(folder) / "one.html"
        Attributions(explainer(text) for text in REVIEWS).to_html(many)
        explainer(REVIEWS[THIRD - 1]).to_html(one)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = ", ".join(f"#t{number}" for number in range(THIRD, THIRD + 3))
        draw(browser, many, "first-minute", shown, width=1440, scale=1, scheme="light")
        for scheme in ("light", "dark"):
            draw(browser, one, f"explanation-{scheme}", "article", width=998, scale=1.5, scheme=scheme)
        browser.close()


if __name__ == "__main__":
    main()
