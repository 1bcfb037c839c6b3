"""Reads the marks of fixtures, compares them with what a rule finds, and words the differences.

A mark is a comment at the end of a line:

- ``# flag`` - exactly one finding, a warning or an error, starts on this line;
- ``# flag[info]`` - exactly one finding of severity info starts here;
- ``# flag: "words"`` - as above, and the message contains the words;
- ``# known miss: why`` - should be flagged and is not;
- ``# known false alarm: why`` - is flagged and should not be.

All other lines are silent.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from torchlint.api import lint_source
from torchlint.config.config import Config
from torchlint.model import Finding, Safety, Severity
from torchlint.rule import Rule, topic_of
from torchlint.run import registry, session
from torchlint.run.fixer import fix_text

Variant: TypeAlias = tuple[Safety, dict[str, dict[str, object]]]
ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
SHAPES = ROOT / "tests" / "shapes"
_MARK = re.compile(
    r"#\s*(?:(?P<flag>flag)(?P<info>\[info\])?(?::\s*\"(?P<words>[^\"]*)\")?|known (?P<known>miss|false alarm): .+)\s*$"
)
_BEGINS = re.compile(r"#\s*(?:flag|known miss|known false alarm)\b")
_FIXED: dict[str, Variant] = {"fixed": (Safety.SAFE, {}), "unsafe": (Safety.UNSAFE, {})}


@dataclass(frozen=True)
class Mark:
    """The expectation for one line."""

    expected: bool
    info: bool
    words: str
    known: str | None


@cache
def variants() -> dict[str, Variant]:
    """The variants of fixed fixtures, by file suffix: safety, and options of rules.

    ``variants.json`` in the fixture folder of a rule with options adds to the two variants of every rule.
    """
    found = dict(_FIXED)
    for path in sorted(FIXTURES.glob("*/variants.json")):
        for name, variant in json.loads(path.read_text(encoding="utf-8")).items():
            found[name] = (Safety(variant["safety"]), variant["options"])
    return found


def folders() -> dict[str, list[Path]]:
    """The fixture files of every rule by name."""
    return {
        folder.name: sorted(p for p in folder.rglob("*.py") if is_source(p))
        for folder in sorted(FIXTURES.iterdir())
        if folder.is_dir()
    }


def is_source(path: Path) -> bool:
    """Whether the file contains marked code, not the result of fixes or a program to run."""
    return path.name != "run.py" and path.parent.name != "programs" and not is_golden(path)


def is_golden(path: Path) -> bool:
    """Whether the file shows the result of fixes."""
    return path.stem.rpartition(".")[2] in variants() and "." in path.stem


def goldens(path: Path) -> dict[Path, bytes]:
    """What a fixture becomes with its own rule's fixes, by the file that shows it; unchanged ones are left out.

    Options of rules change only what differs without them.
    """
    data, shown = path.read_bytes(), {}
    unsafe = fixed(data, path, Safety.UNSAFE, {})
    plain = {Safety.UNSAFE: unsafe, Safety.SAFE: data if unsafe == data else fixed(data, path, Safety.SAFE, {})}
    for variant, (safety, options) in variants().items():
        if options and not _are_read(options, path):
            continue
        after = fixed(data, path, safety, options) if options else plain[safety]
        if after != (plain[safety] if options else data):
            shown[path.with_name(f"{path.stem}.{variant}.py")] = after
    return shown


def _are_read(options: dict[str, dict[str, object]], path: Path) -> bool:
    """Whether the rules of a file may read these options: those of one topic know nothing of the others."""
    topics = {topic_of(rule.id) for rule in registry.load() if rule.name in options}
    return not path.is_relative_to(FIXTURES) or topic_of(rule_of(path).id) in topics


def fixed(data: bytes, path: Path, safety: Safety, options: dict[str, dict[str, object]]) -> bytes:
    """A fixture after the fixes of its own rule; other files after those of all rules."""
    select = (rule_of(path).id,) if path.is_relative_to(FIXTURES) else ("ALL",)
    config = Config(select=select, root=str(ROOT), rules=options)
    after, run = fix_text(data, str(path.relative_to(ROOT)), session.plan(config), safety)
    assert not run.problems, run.problems
    return after


def files() -> list[Path]:
    """All fixture files."""
    return [path for paths in folders().values() for path in paths]


def rule_of(path: Path) -> type[Rule]:
    """The rule after which the folder of a fixture is named."""
    name = path.relative_to(FIXTURES).parts[0]
    rule = next((rule for rule in registry.load() if rule.name == name), None)
    assert rule is not None, f"the folder fixtures/{name} is not named after a rule"
    return rule


def marks(text: str) -> dict[int, Mark]:
    """The marks by line."""
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = _MARK.search(line)
        if match:
            known = match["known"]
            expected = bool(match["flag"]) or known == "false alarm"
            found[number] = Mark(expected, bool(match["info"]), match["words"] or "", known)
    return found


@cache
def found(path: Path) -> list[Finding]:
    """The findings of the fixture's own rule; cached for all tests."""
    return lint(path.read_bytes(), path)


def lint(text: str | bytes, path: Path) -> list[Finding]:
    """What the fixture's own rule finds; a file that does not parse fails here."""
    rule = rule_of(path)
    result = lint_source(text, str(path.relative_to(ROOT)), Config(select=(rule.id,), root=str(ROOT)))
    assert not result.problems, result.problems
    broken = [f for f in result.findings if f.rule == "TL000"]
    assert not broken, f"{path}:{broken[0].span.line}: {broken[0].message}"
    return list(result.findings)


def differences(path: Path) -> list[str]:
    """Where findings and marks disagree, one line each."""
    text = path.read_text(encoding="utf-8")
    wanted = marks(text)
    by_line: dict[int, list[Finding]] = {}
    for finding in found(path):
        by_line.setdefault(finding.span.line, []).append(finding)
    differing = [
        f"{path.relative_to(ROOT)}:{line}: malformed mark; tests/harness.py lists the forms"
        for line in _malformed_marks(text)
    ]
    for line in sorted({*wanted, *by_line}):
        message = _difference(wanted.get(line), by_line.get(line, []))
        if message:
            differing.append(f"{path.relative_to(ROOT)}:{line}: {message}")
    return differing


def _malformed_marks(text: str) -> list[int]:
    """The lines with a comment that begins like a mark and is none."""
    lines = enumerate(text.split("\n"), 1)
    return [number for number, line in lines if _BEGINS.search(line) and not _MARK.search(line)]


def _difference(mark: Mark | None, findings: list[Finding]) -> str | None:
    if mark is None or not mark.expected:
        if not findings:
            return None
        if mark is not None:
            return "a known miss is found now: make it `# flag`"
        return f"expected silence, found: {findings[0].message}"
    if not findings:
        if mark.known:
            return "a known false alarm is gone: remove the mark"
        return "expected a finding, none reported"
    if len(findings) > 1:
        return f"expected one finding, found {len(findings)}"
    return _wrong(mark, findings[0])


def _wrong(mark: Mark, finding: Finding) -> str | None:
    is_info = finding.severity is Severity.INFO
    if is_info != mark.info and not mark.known:
        return f"expected {'info' if mark.info else 'a warning'}, found {finding.severity.value}: {finding.message}"
    if mark.words not in finding.message:
        return f"expected {mark.words!r} in the message: {finding.message}"
    return None
