"""The base class of all rules, and the check that a rule is well-formed.

A rule is a class with a few facts and visitors. One instance serves one file. Rules query ``self.module`` and call
:meth:`Rule.report`; they do not print or read files, and see only their own options of the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from torchlint import on
from torchlint.model import Evidence, Finding, Fix, Heat, Recipe, RuleInfo, Safety, Severity
from torchlint.prefilter.needs import Need, identifiers

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.module import SourceModule

DOCS_URL = "https://github.com/torchlint/torchlint/blob/main/docs/rules/{name}.md"
HEADINGS = (
    "What it finds",
    "Why it costs",
    "Instead",
    "When to leave it",
    "Fix safety",
    "Confirmed by",
    "Sources",
)
FACTS = ("id", "name", "summary", "severity")
TOPICS = {
    "0": "lint",
    "1": "copies",
    "2": "transfers",
    "3": "synchronisation",
    "4": "loading",
    "5": "backends",
    "6": "training",
    "7": "portability",
    "8": "precision",
    "9": "compile",
}


class NoOptions(NamedTuple):
    """The options of a rule that has none."""


class Rule:
    """Base class of rules: set the facts, and define visitors.

    A visitor is a method ``visit_<LibCST node>``, or one with a decorator of :mod:`torchlint.on`. ``needs`` are further
    conditions on a file, in addition to those that the visitors imply, without which the rule cannot find anything;
    other files are not parsed. Needs name identifiers; a text pattern is an exception, with a comment on what it saves.
    A rule that does not need whitespace, commas and parentheses in the tree sets ``layout = False``, which makes
    parsing many times faster. ``recipe`` describes how a run confirms a finding; without one, every verdict is
    ``unknown``. ``options_of`` names another rule that shares its options with this one.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    severity: ClassVar[Severity]
    default: ClassVar[bool] = True
    fix: ClassVar[str] = "never"
    since: ClassVar[str] = "0.1.0"
    needs: ClassVar[tuple[Need, ...]] = (identifiers("torch"),)
    layout: ClassVar[bool] = True
    recipe: ClassVar[Recipe | None] = None
    Options: ClassVar[type[Any]] = NoOptions
    options_of: ClassVar[str | None] = None

    def __init__(self, module: SourceModule, options: Any, sink: Callable[[Finding], None]) -> None:
        self.module = module
        self.options = options
        self.statements: list[tuple[int, int]] = []
        self._sink = sink

    @classmethod
    def visitors(cls) -> dict[str, on.Event]:
        """The visitors by name, with their events."""
        found = _visitors.get(cls)
        if found is None:
            found = _visitors[cls] = on.events(cls)
        return found

    @classmethod
    def alternatives(cls) -> list[tuple[Need, ...]]:
        """For each visitor, the needs without which it cannot find anything."""
        return [(*event.needs, *cls.needs) for event in cls.visitors().values()]

    def report(
        self,
        node: cst.CSTNode,
        message: str,
        *,
        evidence: Iterable[Evidence] = (),
        severity: Severity | None = None,
        heat: Heat | None = None,
        fix: Fix | None = None,
    ) -> None:
        """Report a finding at a node, unless the node is unreachable.

        ``statements`` records the first and last line of the statement around it: a suppression may be on any of these
        lines.
        """
        if self.module.never_runs(node):
            return
        self.statements.append(self.module.statement_lines(node))
        self._sink(
            Finding(
                rule=self.id,
                name=self.name,
                topic=topic_of(self.id),
                severity=severity or self.severity,
                path=self.module.path,
                span=self.module.span(node),
                message=message,
                heat=heat,
                evidence=tuple(sorted(set(evidence), key=lambda e: (e.line, e.column, e.text))),
                fix=self._as_in_tests(node, fix),
            )
        )

    def _as_in_tests(self, node: cst.CSTNode, fix: Fix | None) -> Fix | None:
        """Fixes of code that a test runs once are unsafe: it may be what is tested, and speed matters little there."""
        safe = fix is not None and fix.safety is Safety.SAFE
        if fix is None or not safe or not self.module.in_test(node) or self.module.every_step(node):
            return fix
        return fix._replace(safety=Safety.UNSAFE, caveat="this is a test, and the line may be what it tests")


def topic_of(rule_id: str) -> str:
    """The topic of a rule id, by its hundred."""
    return TOPICS[rule_id[2]]


def info(rule: type[Rule]) -> RuleInfo:
    """The facts about a rule as a record."""
    return RuleInfo(
        id=rule.id,
        name=rule.name,
        topic=topic_of(rule.id),
        severity=rule.severity,
        summary=rule.summary,
        default=rule.default,
        fix=rule.fix,
        since=rule.since,
        documentation=_documentation(rule),
        url=DOCS_URL.format(name=rule.name),
    )


def _documentation(rule: type[Rule]) -> str:
    from textwrap import dedent  # `inspect.cleandoc` would do, but importing `inspect` is slow

    first, _, rest = (rule.__doc__ or "").partition("\n")
    return f"{first.strip()}\n{dedent(rest)}".strip()


def problems(rule: type[Rule]) -> list[str]:
    """What is wrong with a rule class; an empty list if it can be loaded."""
    found = [f"has no {fact}" for fact in FACTS if not hasattr(rule, fact)]
    if found:
        return found
    if not re.fullmatch(r"TL\d{3}", rule.id):
        found.append(f"id {rule.id!r} is not TL and three digits")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name):
        found.append(f"name {rule.name!r} is not kebab-case")
    if rule.fix not in ("never", "sometimes", "always"):
        found.append(f"fix {rule.fix!r} is not never, sometimes or always")
    if not _has_defaults(rule.Options):
        found.append("Options is no dataclass or NamedTuple with defaults for all fields")
    found += _heading_problems(rule) + _visitor_problems(rule)
    return found


def _has_defaults(options: type[Any]) -> bool:
    try:
        options()
    except TypeError:
        return False
    return hasattr(options, "__dataclass_fields__") or hasattr(options, "_fields")


def _heading_problems(rule: type[Rule]) -> list[str]:
    headings = re.findall(r"^## (.+)$", _documentation(rule), re.MULTILINE)
    if tuple(headings) == HEADINGS:
        return []
    missing = [heading for heading in HEADINGS if heading not in headings]
    if missing:
        return [f"lacks the headings {missing} in its docstring, which has {headings}"]
    return [f"has the headings {headings} in its docstring, not {list(HEADINGS)}"]


def _visitor_problems(rule: type[Rule]) -> list[str]:
    visitors = rule.visitors()
    if not visitors:
        return ["has no visitor"]
    return [f"{name} names no LibCST node" for name, event in visitors.items() if not _is_node(event)]


def _is_node(event: on.Event) -> bool:
    import libcst as cst

    node = getattr(cst, event.node, None) if event.node else cst.CSTNode
    return isinstance(node, type) and issubclass(node, cst.CSTNode)


_visitors: dict[type[Rule], dict[str, on.Event]] = {}
