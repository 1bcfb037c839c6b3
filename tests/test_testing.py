"""The test classes for rules of other packages: what they let pass, and how they word what they do not."""

from __future__ import annotations

import os
import re
import sys

import pytest

from tests.plugin_help import install, rule
from torchlint.api import lint_source
from torchlint.config.config import Config
from torchlint.testing import differences, marks

TESTS = """
from torchlint.testing import FixtureTests, RuleTests

class TestFixtures(FixtureTests):
    pass

class TestRules(RuleTests):
    pass
"""
EXAMPLES = """## What it finds
## Why it costs
## Instead
```python
import torch
torch.load('a')
```
```python
import torch
torch.save('a')
```
"""
CASES = """\
import torch


def guilty():
    return torch.load("a")  # flag: "torch.load"


def innocent():
    return torch.save("a")
"""
FIX = """\
from torchlint.edit.editor import Editor
        edit = self.module.shared(Editor).replace(node.func, "torch.save")
        self.report(node, "a call of torch.load", fix=Fix("save", Safety.{safety}, (edit,)))"""


@pytest.fixture
def package(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Package:
    """A package with a rule and a fixture; its tests run in another process."""
    monkeypatch.delenv("TORCHLINT_DISABLE_PLUGINS")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins take most of the time
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return Package(pytester)


class Package:
    """A package of the shape that docs/plugins.md describes."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.folder = pytester.path
        self._pytester = pytester

    def write(self, code: str, cases: str = CASES, **files: str) -> None:
        """Write the rule, the fixture and the tests, and other files by name, with ``__`` for ``/``."""
        install(self.folder, {"my_rules.py": code})
        named = {f"{name.replace('__', '/')}.py": text for name, text in files.items()}
        known = {"tests/test_rules.py": TESTS, "fixtures/acme-load/cases.py": cases, **named}
        for name, text in known.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")

    def test(self, *options: str) -> tuple[int, str]:
        """Run its tests; the status and the output."""
        done = self._pytester.runpytest_subprocess("-q", "-p", "torchlint.testing", "-p", "no:cacheprovider", *options)
        return int(done.ret), done.stdout.str() + done.stderr.str()


def failed(output: str) -> set[str]:
    """The names of the tests that failed."""
    return set(re.findall(r"^FAILED \S+::(\w+)", output, re.MULTILINE))


def test_a_good_rule_passes(package: Package) -> None:
    package.write(rule(headings=EXAMPLES))
    status, output = package.test()
    assert status == 0, output
    assert "14 passed" in output


def test_wrong_marks_fail_with_the_place_the_reason_and_the_line(package: Package) -> None:
    cases = CASES.replace("torch.save", "torch.load").replace('  # flag: "torch.load"', "")
    package.write(rule(headings=EXAMPLES), f"{cases}x = torch.ones(3)  # flag\n")
    status, output = package.test("-k", "marked_lines")
    assert status == 1
    place = "fixtures/acme-load/cases.py"
    assert f'{place}:5: expected silence, found: a call of torch.load\n    return torch.load("a")' in output
    assert f"{place}:10: expected a finding, none reported\n    x = torch.ones(3)  # flag" in output
    assert "Traceback" not in output


def test_a_rule_that_needs_the_layout_it_does_without_fails(package: Package) -> None:
    body = "self.report(node, 'spaces') if node.whitespace_after_func.value else None"
    cases = CASES.replace("torch.load(", "torch.load (").partition("  # flag")[0] + "\n"
    package.write(rule(headings=EXAMPLES, body=body), cases)
    _, output = package.test("-k", "shortcut")
    assert failed(output) == {"test_no_shortcut_changes_what_is_found"}
    assert "fixtures/acme-load/cases.py: the whole file: light trees show too little" in output


def test_a_rule_whose_needs_leave_out_code_fails(package: Package) -> None:
    needs = "from torchlint.prefilter.needs import identifiers\nneeds = (identifiers('guilty'),)"
    package.write(rule(headings=EXAMPLES, facts=needs), CASES.replace("guilty", "other") + "\n\nx = 'guilty'\n")
    _, output = package.test("-k", "shortcut")
    assert failed(output) == {"test_no_shortcut_changes_what_is_found"}
    assert "fixtures/acme-load/cases.py: other alone: a prefilter leaves out too much" in output


def test_fixes_are_compared_with_files_that_an_option_writes(package: Package) -> None:
    package.write(rule(headings=EXAMPLES, facts="fix = 'always'", body=FIX.format(safety="SAFE")))
    _, output = package.test()
    assert failed(output) == {"test_fixes_make_what_the_files_beside_it_show"}
    assert '-    return torch.load("a")' in output
    assert "pytest --torchlint-write" in output
    for options in (["--torchlint-write"], []):
        status, output = package.test(*options)
        assert status == 0, output
    fixed = package.folder / "fixtures" / "acme-load" / "cases.fixed.py"
    assert 'torch.save("a")  # flag' in fixed.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("code", "cases", "words"),
    [
        (rule(headings=EXAMPLES, body=FIX.format(safety="SAFE")), CASES, "the rule makes fixes; set `fix`"),
        (
            rule(headings=EXAMPLES, facts="fix = 'sometimes'", body=FIX.format(safety="UNSAFE")),
            CASES,
            "an unsafe fix lacks a caveat",
        ),
        (rule(headings=EXAMPLES.replace("torch.load", "torch.open")), CASES, "nothing is found in the first example"),
        (rule(headings=EXAMPLES.replace("torch.save", "torch.load")), CASES, "the second example is flagged"),
        (rule(), CASES, "there must be a ```python example"),
        (rule(headings=EXAMPLES), CASES.replace("# flag:", "# flag -"), "malformed mark; the forms are"),
        (rule(headings=EXAMPLES), "import torch\n", "too few lines are marked"),
        (
            f"{rule(headings=EXAMPLES)}\n{rule('ACME002', 'acme-other', headings=EXAMPLES)}",
            CASES,
            "ACME002 has no folder fixtures/acme-other",
        ),
        (
            rule(headings=EXAMPLES).replace('@on.call("torch.load")', "").replace("def found", "def visit_Clal"),
            CASES,
            "ACME001 acme-load visit_Clal names no LibCST node",
        ),
        (
            rule(headings=EXAMPLES.replace("Why it costs", "Why")),
            CASES,
            "ACME001 acme-load lacks the headings ['Why it costs'] on its page",
        ),
    ],
    ids=range(10),
)
def test_what_is_wrong_is_said(package: Package, code: str, cases: str, words: str) -> None:
    package.write(code, cases)
    status, output = package.test()
    assert status == 1
    assert words in output


def test_a_folder_without_a_rule_says_what_may_be_missing(package: Package) -> None:
    package.write(rule(headings=EXAMPLES), **{"fixtures__no-such-rule__cases": CASES})
    _, output = package.test()
    assert (
        "the folder fixtures/no-such-rule is not named after a rule; is the package with the rule installed" in output
    )


def test_a_missing_folder_says_which(package: Package) -> None:
    package.write(rule(headings=EXAMPLES), tests__test_rules=TESTS.replace("    pass", "    fixtures = 'data/rules'"))
    status, output = package.test()
    assert status != 0
    assert f"there is no folder {package.folder / 'data' / 'rules'}" in output


def test_marks_are_read_and_compared_without_files() -> None:
    text = "import torch\nx = torch.zeros(3).cuda()  # flag\ny = 1  # known miss: why\n"
    assert [mark.known for mark in marks(text).values()] == [None, "miss"]
    findings = lint_source(text, config=Config(select=("TL701",))).findings
    assert len(differences(text, findings, "x.py")) == 1
