"""Test classes for fixtures and rules: derive from them in a test module, and pytest collects all of their tests."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from torchlint.api import lint_source
from torchlint.config.config import Config
from torchlint.model import Safety
from torchlint.rule import Rule, page, unknown_nodes
from torchlint.run import session
from torchlint.run.fixing.fixer import fix_text
from torchlint.run.rules import registry
from torchlint.run.rules.wellformed import page_problems, problems
from torchlint.testing import shapes
from torchlint.testing.fixtures import FixtureFile, Fixtures, fixtures_in
from torchlint.testing.marks import marks
from torchlint.testing.shortcuts import changes_in
from torchlint.text.comments import comments

WRITE = "--torchlint-write"
_SUPPRESSION = re.compile(r"torchlint: ignore|noqa: ")


def _fixtures(config: pytest.Config, folder: str | Path) -> Fixtures:
    path = config.rootpath / folder
    if not path.is_dir():
        raise pytest.UsageError(
            f"there is no folder {path}; make it, or set the attribute `fixtures` of the test class"
        )
    return fixtures_in(path)


def _parametrize(metafunc: pytest.Metafunc, fixtures: Fixtures) -> None:
    """Give a test every marked file, or the name of every rule with a folder."""
    if "fixture_file" in metafunc.fixturenames:
        metafunc.parametrize("fixture_file", fixtures.files, ids=[file.id for file in fixtures.files])
    if "rule_name" in metafunc.fixturenames:
        metafunc.parametrize("rule_name", list(fixtures.folders))


def _fail(*reasons: str) -> None:
    """Fail without a traceback, which says nothing about a rule."""
    if reasons:
        pytest.fail("\n".join(reasons), pytrace=False)


class FixtureTests:
    """Tests of every marked file below the folder ``fixtures``, which is relative to pytest's root folder."""

    fixtures: ClassVar[str | Path] = "fixtures"

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test for every file."""
        _parametrize(metafunc, _fixtures(metafunc.config, self.fixtures))

    def test_marked_lines_are_found_and_all_others_are_silent(self, fixture_file: FixtureFile) -> None:
        """The marks in the file are what the rule finds."""
        _fail(*fixture_file.differences())

    def test_two_runs_agree(self, fixture_file: FixtureFile) -> None:
        """Rules keep no state from one file to the next."""
        assert fixture_file.lint(fixture_file.path.read_bytes()) == fixture_file.findings

    def test_nothing_is_found_in_code_that_cannot_run(self, fixture_file: FixtureFile) -> None:
        """Unreachable code is silent."""
        for text in shapes.unreachable(fixture_file.text):
            assert fixture_file.lint(text) == []

    def test_suppressing_every_finding_silences_every_finding(self, fixture_file: FixtureFile) -> None:
        """Findings are on lines where comments can suppress them."""
        lines = [finding.span.line for finding in fixture_file.findings]
        assert fixture_file.lint(shapes.suppressed(fixture_file.text, lines, fixture_file.rule.id)) == []

    def test_newlines_indentation_and_the_end_of_the_file_do_not_matter(self, fixture_file: FixtureFile) -> None:
        """The same with tabs, Windows newlines and no newline at the end."""
        text = shapes.with_tabs(fixture_file.text).rstrip("\n").replace("\n", "\r\n")
        found = [finding.span.line for finding in fixture_file.lint(text.encode())]
        assert found == [finding.span.line for finding in fixture_file.findings]

    def test_no_shortcut_changes_what_is_found(self, fixture_file: FixtureFile) -> None:
        """Prefilters and quick parsing change nothing: fails if ``needs`` or ``layout = False`` is wrong.

        All rules run over the file, and over each flagged function or class alone with the imports of the file, so that
        nothing beside it lets it pass the prefilters.
        """
        _fail(*changes_in(fixture_file))

    def test_fixes_make_what_the_files_beside_it_show(
        self, fixture_file: FixtureFile, pytestconfig: pytest.Config
    ) -> None:
        """``cases.fixed.py`` and the other files with results of fixes; ``--torchlint-write`` writes them."""
        wanted = fixture_file.goldens
        if pytestconfig.getoption(WRITE, False):
            write_goldens(fixture_file.fixtures, fixture_file.path, wanted)
        _fail(*stale(fixture_file.fixtures, fixture_file.path, wanted))

    def test_fixes_are_what_the_rule_declares(self, fixture_file: FixtureFile) -> None:
        """The fact ``fix``; an unsafe fix says what it may change."""
        found = fixture_file.findings
        fixes = [finding.fix for finding in found if finding.fix is not None]
        declared = fixture_file.rule.fix
        assert not (fixes and declared == "never"), "the rule makes fixes; set `fix` to sometimes or always"
        assert declared != "always" or len(fixes) == len(found), "not every finding has a fix; set `fix` to sometimes"
        assert all(fix.caveat for fix in fixes if fix.safety is Safety.UNSAFE), "an unsafe fix lacks a caveat"

    def test_fixed_code_is_complete(self, fixture_file: FixtureFile) -> None:
        """It is valid Python, has all comments, is not fixed again, and keeps Windows newlines."""
        for path, data in fixture_file.goldens.items():
            variant = fixture_file.fixtures.variants[path.stem.rpartition(".")[2]]
            ast.parse(data)
            assert fixture_file.fixed(data, variant) == data, f"{path.name} can be fixed again"
            lost = lost_comments(fixture_file.text, data.decode())
            assert not lost, f"{path.name} lacks the comments {sorted(lost)}"
            before, after = (_with_other_newlines(source) for source in (fixture_file.path.read_bytes(), data))
            assert fixture_file.fixed(before, variant) == after, f"{path.name} differs with Windows newlines"


class RuleTests:
    """Tests of every rule with a folder in ``fixtures``. The counts are what its files must show at least."""

    fixtures: ClassVar[str | Path] = "fixtures"
    least_flagged: ClassVar[int] = 1
    least_innocent: ClassVar[int] = 1

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test for every rule."""
        _parametrize(metafunc, _fixtures(metafunc.config, self.fixtures))

    def rule(self, name: str, config: pytest.Config) -> type[Rule]:
        """The rule with this name."""
        return _fixtures(config, self.fixtures).rule(name)

    def test_the_rule_is_well_formed(self, rule_name: str, pytestconfig: pytest.Config) -> None:
        """Facts, options, visitors, and the headings of its page."""
        rule = self.rule(rule_name, pytestconfig)
        unknown = [f"{visitor} names no LibCST node" for visitor in unknown_nodes(rule)]
        wrong = (*problems(rule), *page_problems(rule), *unknown)
        _fail(*(f"{rule.id} {rule.name} {reason}" for reason in wrong))

    def test_the_examples_are_true(self, rule_name: str, pytestconfig: pytest.Config) -> None:
        """Of the Python examples under "Instead", the first is found and the second is not."""
        rule = self.rule(rule_name, pytestconfig)
        guilty, preferred, *_ = examples(rule)
        config = Config(select=(rule.id,))
        assert lint_source(guilty, "example.py", config).findings, 'nothing is found in the first example of "Instead"'
        assert not lint_source(preferred, "example.py", config).findings, "the second example is flagged"

    def test_the_fix_makes_one_example_of_another(self, rule_name: str, pytestconfig: pytest.Config) -> None:
        """What fixes make of the first example is one of the others."""
        rule = self.rule(rule_name, pytestconfig)
        if rule.fix == "never":
            return
        guilty, *shown = examples(rule)
        variants = _fixtures(pytestconfig, self.fixtures).variants.values()
        configs = (
            Config(select=select, preview=True, rules=options)
            for select in ((rule.id,), Config().select)
            for _, options in variants
        )
        made = (fix_text(guilty.encode(), "example.py", session.plan(config), Safety.UNSAFE) for config in configs)
        texts: list[str] = []
        for data, _ in made:
            texts.append(data.decode())
            if _without_imports(texts[-1]) in map(_without_imports, shown):
                break
        else:
            pytest.fail(f"the fix makes of the first example:\n{texts[0]}", pytrace=False)
        assert not lint_source(texts[-1], "example.py", Config(select=(rule.id,))).findings

    def test_the_fixture_shows_guilty_and_innocent_code(self, rule_name: str, pytestconfig: pytest.Config) -> None:
        """Enough marked lines, and enough functions and classes without one."""
        texts = [file.text for file in _fixtures(pytestconfig, self.fixtures).folders[rule_name]]
        flagged = [[line for line, mark in marks(text).items() if mark.expected] for text in texts]
        innocent = [
            n for text, lines in zip(texts, flagged, strict=True) for n in shapes.innocent_definitions(text, lines)
        ]
        assert sum(map(len, flagged)) >= self.least_flagged, "too few lines are marked `# flag`"
        assert len(innocent) >= self.least_innocent, "too few functions or classes show code that is not flagged"

    def test_every_rule_of_the_package_has_a_fixture(self, pytestconfig: pytest.Config) -> None:
        """A rule without a folder would not be tested."""
        fixtures = _fixtures(pytestconfig, self.fixtures)
        packages = {registry.package_of(fixtures.rule(name)) for name in fixtures.folders}
        rules = [rule for rule in registry.load() if registry.package_of(rule) in packages]
        missing = [rule for rule in rules if rule.name not in fixtures.folders]
        _fail(*(f"{rule.id} has no folder {fixtures.folder.name}/{rule.name}" for rule in missing))


def examples(rule: type[Rule]) -> list[str]:
    """The Python examples under "Instead": what is flagged, and what is preferred."""
    _, _, section = page(rule).read().partition("## Instead")
    found = re.findall(r"```python\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    assert len(found) >= 2, 'under "Instead" there must be a ```python example that is flagged, and one that is not'
    return found


def write_goldens(fixtures: Fixtures, source: Path, wanted: Mapping[Path, bytes]) -> None:
    """Write what fixes make of a file, and delete what they no longer make."""
    for path in fixtures.goldens_of(source):
        if path not in wanted:
            path.unlink()
    for path, data in wanted.items():
        path.write_bytes(data)


def lost_comments(before: str, after: str) -> set[str]:
    """The comments that a text no longer has; suppressions that are no longer needed do not count."""
    listed = [{text[start:end] for start, end in comments(text)} for text in (before, after)]
    return {comment for comment in listed[0] - listed[1] if not _SUPPRESSION.search(comment)}


def stale(fixtures: Fixtures, source: Path, wanted: Mapping[Path, bytes]) -> list[str]:
    """The differences between the files that show results of fixes and the results."""
    found: list[str] = []
    for path in sorted({*wanted, *fixtures.goldens_of(source)}):
        shown = path if path.exists() else source
        before, after = shown.read_bytes(), wanted.get(path, source.read_bytes())
        if before != after or not (path.exists() and path in wanted):
            old, new = (text.decode(errors="replace").splitlines() for text in (before, after))
            found += difflib.unified_diff(old, new, shown.name, f"{path.name} anew", lineterm="", n=1)
    name = source.relative_to(fixtures.root).as_posix()
    advice = f"{name}: fixes make something else; `pytest {WRITE}` writes it, then read the difference"
    return [advice, *found] if found else []


def _with_other_newlines(data: bytes) -> bytes:
    return data.rstrip(b"\n").replace(b"\n", b"\r\n")


def _without_imports(text: str) -> list[str]:
    """The lines other than imports: an unused import may be left over."""
    return [line for line in text.split("\n") if line and not line.startswith(("import ", "from "))]
