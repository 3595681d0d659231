"""The scripts of the site."""

from tests.browser.conftest import ROOT


def test_the_copy_button_leaves_prompts_and_output_out(chromium):
    script = (ROOT / "tools" / "site" / "theme" / "scripts" / "copy.js").read_text("utf-8")
    page = chromium.new_page()
    page.set_content(
        "<pre><code>&gt;&gt;&gt; for word in words:\n...     print(word)\n...\ngood\n&gt;&gt;&gt; 1</code></pre>"
        "<pre><code>$ mase explain 'a film'\npos 80 %</code></pre>"
        "<pre><code>x = 1</code></pre>"
    )
    page.evaluate(f"document$ = {{ subscribe: (work) => work() }}; {script}")
    copied = page.locator("code").evaluate_all("all => all.map((one) => one.dataset.copy ?? null)")
    assert copied[:2] == ["for word in words:\n    print(word)\n\n1", "mase explain 'a film'"]
    assert copied[2] is None
    page.close()
