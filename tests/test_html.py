"""The HTML report of linting: complete in itself, bounded, escaped, and usable in a real browser."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.browser import TOO_FAINT, opened
from torchlint.cli.main import main
from torchlint.model import Edit, Evidence, Finding, Fix, Problem, RunResult, Safety, Severity, Span
from torchlint.report import ReportOptions, renderer, split_lines

SOURCE = """\
import numpy as np, torch
x = np.load("a.npy")
for step in range(9):
    y = torch.tensor(x)
"""
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\u202e\u2066\u2028\x00'\"&{{7*7}}"
LIMIT = 1_000_000


def finding(line: int = 4, path: str = "train.py", **more: Any) -> Finding:
    fix = Fix("share `x`", Safety.SAFE, (Edit(Span(line, 9, line, 21), "torch.from_numpy"),))
    values = {
        "rule": "TL101",
        "name": "tensor-copies-ndarray",
        "topic": "copies",
        "severity": Severity.WARNING,
        "path": path,
        "span": Span(line, 9, line, 24),
        "message": "`torch.tensor` copies `x`",
        "evidence": (Evidence(2, 1, "`x` is an ndarray"),),
        "fix": fix,
    }
    return Finding(**{**values, **more})


def page(*findings: Finding, text: str = SOURCE, problems: tuple[Problem, ...] = ()) -> str:
    run = RunResult(findings, problems, files=1)
    return renderer("html")(run, ReportOptions(source=lambda _, __: split_lines(text)))


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.text += data


def hostile() -> str:
    odd = finding(
        path=EVIL,
        name=EVIL,
        message=f"{EVIL}\n`{EVIL}`",
        evidence=(Evidence(2, 1, EVIL),),
        fix=Fix(EVIL, Safety.UNSAFE, (Edit(Span(4, 9, 4, 21), EVIL),), EVIL),
    )
    return page(odd, text=SOURCE.replace("np.load", f"'{EVIL}' or np.load"), problems=(Problem(EVIL, EVIL, 3),))


def test_a_page_without_findings_says_so() -> None:
    assert "<h1>All clear: 1 file checked.</h1>" in page()


def test_the_source_is_shown_with_the_finding_below_its_line_and_the_span_marked() -> None:
    shown = page(finding())
    assert "<mark>torch" in shown
    assert shown.index('id="f0-4"') < shown.index('id="f0-n1"')
    assert "<code>torch.tensor</code> copies <code>x</code>" in shown
    assert '<a href="#f0-2">line 2</a>: <code>x</code> is an ndarray' in shown


def test_the_patch_of_a_fix_can_be_applied(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SOURCE, encoding="utf-8")
    shown = page(finding())
    text = Tags(re.findall(r"<pre[^>]*>(.*?)</pre>", shown, re.DOTALL)[0]).text
    done = subprocess.run(["git", "apply"], cwd=tmp_path, input=text, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "y = torch.from_numpy(x)" in (tmp_path / "train.py").read_text(encoding="utf-8")


def test_a_patch_with_invisible_characters_has_no_copy_button() -> None:
    assert "Copy patch" in page(finding())
    assert "Copy patch" not in page(finding(), text=SOURCE.replace("step", "step\u202e"))


def test_a_source_that_changed_since_is_shown_without_a_patch() -> None:
    shown = page(finding(), text="x = 1\n")
    assert "--diff" in shown
    assert "<pre" not in shown


def test_a_finding_without_source_keeps_its_place_in_words() -> None:
    run = RunResult((finding(),), files=1)
    shown = renderer("html")(run, ReportOptions())
    assert "line 4, column 9" in shown
    assert 'href="#f0-2"' not in shown


def test_markup_in_names_messages_and_sources_stays_text() -> None:
    ours, theirs = Tags(page(finding(), problems=(Problem("a.py", "b", 3),))), Tags(hostile())
    assert {tag for tag, _ in theirs.tags} <= {tag for tag, _ in ours.tags} | {"br", "ul", "li", "p"}
    assert sum(tag == "script" for tag, _ in theirs.tags) == 1
    assert not any(name.startswith("on") for _, attributes in theirs.tags for name in attributes)
    assert "{{7*7}}" in theirs.text


def test_the_policy_allows_the_own_style_and_script_alone() -> None:
    shown = page(finding())
    (policy,) = (a["content"] for tag, a in Tags(shown).tags if a.get("http-equiv"))
    assert policy is not None
    for kind in ("style", "script"):
        (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", shown, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<[^>]* style=", shown)


def test_nothing_is_loaded_from_anywhere() -> None:
    for tag, attributes in Tags(page(finding())).tags:
        assert tag not in ("img", "iframe", "object", "embed", "video", "audio")
        assert "src" not in attributes
        if tag == "link":
            assert attributes["href"] == "data:,"


def test_large_files_are_shortened_to_the_lines_around_findings_and_say_so() -> None:
    lines = SOURCE + "".join(f"value_{n} = 'a string that takes some room on this line'\n" for n in range(40_000))
    shown = page(finding(), text=lines)
    assert len(shown.encode()) < LIMIT
    assert "lines left out" in shown
    assert "Of 1 file only the lines around findings are shown" in shown
    assert "value_3" in shown
    assert "value_9" not in shown


def test_more_findings_than_fit_are_counted() -> None:
    many = tuple(finding(path=f"m{n:04}.py", message="word " * 60) for n in range(3000))
    shown = page(*many)
    assert len(shown.encode()) < LIMIT
    left = re.search(r"(\d+) findings in the last files are not shown", shown)
    assert left is not None
    assert shown.count('<article class="card') + int(left[1]) == 3000


def test_a_line_of_data_is_cut() -> None:
    shown = page(finding(), text=SOURCE + f"data = '{'x' * 50_000}'\n")
    assert len(shown) < 60_000
    assert "more characters" in shown


def test_without_its_packages_the_format_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n", encoding="utf-8")
    code = (
        "import sys, importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'jinja2' else find(name, *rest)\n"
        "from torchlint.cli.main import main\n"
        "sys.exit(main(['--isolated', '--output-format', 'html', 'a.py']))"
    )
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "torchlint: error: --output-format html: needs Jinja2, which is not installed: "
        'pip install "torchlint[report] @ git+https://github.com/torchlint/torchlint"\n'
    )


# In a browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the example program."""
    folder = tmp_path_factory.mktemp("report")
    target = folder / "report.html"
    example = Path(__file__).parents[1] / "examples" / "train_cifar.py"
    assert (
        main(["--isolated", "--no-cache", "--output-format", "html", "--output-file", str(target), str(example)]) == 1
    )
    return target


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
def test_a_page_opens_from_disk_and_fits_the_window(chromium: Any, report: Path, scheme: str, width: int) -> None:
    with opened(chromium, report, width=width, scheme=scheme) as seen:
        assert not seen.overflows
        seen.page.click("#unfold")
        assert not seen.overflows
        assert seen.evaluate(TOO_FAINT) == []
        background = seen.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") == (scheme == "light")


def test_keys_lead_from_finding_to_finding(chromium: Any, report: Path) -> None:
    with opened(chromium, report) as seen:
        focused = "document.activeElement.id"
        for key, expected in (("j", "f0-n1"), ("j", "f0-n2"), ("k", "f0-n1"), ("k", "f0-n1")):
            seen.page.keyboard.press(key)
            assert seen.evaluate(focused) == expected
        seen.page.keyboard.press("?")
        assert seen.page.is_visible("#help")
        seen.page.keyboard.press("t")
        assert seen.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        seen.page.keyboard.press("e")
        assert seen.evaluate("[...document.querySelectorAll('details.fold')].every(fold => fold.open)")


def test_a_page_begins_with_what_costs_most_and_its_files_come_in_that_order() -> None:
    cheap = finding(path="a.py", severity=Severity.INFO, message="cheap")
    text = page(cheap, finding(path="z.py", message="costly"))
    assert text.index("What costs most") < text.index("costly") < text.index("cheap") < text.index("<h2>Rules")
    assert re.findall(r'<h3><span class="path">(.*?)<', text) == ["z.py", "a.py"]


def test_findings_are_searched_and_filtered_with_the_keyboard(chromium: Any, tmp_path: Path) -> None:
    cheap = finding(path="a.py", severity=Severity.INFO, rule="TL401", message="pin the memory", fix=None)
    path = tmp_path / "report.html"
    path.write_text(page(cheap, finding(path="z.py")), encoding="utf-8")
    with opened(chromium, path) as seen:
        visible = "[...document.querySelectorAll('.card')].filter((one) => one.checkVisibility()).length"
        shown = "document.getElementById('matches').textContent"
        assert (seen.evaluate(visible), seen.evaluate(shown)) == (2, "2 of 2 shown")
        seen.page.keyboard.press("/")
        seen.page.keyboard.type("MEMORY a.py")
        assert (seen.evaluate(visible), seen.evaluate(shown)) == (1, "1 of 2 shown")
        assert seen.evaluate("[...document.querySelectorAll('section.file')].filter((one) => one.hidden).length") == 1
        seen.page.keyboard.press("Escape")
        assert seen.evaluate(visible) == 2
        seen.page.get_by_label("info").uncheck()
        assert seen.evaluate(visible) == 1
        seen.page.get_by_label("info").check()
        seen.page.get_by_label("Rule").select_option("TL401")
        assert seen.evaluate(visible) == 1
        seen.page.get_by_label("only with a fix").check()
        assert seen.evaluate(shown) == "0 of 2 shown"
        seen.evaluate("document.querySelector('.costliest a').click()")
        assert seen.evaluate(visible) == 2, "a link to a finding shows it"


def test_everything_can_be_reached_with_the_tab_key(chromium: Any, report: Path) -> None:
    with opened(chromium, report) as seen:
        wanted = seen.evaluate(
            "[...document.querySelectorAll('a[href], button, summary, pre[tabindex], input, select')]"
            ".filter(e => e.checkVisibility()).length"
        )
        reached = set()
        for _ in range(wanted + 1):
            seen.page.keyboard.press("Tab")
            reached.add(
                seen.evaluate(
                    "[...document.querySelectorAll('a[href], button, summary, pre[tabindex], input, select')]"
                    ".indexOf(document.activeElement)"
                )
            )
        assert len(reached - {-1}) == wanted


def test_a_link_to_a_folded_line_unfolds_it(chromium: Any, report: Path) -> None:
    with opened(chromium, report) as seen:
        seen.evaluate("document.querySelector('details.fold .l').id = 'far'")
        seen.evaluate("location.hash = 'far'")
        seen.page.wait_for_selector("#far", state="visible")


def test_a_patch_is_copied_as_it_is(chromium: Any, report: Path) -> None:
    with opened(chromium, report) as seen:
        seen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        seen.page.locator("button.copy").first.click()
        seen.page.wait_for_function("document.getElementById('status').textContent")  # the button's own is soon over
        assert seen.page.inner_text("#status") == "Copied"
        copied = seen.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("--- a/")
        assert "\n@@ " in copied


def test_a_page_is_readable_without_script(chromium: Any, report: Path) -> None:
    with opened(chromium, report, script=False) as seen:
        assert not seen.page.is_visible("#theme")
        assert seen.page.is_visible("#f0-n1")
        assert seen.page.is_visible("h1")


@pytest.mark.parametrize("width", [360, 1600])
def test_a_hostile_source_runs_nothing_and_breaks_no_layout(chromium: Any, tmp_path: Path, width: int) -> None:
    target = tmp_path / "hostile.html"
    target.write_text(hostile(), encoding="utf-8")
    with opened(chromium, target, width=width) as seen:
        dialogs: list[str] = []
        seen.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        assert not seen.overflows
        assert seen.evaluate("document.images.length + document.scripts.length") == 1
        assert "\\u202e" in seen.page.text_content("body")
        assert dialogs == []
