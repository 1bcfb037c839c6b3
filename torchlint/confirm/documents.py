"""Reports of a run in the formats of linting, with verdicts: JSON, SARIF, GitHub, HTML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from torchlint.confirm.bursts import Burst
from torchlint.confirm.result import Result
from torchlint.confirm.verdict import Status, Verdict
from torchlint.model import RuleInfo, RunResult, Severity
from torchlint.report import ReportOptions
from torchlint.report.shared import dump


def as_json(result: Result, rules: tuple[RuleInfo, ...]) -> str:
    """The JSON report with a verdict for each finding and a description of the run."""
    from torchlint.report.json import document

    whole = document(_run(result, rules))
    for values, verdict in zip(whole["findings"], result.verdicts, strict=True):
        values["verdict"] = verdict_document(verdict)
    whole["unflagged"] = [{**asdict(spot), "burst": _burst(spot.burst)} for spot in result.hot]
    whole["totals"] = asdict(result.totals) if result.totals is not None else None
    whole["evaluation"] = asdict(result.evaluation) if result.evaluation is not None else None
    whole["budget"] = [
        {"key": e.key, "limit": e.limit, "figure": e.figure, "lines": [list(line) for line in e.lines]}
        for e in result.excesses
    ]
    whole["answer"] = asdict(result.answer)
    whole["run"] = _described(result)
    return dump(whole)


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain data. ``cost_us`` is per step, or for the run if there were no steps."""
    return {
        "status": verdict.status.value,
        "basis": verdict.basis.value if verdict.basis else None,
        "reason": verdict.reason,
        "count": verdict.count,
        "bytes": verdict.bytes,
        "per_step": verdict.per_step,
        "phase": verdict.phase,
        "beside": verdict.beside,
        "shared": verdict.shared,
        "share": verdict.share,
        "cost_us": verdict.cost,
        "cost_basis": verdict.cost_basis.value if verdict.cost_basis else None,
        "lines": [asdict(line) for line in verdict.lines],
        "burst": _burst(verdict.burst),
    }


def _burst(found: Burst | None) -> dict[str, int] | None:
    """In how many ``steps`` it happened, ``of`` how many; None for what is no burst."""
    return found._asdict() if found is not None else None


def _described(result: Result) -> dict[str, Any]:
    run = result.run
    return {
        "program": result.order.program,
        "arguments": list(result.order.arguments),
        "mode": run.mode,
        "device": run.device,
        "torch": run.torch,
        "steps": run.steps,
        "unit": run.unit,
        "trainings": run.trainings,
        "phases": {name: asdict(phase) for name, phase in run.phases.items()},
        "step_us": run.step_ns / 1000 if run.step_ns else None,
        "processes": run.processes,
        "ranks": list(run.ranks),
        "ended": dict(run.ended),
        "complete": run.complete,
        "gap": run.gap,
        "left": {"path": run.left[0].path, "line": run.left[0].line, "what": run.left[1]} if run.left else None,
        "compiled": run.compiled,
        "notes": run.notes,
        "profile": result.prices.name,
        "profiled": dict(run.profiled) if run.profiled else None,
        "synchronizations": dict(run.account) if run.account else None,
    }


def as_sarif(result: Result, rules: tuple[RuleInfo, ...]) -> str:
    """The SARIF report; refuted findings are suppressed with the reason, and verdicts are properties."""
    from torchlint.report import ReportOptions
    from torchlint.report.sarif import document

    log = document(_run(_with_messages(result), rules), ReportOptions())
    for values, verdict in zip(log["runs"][0]["results"], result.verdicts, strict=True):
        values.setdefault("properties", {})["verdict"] = verdict_document(verdict)
        if verdict.status is Status.REFUTED:
            values["suppressions"] = [{"kind": "external", "justification": f"refuted: {verdict.reason}"}]
    return dump(log)


def as_github(result: Result, rules: tuple[RuleInfo, ...]) -> str:
    """Workflow commands; a finding that is refuted or not reached is at most a notice."""
    from torchlint.report.github import render

    said = _with_messages(result)
    quiet = (Status.REFUTED, Status.NOT_REACHED)
    findings = tuple(
        finding._replace(severity=Severity.INFO) if verdict.status in quiet else finding
        for finding, verdict in zip(said.findings, said.verdicts, strict=True)
    )
    return render(_run(replace(said, findings=findings), rules), ReportOptions())


def as_html(result: Result, rules: tuple[RuleInfo, ...]) -> str:
    """The page for people."""
    from torchlint.confirm.html import render

    return render(result, rules)


def _with_messages(result: Result) -> Result:
    pairs = zip(result.findings, result.verdicts, strict=True)
    findings = tuple(f._replace(message=f"{f.message}\n[{v.status.value}] {v.reason}") for f, v in pairs)
    return replace(result, findings=findings)


def _run(result: Result, rules: tuple[RuleInfo, ...]) -> RunResult:
    return RunResult(findings=result.findings, files=len(result.order.files), rules=rules)


RENDERERS: dict[str, Callable[[Result, tuple[RuleInfo, ...]], str]] = {
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
    "html": as_html,
}
