"""A real browser for tests of HTML reports: the Chromium of the system, without any network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

# Texts whose contrast with their background is below the 4.5 of WCAG 2.1 (AA).
TOO_FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const drawn = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const part = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const ground = (element) => {
    const color = drawn(getComputedStyle(element).backgroundColor);
    return color[3] > 200 || !element.parentElement ? color : ground(element.parentElement);
  };
  const faint = (element) => {
    const pair = [luminance(drawn(getComputedStyle(element).color)), luminance(ground(element))];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05) < 4.5;
  };
  const written = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return [...document.querySelectorAll("body *")]
    .filter((element) => element.checkVisibility() && !element.closest("svg, script") && written(element))
    .filter(faint)
    .map((element) => `${element.tagName}.${element.className}`);
}"""


def executable() -> str | None:
    """The browser to test with; None where there is none."""
    return os.environ.get("TORCHLINT_BROWSER") or next(filter(None, map(shutil.which, _NAMES)), None)


def missing() -> str | None:
    """Why pages cannot be opened here."""
    from importlib.util import find_spec

    if find_spec("playwright") is None:
        return "no browser tests: Playwright's Python package is not installed"
    if executable() is None:
        return f"no browser tests: none of {', '.join(_NAMES)} is installed; set TORCHLINT_BROWSER, or install chromium"
    return None


@dataclass
class Opened:
    """A page that was opened from disk, what it said on its console, and what it asked the network for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        return self.page.evaluate(script)

    @property
    def overflows(self) -> bool:
        """Whether the page is wider than the window."""
        return bool(self.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


@pytest.fixture(scope="module")  # Playwright keeps an event loop running, which other tests start themselves
def chromium() -> Iterator[Any]:
    """The browser; tests that need it are skipped with the reason where there is none."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # In containers tests run as root, for which Chromium has no sandbox.
        arguments = ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=executable(), args=arguments)
        yield browser
        browser.close()


@contextmanager
def opened(
    chromium: Any, path: Path, *, width: int = 1280, scheme: str = "light", script: bool = True
) -> Iterator[Opened]:
    """A page opened from disk, with the network off."""
    context = chromium.new_context(
        offline=True, color_scheme=scheme, viewport={"width": width, "height": 900}, java_script_enabled=script
    )
    context.set_default_timeout(10_000)
    page = context.new_page()
    seen = Opened(page)
    page.on("console", lambda message: seen.said.append(message.text))
    page.on("pageerror", lambda error: seen.said.append(str(error)))
    page.on("request", lambda request: seen.asked.append(request.url))
    page.goto(path.as_uri())
    yield seen
    context.close()
    local = (path.as_uri(), "data:")
    assert seen.said == []
    assert [url for url in seen.asked if not url.startswith(local)] == []
