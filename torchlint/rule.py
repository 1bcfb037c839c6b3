"""The base class of all rules, and the facts about a rule.

A rule is a class with a few facts and visitors. One instance serves one file. Rules query ``self.module`` and call
:meth:`Rule.report`; they do not print or read files, and see only their own options of the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from torchlint import on
from torchlint.base.pages import Page
from torchlint.base.version import REPOSITORY
from torchlint.groups import WASTE, bounded, group_of, on_by_default
from torchlint.model import Evidence, Finding, Fix, Heat, Recipe, RuleInfo, Safety, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import Need

if TYPE_CHECKING:
    from typing import Protocol

    import libcst as cst

    from torchlint.analysis.module import SourceModule

    class _Topical(Protocol):
        """What has an id, and maybe a topic: a rule class, or a record of its facts."""

        @property
        def id(self) -> str:
            """The letters of the package, and digits."""

        @property
        def topic(self) -> str:
            """The topic; empty if it follows from the id."""


DOCS_URL = REPOSITORY + "/blob/main/docs/rules/{name}.md"
CORE_PREFIX = "TL"
FACTS = ("id", "name", "summary", "severity")
TOPICS = {
    "0": "lint",
    "1": "copies",
    "2": "transfers",
    "3": "synchronization",
    "4": "loading",
    "5": "backends",
    "6": "optimization",
    "7": "portability",
    "8": "precision",
    "9": "compile",
}
# Earlier spellings of topics, which selections still accept.
FORMER_TOPICS = {"synchronisation": "synchronization"}


PROGRAMS = ("training", "inference")


class NoOptions(NamedTuple):
    """The options of a rule that has none."""


class Rule:
    """Base class of rules: set the facts, and define visitors.

    A visitor is a method ``visit_<LibCST node>``, or one with a decorator of :mod:`torchlint.on`. ``needs`` are further
    conditions on a file, in addition to those that the visitors imply, without which the rule cannot find anything;
    other files are not parsed. Needs name identifiers; a text pattern is an exception, with a comment on what it saves.
    A rule that does not need whitespace, commas and parentheses in the tree sets ``layout = False``, which makes
    parsing many times faster. ``recipe`` describes how a run confirms a finding; without one, every verdict is
    ``unknown``. ``programs`` are the kinds of programs in which findings cost time or memory, ``training`` and
    ``inference``; presets depend on it. ``options_of`` names another rule that shares its options with this one.
    ``since`` is the version of the package that brought the rule. ``group`` is what the rule promises about findings
    (:mod:`torchlint.groups`); without one it follows from the severity. A rule that names its group reports no finding
    above the severities of that group. ``about_evaluation = True`` keeps warnings in evaluation, where the findings of
    other rules are infos. ``about_steps = True`` makes a finding a warning, whatever
    the group, where following the programs shows that every step of a training or a sampler waits or copies there.
    ``default = False`` is for rules that only a project can decide about; one of the group ``preview`` is off anyway.

    ``named`` is true for a rule that the configuration selects by its id, name or topic, or by a prefix with digits.

    Two facts are for rules of other packages. ``topic`` is the topic; without one it is the prefix of the id in small
    letters (that of torchlint's own rules follows from the id). ``url`` is the pattern of the link to the documentation
    of the rule, with ``{name}`` or ``{id}``; without one, reports have no link.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    severity: ClassVar[Severity]
    group: ClassVar[str] = ""
    about_evaluation: ClassVar[bool] = False
    about_steps: ClassVar[bool] = False
    default: ClassVar[bool] = True
    fix: ClassVar[str] = "never"
    programs: ClassVar[tuple[str, ...]] = PROGRAMS
    since: ClassVar[str] = "0.1.0"
    needs: ClassVar[tuple[Need, ...]] = (concepts.TORCH,)
    layout: ClassVar[bool] = True
    recipe: ClassVar[Recipe | None] = None
    Options: ClassVar[type[Any]] = NoOptions
    options_of: ClassVar[str | None] = None
    topic: ClassVar[str] = ""
    url: ClassVar[str | None] = None
    named = False

    def __init__(self, module: SourceModule, options: Any, sink: Callable[[Finding], None]) -> None:
        self.module = module
        self.options = options
        self._sink = sink

    @classmethod
    def visitors(cls) -> dict[str, on.Declaration]:
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
        cause: str = "",
    ) -> None:
        """Report a finding at a node, unless the node is unreachable, or part of a round trip that was followed.

        Findings of one file with the same ``cause`` (in the plural, such as ``requests for CUDA``) are shown as one.
        A warning about waste is an info where a normal run hardly gets there, and its message says why. What rules
        about steps find is a warning where a normal run pays for it in every step of a training or a sampler.
        """
        if self.module.never_runs(node) or (self.id in _ABOUT_COPIES and self.module.followed.returns(node)):
            return
        level = bounded(severity or self.severity, self.group)
        costly = self.about_steps and level is Severity.INFO and self.module.followed.costs(node)
        if costly or (level is Severity.WARNING and group_of(self) == WASTE):
            reason = self.circumstance(node)
            level = Severity.WARNING if reason is None else Severity.INFO
            message = message if reason is None else f"{message} ({reason})"
        self._sink(
            Finding(
                rule=self.id,
                name=self.name,
                topic=topic_of(type(self)),
                severity=level,
                path=self.module.path,
                span=self.module.span(node),
                message=message,
                heat=heat,
                evidence=tuple(sorted(set(evidence), key=lambda e: (e.line, e.column, e.text))),
                fix=self._as_in_tests(node, fix),
                statement=self.module.statement_lines(node),
                cause=cause,
                step=self.module.followed.step_of(self.module.heat_analysis.enclosing_step(node)),
            )
        )

    def circumstance(self, node: cst.CSTNode) -> str | None:
        """Why a node hardly matters in a normal run, such as ``only with `--debug```; None if it does matter."""
        from torchlint.analysis.things.circumstances import Circumstances

        circumstances = self.module.shared(Circumstances)
        evaluates = not (self.about_evaluation or self.module.followed.costs(node))
        return circumstances.of(node) if evaluates else circumstances.off(node)

    def repair(self, node: cst.BaseExpression) -> Fix | None:  # noqa: ARG002
        """A fix for what following the programs has seen at a node, and the rule reports; None if there is none."""
        return None

    def _as_in_tests(self, node: cst.CSTNode, fix: Fix | None) -> Fix | None:
        """Fixes of code that a test runs once are unsafe: it may be what is tested, and speed matters little there."""
        safe = fix is not None and fix.safety is Safety.SAFE
        if fix is None or not safe or not self.module.in_test(node) or self.module.every_step(node):
            return fix
        return fix._replace(safety=Safety.UNSAFE, caveat="this is a test, and the line may be what it tests")


# Rules that say less about a copy or a read than that it is part of a round trip.
_ABOUT_COPIES = frozenset("TL103 TL104 TL105 TL202 TL301 TL302 TL303 TL305".split())


def prefix_of(rule_id: str) -> str:
    """The letters of a rule id."""
    return rule_id.rstrip("0123456789")


def is_core(rule_id: str) -> bool:
    """Whether a rule is one of torchlint's own, by its id."""
    return prefix_of(rule_id) == CORE_PREFIX


def topic_of(rule: _Topical | type[Rule]) -> str:
    """The topic of a rule: its own, or else the one that its id implies."""
    return rule.topic or topic_by_id(rule.id)


def topic_by_id(rule_id: str) -> str:
    """The topic that an id implies: by the hundred of a core rule, by the prefix of another package's."""
    return TOPICS[rule_id[2]] if is_core(rule_id) else prefix_of(rule_id).lower()


def info(rule: type[Rule], package: str = "torchlint") -> RuleInfo:
    """The facts about a rule of a package as a record."""
    return RuleInfo(
        id=rule.id,
        name=rule.name,
        topic=topic_of(rule),
        severity=rule.severity,
        summary=rule.summary,
        group=group_of(rule),
        default=on_by_default(rule),
        fix=rule.fix,
        programs=rule.programs,
        since=rule.since,
        page=page(rule),
        url=_link(rule),
        package=package,
    )


def _link(rule: type[Rule]) -> str | None:
    pattern = DOCS_URL if is_core(rule.id) else rule.url
    return pattern.replace("{name}", rule.name).replace("{id}", rule.id) if pattern else None


def page(rule: type[Rule]) -> Page:
    """Where the page of a rule stands."""
    return Page(rule.__module__, rule.name, rule.__doc__ or "")


def unknown_nodes(rule: type[Rule]) -> list[str]:
    """The visitors of a rule whose names name no LibCST node; imports LibCST."""
    import libcst as cst

    def is_node(name: str) -> bool:
        node = getattr(cst, name, None)
        return isinstance(node, type) and issubclass(node, cst.CSTNode)

    return [name for name, event in rule.visitors().items() if event.node and not is_node(event.node)]


_visitors: dict[type[Rule], dict[str, on.Declaration]] = {}
