"""Draw docs/report.png, the report of a run of the example, anew. Needs torch, Playwright and a Chromium.

``python -m scripts.report_picture`` does it. The run is on the simulated GPU, so that the picture can be made anywhere;
what is measured differs a little each time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.browser import executable

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/report.png"
_WIDTH, _HEIGHT = 1100, 980


def report(target: Path) -> None:
    """Write the report of a run of the example. Raises ``CalledProcessError`` if there is none."""
    command = [sys.executable, "-m", "torchlint", "confirm", "--on", "sim", "--fail-on", "never"]
    command += ["--output-format", "html", "--output-file", str(target), "--", "train_cifar.py", "--epochs", "1"]
    subprocess.run(command, cwd=ROOT / "examples", check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Write the picture."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder, "report.html")
        report(page_file)
        browser = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
        page.goto(page_file.as_uri())
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
