"""The result of a run, from the results of its files."""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.model import SYNTAX_ERROR, FileResult, Problem, RuleInfo, RunResult
from torchlint.rule import Rule
from torchlint.run.plan import Plan
from torchlint.run.rules import registry
from torchlint.run.rules.builtin import BUILT_IN


def collect(
    results: Iterable[FileResult],
    what: Plan,
    *,
    files: int,
    from_cache: int = 0,
    problems: Iterable[Problem] = (),
) -> RunResult:
    """Combine the results of files into the result of a run, in order."""
    listed = list(results)
    findings = sorted((f for r in listed for f in r.findings), key=lambda f: f.sort_key)
    every = [*problems, *(p for r in listed for p in r.problems)]
    unchecked = {p.path for p in every} | {f.path for f in findings if f.rule == SYNTAX_ERROR}
    return RunResult(
        findings=tuple(findings),
        problems=tuple(sorted(every, key=lambda p: p.sort_key)),
        files=files,
        from_cache=from_cache,
        suppressed=sum(r.suppressed for r in listed),
        rules=infos(what.rules),
        unchecked=len(unchecked),
    )


def infos(rules: Iterable[type[Rule]]) -> tuple[RuleInfo, ...]:
    """The facts about all rules, beginning with torchlint's built-in findings."""
    from torchlint.rule import info

    return (*BUILT_IN, *(info(rule, str(registry.package_of(rule))) for rule in rules))
