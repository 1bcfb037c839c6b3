"""Lints the bytes of one file.

Prefilters run first, so that a file in which no rule can find anything is neither decoded nor parsed. An error in the
file is a finding (``TL000``); an error in torchlint is a problem, and other rules and files are not affected.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.base import limits
from torchlint.base.interpreter import deep_recursion, no_collection
from torchlint.base.timings import phase
from torchlint.config.config import Config
from torchlint.config.options import options_for
from torchlint.config.select import is_named, left_on, names
from torchlint.config.severities import with_severities
from torchlint.model import (
    UNUSED_SUPPRESSION,
    FileResult,
    Finding,
    Fix,
    Problem,
)
from torchlint.prefilter import concepts
from torchlint.prefilter.text_index import TextIndex
from torchlint.project.facts import FileFacts
from torchlint.project.followed import BATCHES
from torchlint.project.merged import Project
from torchlint.project.view import ProjectView, Query, query_digest
from torchlint.rule import Rule, is_core
from torchlint.run.linting import failures
from torchlint.run.linting.fingerprints import fingerprinted, with_fingerprints
from torchlint.run.linting.screened import Screened, screened
from torchlint.text.decode import DecodeProblem, decode
from torchlint.text.lines import with_line_feeds

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule, SyntaxProblem
    from torchlint.project.followed import Range
    from torchlint.run.linting.allowed import AllowedWaits
    from torchlint.run.linting.suppress import Suppressions

_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # prefilters cannot read it, and Python does not accept it


class Analysis(NamedTuple):
    """The result of linting one file: its findings, its facts for other files, and its queries on the project.

    ``queries`` holds digests of the results: the findings are valid as long as the project gives the same ones.
    ``unfinished`` means that a limit was exceeded, so that the result says nothing about the content of the file.
    ``state`` is a digest of the files of the component with which the cached result was final.
    """

    result: FileResult
    facts: FileFacts
    queries: tuple[tuple[Query, str], ...] = ()
    unfinished: bool = False
    state: str = ""

    def is_valid_for(self, project: Project) -> bool:
        """Whether the project gives the same results as when the file was linted."""
        return all(query_digest(project, self.result.path, question) == found for question, found in self.queries)


class _File:
    """The state of linting one file."""

    def __init__(
        self,
        path: str,
        content: bytes,
        rules: Sequence[type[Rule]],
        active: frozenset[str],
        config: Config,
        project: Project,
        screened: Screened,
    ) -> None:
        self.view = ProjectView(project.of_file(path, screened.facts) if project.alone else project, path)
        self.text_index: TextIndex | None = None  # if prefilters have used it, and it covers the decoded text
        self.facts = screened.facts
        self.screened = screened
        self.path, self.content = path, content
        self.config = config
        self.every_rule = rules
        self.rules = tuple(rule for rule in rules if rule.id in screened.candidates)
        self.active = active
        self.known = names(rules)
        self.findings: list[Finding] = []
        self.said: Sequence[Finding] = ()  # by rules, also what comments suppress
        self.contradicted: Collection[Range] = ()  # places of events that do not happen
        self.fixes: dict[Range, Fix] = {}  # of events that rules report
        self.problems: list[Problem] = []
        self.suppressed = 0
        self.allowed: AllowedWaits | None = None
        self.running: type[Rule] | None = None

    def result(self) -> Analysis:
        """The findings in order, with fingerprints."""
        found = with_severities(self.findings, self.config, self.every_rule)
        findings = tuple(sorted(found, key=lambda finding: finding.sort_key))
        result = FileResult(self.path, findings, tuple(self.problems), self.suppressed)
        return Analysis(result, self.facts, self.view.digests())

    def refused(self, message: str, line: int = 1) -> Analysis:
        """The result for a file that cannot be linted because of an error in it."""
        self.findings = [failures.refusal(self.path, message, self.config, line)]
        return self.result()

    def not_parsed(self, text: str, problem: SyntaxProblem) -> Analysis:
        """The result for a file that the parser refuses."""
        place = problem.line, problem.column
        found = failures.not_python(self.path, text, problem.message, *place, is_newer=problem.is_newer)
        self.findings = [fingerprinted(found, "", 0, self.config)]
        return self.result()


def lint(data: bytes, path: str, rules: Sequence[type[Rule]], active: frozenset[str], config: Config) -> FileResult:
    """Lint one file without facts of other files; see :func:`analyze`."""
    return analyze(data, path, rules, active, config).result


def analyze(
    data: bytes,
    path: str,
    rules: Sequence[type[Rule]],
    active: frozenset[str],
    config: Config,
    project: Project | None = None,
    *,
    exhaustive: bool = False,
    known: Screened | None = None,
) -> Analysis:
    """Lint one file and collect its facts.

    ``rules`` are all known rules, ``active`` the ids of those that are enabled. Only files in which a rule may find
    something, or whose facts other files may need, are parsed; every file that mentions torch must be valid Python.
    With a ``project``, facts of other files are used, and none are collected. ``exhaustive`` parses every file with
    LibCST and runs every rule, with the same result. ``known`` is the result of :func:`screen_alone`, if it has been
    called.
    """
    project = (project or Project()).for_content(path, data)
    content, data = data, with_line_feeds(data)
    text_index = TextIndex(data)
    here, problem = left_on(path, active, config, rules)
    if problem is not None:
        return _without_result(path, problem, config, {})
    _assume_what_is_followed(text_index, ProjectView(project, path))
    if known is None:
        known = screened(data, text_index, rules, here, alone=project.alone, exhaustive=exhaustive)
    file = _File(path, content, rules, here, config, project, known)
    _assume_what_is_followed(text_index, file.view)  # recorded: the prefilters depend on it
    judged = known.may_suppress and UNUSED_SUPPRESSION in here
    if not (known.parses or judged or data.startswith(_UTF16) or file.view.followed().events):
        return file.result()
    try:
        return limits.within(config.time_limit, lambda: _analyzed(file, data, text_index, exhaustive=exhaustive))
    except limits.OverLimit as over:
        return unfinished(path, str(over), config, file.facts, file.running)


def screen_alone(
    data: bytes,
    path: str,
    rules: Sequence[type[Rule]],
    active: frozenset[str],
    config: Config,
    project: Project | None = None,
    *,
    exhaustive: bool,
) -> Screened:
    """Only prefilter one file, as :func:`analyze` does first."""
    data = with_line_feeds(data)
    here, _ = left_on(path, active, config, rules)
    text_index = TextIndex(data)
    _assume_what_is_followed(text_index, ProjectView(project or Project(), path))
    return screened(data, text_index, rules, here, exhaustive=exhaustive)


def _assume_what_is_followed(text_index: TextIndex, view: ProjectView) -> None:
    """A file whose functions run in every step of another file, or get its batches, need not show that by itself."""
    followed = view.followed()
    if followed.steps or followed.tensors:
        for concept in (concepts.TORCH, concepts.STEPS, concepts.ON_ACCELERATOR):
            text_index.assume(concept)
    if any(event.origin in BATCHES for event in followed.events):
        text_index.assume(concepts.LOADERS)
    for event in followed.events:
        text_index.assume(concepts.seen(event.form))


def unfinished(path: str, over: str, config: Config, facts: FileFacts, running: type[Rule] | None = None) -> Analysis:
    """The result for a file that exceeds a limit, maybe while a rule of another package was running."""
    return _without_result(path, failures.over_limit(over, running), config, facts)


def _without_result(path: str, message: str, config: Config, facts: FileFacts) -> Analysis:
    return Analysis(FileResult(path, (failures.refusal(path, message, config),)), facts, unfinished=True)


def _analyzed(file: _File, data: bytes, text_index: TextIndex, *, exhaustive: bool) -> Analysis:
    if len(data) > limits.MAX_BYTES:
        return file.refused("the file is too large to lint (the limit is 4 MB): exclude it")
    try:
        with phase("decode"):
            text = decode(data)
    except DecodeProblem as problem:
        return file.refused(problem.message, problem.line)
    suppressions = _scanned(text) if file.screened.may_suppress else None
    if file.config.world.allowed_waits:
        from torchlint.run.linting.allowed import AllowedWaits

        file.allowed = AllowedWaits(text, file.config.world.allowed_waits)
    if suppressions is not None and suppressions.skip_file:
        return file.result()
    if file.screened.parses or file.view.followed().events:
        if len(data) > limits.LIGHT_BYTES:
            from torchlint.text import size

            if (heavy := size.problem(data)) is not None:
                return file.refused(heavy)
        if text_index.text == text:
            file.text_index = text_index
        with deep_recursion(), no_collection(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escape sequences in the file
            layout = exhaustive or any(rule.layout for rule in file.rules)
            refused = _lint_text(file, text, suppressions, layout=layout)
        if refused is not None:
            return refused
    _add_seen(file, text, suppressions)
    if suppressions is not None and UNUSED_SUPPRESSION in file.active:
        from torchlint.run.linting.suppress import unused_findings

        file.findings += unused_findings(suppressions, file.path, text, file.known, file.active)
    if file.allowed is not None and UNUSED_SUPPRESSION in file.active:
        file.findings += file.allowed.unused(file.path)
    file.findings = with_fingerprints(file.findings, text, file.config)
    return file.result()


def _add_seen(file: _File, text: str, suppressions: Suppressions | None) -> None:
    """Add findings of what following the programs has seen, and no rule has said anything about."""
    if not (events := file.view.followed().events):
        return
    from torchlint.run.linting.seen import findings

    on = [rule for rule in file.every_rule if rule.id in file.active]
    found = findings(events, file.path, text, on, file.said, file.contradicted, file.fixes)
    _keep_all(file, found, text, suppressions)


def _scanned(text: str) -> Suppressions:
    from torchlint.run.linting.suppress import scan

    return scan(text)


def _lint_text(file: _File, text: str, suppressions: Suppressions | None, *, layout: bool) -> Analysis | None:
    from torchlint.analysis.module import SyntaxProblem

    try:
        found = _parse_and_check(file, text, layout=layout)
    except SyntaxProblem as problem:
        return file.not_parsed(text, problem)
    except (RecursionError, MemoryError):
        return file.refused("the code is nested too deeply to be analyzed: split it, or exclude the file")
    file.said = found
    _keep_all(file, found, text, suppressions)
    return None


def _parse_and_check(file: _File, text: str, *, layout: bool) -> list[Finding]:
    """Parse, run every rule, and collect facts; an error in one of them does not affect the others.

    Raises ``SyntaxProblem``, ``RecursionError`` and ``MemoryError``.
    """
    from torchlint.analysis.module import SourceModule

    with phase("parse"):
        module = SourceModule.parse(
            text,
            file.path,
            target_torch=file.config.target_torch,
            project=file.view,
            layout=layout,
            lazy=not file.screened.unnormalized,
            text_index=file.text_index,
            content=file.content,
        )
    try:
        return _run_rules(module, file)
    finally:
        module.close()


def _run_rules(module: SourceModule, file: _File) -> list[Finding]:
    found: list[Finding] = []
    for rule in file.rules:
        file.running = rule
        try:
            with phase(rule.id):
                found += _findings(rule, module, file.config)
        except (Exception, SystemExit) as error:
            if _concerns_file(error, rule):
                raise
            file.problems.append(failures.internal_error(f"rule {rule.id} {rule.name}", file.path, error, rule))
    file.running = None
    if file.view.followed().events:
        from torchlint.analysis.contradictions import Contradictions

        file.contradicted = module.shared(Contradictions).places
        _fix_events(module, file)
    if file.screened.needs_facts:
        _collect_facts(file, module)
    return found


def _fix_events(module: SourceModule, file: _File) -> None:
    """What rules make of the places of events that they report."""
    from torchlint.run.linting.seen import reporting

    enabled = {rule.id: rule for rule in file.every_rule if rule.id in file.active}
    reported = [(event, rule) for event in module.followed.events if (rule := reporting(event, enabled)) is not None]
    mended = [(event, rule) for event, rule in reported if rule.repair is not Rule.repair]
    nodes = module.followed.expressions([event.place for event, _ in mended])
    for event, rule in mended:
        if (node := nodes.get(event.place)) is not None:
            instance = rule(module, options_for(rule, file.config), file.findings.append)
            if (fix := instance.repair(node)) is not None:
                file.fixes[event.place] = fix


def _concerns_file(error: BaseException, rule: type[Rule]) -> bool:
    """Whether an error says something about the file; in rules of other packages, endless recursion does not."""
    from torchlint.analysis.module import SyntaxProblem

    return isinstance(error, SyntaxProblem) or (isinstance(error, RecursionError) and is_core(rule.id))


def _collect_facts(file: _File, module: SourceModule) -> None:
    """Collect the facts that other files may need."""
    from torchlint.analysis import offers
    from torchlint.analysis.module import SyntaxProblem

    try:
        with phase("facts"):
            file.facts = offers.collect(module, file.facts)
    except (SyntaxProblem, RecursionError):
        raise
    except Exception as error:
        file.problems.append(failures.internal_error("gathering facts", file.path, error))


def _findings(rule: type[Rule], module: SourceModule, config: Config) -> list[Finding]:
    """The findings of one rule."""
    from torchlint.analysis.dispatch import found_for

    found: list[Finding] = []
    instance = rule(module, options_for(rule, config), found.append)
    instance.named = is_named(rule, config)
    for name, event in rule.visitors().items():
        visit = getattr(instance, name)
        for thing in found_for(module, event):
            visit(thing)
    return found


def _keep_all(file: _File, found: Sequence[Finding], text: str, suppressions: Suppressions | None) -> None:
    if found and suppressions is None and "noqa" in text.lower():
        suppressions = _scanned(text)
    if helper := file.config.world.upload_helper:
        from torchlint.run.linting.repairs import with_helper

        found = [with_helper(finding, helper) for finding in found]
    for finding in found:
        lines = finding.statement
        if suppressions is not None and lines and suppressions.matches(finding.rule, finding.name, *lines):
            file.suppressed += 1
        elif file.allowed is not None and file.allowed.covers(finding):
            file.suppressed += 1
        else:
            file.findings.append(finding)
