"""A real Chromium for tests of pages; where there is none they are skipped, but fail in CI."""

import os
import shutil
from contextlib import contextmanager

import pytest

REQUIRED = ("CI", "BAYESCAL_REQUIRE_BROWSER")
DESKTOP = {"width": 1280, "height": 900}
# As root, without a graphics card, and asking nothing of the network for itself.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def chromium():
    """Return the path of Debian's chromium; skip, or fail in CI, where there is none."""
    path = shutil.which("chromium")
    if path is None:
        reason = "there is no chromium: apt-get install chromium"
        if any(os.environ.get(name) for name in REQUIRED):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@contextmanager
def browser():
    """Give a function that opens an empty page of a headless browser, with its options."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        # A page costs a third of a context, which pages with the same options share.
        contexts = {}

        def new_page(**options):
            key = str(sorted(options.items()))
            if key not in contexts:
                contexts[key] = opened.new_context(**options)
            return contexts[key].new_page()

        yield new_page
        opened.close()


def settle(page):
    """Wait until the page has drawn what controls changed, which it does once a frame."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


@contextmanager
def opened(new_page, path, **options):
    """Give a page of a file, and at its end make sure that it has had no trouble of its own."""
    page, trouble = new_page(**options), []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: trouble.append(request.url))
    try:
        page.goto(path.as_uri())
        assert trouble.pop(0) == path.as_uri()  # the page itself, and nothing else
        yield page
        assert trouble == []
    finally:
        page.close()
