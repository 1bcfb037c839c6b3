"""What a run shows about the warnings in the files that it executed."""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.confirm import prices
from torchlint.confirm.judge import judge
from torchlint.confirm.verdict import Verdict
from torchlint.model import Finding, Severity
from truth.lines import Repository
from truth.runs import Recorded

REACHED = ("confirmed", "refuted")


@dataclass(frozen=True)
class Judged:
    """A warning or an error with the verdict of a run. ``sealed`` is that of the program."""

    program: str
    sealed: bool
    repository: str
    path: str
    finding: Finding
    verdict: Verdict

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What identifies it in all programs of a repository."""
        return (self.repository, self.path, self.finding.span.line, self.finding.rule)


def verdicts(recorded: Recorded, repository: Repository) -> list[Judged]:
    """The verdicts on today's warnings. Those that the program did not reach are left out, as are those made later."""
    program, made = recorded.program, recorded.made
    today = {
        (inside, finding.rule, finding.span): finding
        for inside, findings in repository.findings.items()
        for finding in findings
        if finding.severity is not Severity.INFO
    }
    found = []
    kept = {}
    for name, finding in made.findings.items():
        inside = recorded.relative(finding.path)
        mine = today.get((inside or "", finding.rule, finding.span))
        if mine is not None:
            kept[name] = (str(inside), finding)
    for name, verdict in judge(made, recorded.run, prices.load(prices.DEFAULT)).items():
        if name in kept and verdict.status.value in REACHED:
            found.append(Judged(program.name, program.sealed, program.repository, *kept[name], verdict))
    return found
