"""Fixtures: a folder for each rule with marked code, and with what fixes make of it.

``fixtures/<rule-name>/cases.py``, and any other Python file beside it, is linted by that rule alone.
``cases.fixed.py`` shows what safe fixes make of it, ``cases.unsafe.py`` what unsafe ones make of it; a file is there
only if they change something. ``variants.json`` adds such files for options of the rule:
``{"portable": {"safety": "unsafe", "options": {"hardcoded-cuda": {"portable": true}}}}`` for ``cases.portable.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torchlint.api import lint_source
from torchlint.config.config import Config
from torchlint.model import FileResult, Finding, Safety
from torchlint.rule import Rule, topic_of
from torchlint.run import session
from torchlint.run.fixing.fixer import fix_text
from torchlint.run.plan import Plan
from torchlint.run.rules import registry
from torchlint.testing import marks

if TYPE_CHECKING:
    from torchlint.project.merged import Project
    from torchlint.run.linting.file import Analysis
    from torchlint.run.linting.screened import Screened


class Variant(NamedTuple):
    """Which fixes are applied, with which options of rules."""

    safety: Safety
    options: Mapping[str, Mapping[str, object]]


class _Remembering(Plan):
    """A plan that lints a text once: fixing one begins with what is found in it, and ends with what is left."""

    def analyze(
        self,
        data: bytes,
        path: str,
        project: Project | None = None,
        known: Screened | None = None,
        seconds: float | None = None,
    ) -> Analysis:
        """Lint the bytes of one file, or return what that gave before."""
        if project is not None or known is not None:
            return super().analyze(data, path, project, known, seconds)
        before: dict[tuple[bytes, str], Analysis] = vars(self).setdefault("before", {})
        if (data, path) not in before:
            before[data, path] = super().analyze(data, path, seconds=seconds)
        return before[data, path]


_ALWAYS = {"fixed": Variant(Safety.SAFE, {}), "unsafe": Variant(Safety.UNSAFE, {})}


class Fixtures:
    """The fixtures below one folder. Paths in findings are relative to the folder that contains it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder.parent

    @cached_property
    def variants(self) -> dict[str, Variant]:
        """The variants of fixed files by the suffix of the file."""
        found = dict(_ALWAYS)
        for path in sorted(self.folder.glob("*/variants.json")):
            for name, variant in json.loads(path.read_text(encoding="utf-8")).items():
                found[name] = Variant(Safety(variant["safety"]), variant["options"])
        return found

    @cached_property
    def folders(self) -> dict[str, list[FixtureFile]]:
        """The marked files by the name of their rule."""
        return {
            folder.name: [FixtureFile(self, path) for path in sorted(folder.rglob("*.py")) if self.is_source(path)]
            for folder in sorted(self.folder.iterdir())
            if folder.is_dir() and not folder.name.startswith((".", "__"))
        }

    @property
    def files(self) -> list[FixtureFile]:
        """All marked files."""
        return [file for files in self.folders.values() for file in files]

    def is_source(self, path: Path) -> bool:
        """Whether a file contains marked code, not the result of fixes or a program to run."""
        return path.name != "run.py" and path.parent.name != "programs" and not self.is_golden(path)

    def is_golden(self, path: Path) -> bool:
        """Whether a file shows the result of fixes."""
        return "." in path.stem and path.stem.rpartition(".")[2] in self.variants

    def goldens_of(self, path: Path) -> list[Path]:
        """The files that show the result of fixes of a file, as they are now."""
        return sorted(p for p in path.parent.glob(f"{path.stem}.*.py") if self.is_golden(p))

    def rule(self, name: str) -> type[Rule]:
        """The rule after which a folder is named. Raises ``LookupError``."""
        found = next((rule for rule in registry.load() if rule.name == name), None)
        if found is None:
            where = self.folder.name
            raise LookupError(
                f"the folder {where}/{name} is not named after a rule; is the package with the rule installed, and "
                "does its entry point in the group torchlint.rules lead to the rule? `torchlint rules` lists all rules"
            )
        return found

    def plan(self, select: str, options: Mapping[str, Mapping[str, object]]) -> Plan:
        """A plan with the selected rules, which lints a text once; the same for equal options."""
        return self._plans(select, json.dumps(options, sort_keys=True))

    @cached_property
    def _plans(self) -> Callable[[str, str], Plan]:
        return cache(lambda select, options: _Remembering(*session.plan(self.config(select, json.loads(options)))))

    def config(self, select: str, options: Mapping[str, Mapping[str, object]]) -> Config:
        """The configuration that selects these rules alone, also those that are previews."""
        return Config(select=(select,), preview=select == "ALL", root=str(self.root), rules=options)

    def fixed(self, data: bytes, path: Path, variant: Variant, select: str) -> bytes:
        """A source text after the fixes of the selected rules."""
        name = str(path.relative_to(self.root))
        after, run = fix_text(data, name, self.plan(select, variant.options), variant.safety)
        assert not run.problems, run.problems[0].message
        return after

    def results(self, path: Path, select: str, topic: str | None = None) -> dict[Path, bytes]:
        """What a file becomes by fixes of the selected rules, by the file that shows it; unchanged ones are left out.

        Variants with options show only what differs without them, and only in files of rules of the same topic.
        """
        data, shown = path.read_bytes(), {}
        unsafe = self.fixed(data, path, _ALWAYS["unsafe"], select)
        safe = data if unsafe == data else self.fixed(data, path, _ALWAYS["fixed"], select)
        plain = {Safety.UNSAFE: unsafe, Safety.SAFE: safe}
        for name, variant in self.variants.items():
            if variant.options and topic not in (None, *_topics(variant)):
                continue
            after = self.fixed(data, path, variant, select) if variant.options else plain[variant.safety]
            if after != (plain[variant.safety] if variant.options else data):
                shown[path.with_name(f"{path.stem}.{name}.py")] = after
        return shown


class FixtureFile:
    """One marked file."""

    def __init__(self, fixtures: Fixtures, path: Path) -> None:
        self.fixtures = fixtures
        self.path = path

    @property
    def label(self) -> str:
        """The path from the folder that contains the fixtures."""
        return self.path.relative_to(self.fixtures.root).as_posix()

    @property
    def id(self) -> str:
        """The path below the folder of the fixtures."""
        return self.path.relative_to(self.fixtures.folder).as_posix()

    @property
    def rule(self) -> type[Rule]:
        """The rule of its folder. Raises ``LookupError``."""
        return self.fixtures.rule(self.path.relative_to(self.fixtures.folder).parts[0])

    @cached_property
    def text(self) -> str:
        """Its content."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def findings(self) -> list[Finding]:
        """What the rule finds in it."""
        plan = self.fixtures.plan(self.rule.id, {})
        return self._checked(plan.lint(self.path.read_bytes(), str(self.path.relative_to(self.fixtures.root))))

    def lint(self, source: str | bytes) -> list[Finding]:
        """What the rule finds in another text in its place, anew; fails for a text that is not valid Python."""
        config = self.fixtures.config(self.rule.id, {})
        return self._checked(lint_source(source, str(self.path.relative_to(self.fixtures.root)), config))

    def _checked(self, result: FileResult) -> list[Finding]:
        assert not result.problems, result.problems[0].message
        broken = [finding for finding in result.findings if finding.rule == "TL000"]
        assert not broken, f"{self.label}:{broken[0].span.line}: {broken[0].message}"
        return list(result.findings)

    def differences(self) -> list[str]:
        """Where its marks and the findings disagree."""
        return marks.differences(self.text, self.findings, self.label)

    def fixed(self, data: bytes, variant: Variant) -> bytes:
        """A text in its place after the fixes of its rule."""
        return self.fixtures.fixed(data, self.path, variant, self.rule.id)

    @cached_property
    def goldens(self) -> dict[Path, bytes]:
        """What fixes make of it, by the file that shows it."""
        return self.fixtures.results(self.path, self.rule.id, topic_of(self.rule))


@cache
def fixtures_in(folder: Path) -> Fixtures:
    """The fixtures below a folder; the same object every time, so that nothing is linted twice."""
    return Fixtures(folder)


def _topics(variant: Variant) -> set[Any]:
    """The topics of the rules whose options a variant sets: rules of one topic may share options."""
    return {topic_of(rule) for rule in registry.load() if rule.name in variant.options}
