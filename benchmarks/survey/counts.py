"""What torchlint finds in a repository, as counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from survey.checkouts import Repository
from torchlint.config.config import Config
from torchlint.model import SYNTAX_ERROR, Finding
from torchlint.run import session
from torchlint.run.discovery import discover


class Count(NamedTuple):
    """How many findings of a rule with a severity there are."""

    rule: str
    severity: str
    findings: int


class Counts(NamedTuple):
    """The counts of one repository; ``files`` and ``lines`` are those of files that mention torch."""

    repository: str
    commit: str
    files: int
    lines: int
    unreadable: int
    findings: tuple[Count, ...]

    def of_rule(self, rule: str, *, infos: bool = False) -> int:
        """The number of warnings and errors of a rule, or of its infos."""
        return sum(c.findings for c in self.findings if c.rule == rule and (c.severity == "info") == infos)

    def warnings(self) -> int:
        """The number of all warnings and errors."""
        return sum(each.findings for each in self.findings if each.severity != "info")


def of(repository: Repository, root: Path) -> Counts:
    """Lint a checkout as one project, with the default rules and no configuration."""
    plan = session.plan(Config(root=str(root)))
    paths, *_ = discover.files([str(root)], plan.scopes.configurations, str(root))
    found = session.run(paths, plan).findings
    texts = [data for path in paths if b"torch" in (data := Path(path).read_bytes())]
    return Counts(
        repository.repository,
        repository.commit,
        len(texts),
        sum(data.count(b"\n") for data in texts),
        sum(finding.rule == SYNTAX_ERROR for finding in found),
        tuple(_counted(finding for finding in found if finding.rule != SYNTAX_ERROR)),
    )


def _counted(findings: Iterable[Finding]) -> list[Count]:
    found = Counter((f.rule, f.severity.value) for f in findings)
    return [Count(*key, number) for key, number in sorted(found.items())]


def write(found: Iterable[Counts], when: str, path: Path) -> None:
    """Write when it was counted, at which commit of torchlint, and the counts, one repository on a line."""
    lines = [{"counted": when}, *(each._asdict() for each in found)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def read(path: Path) -> tuple[str, list[Counts]]:
    """Read when it was counted, and the counts."""
    first, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    found = [Counts(**{**line, "findings": tuple(Count(*each) for each in line["findings"])}) for line in lines]
    return first["counted"], found


def rules(found: Sequence[Counts]) -> list[str]:
    """The rules with findings, those that most repositories have warnings of first."""
    ids = {each.rule for one in found for each in one.findings}
    return sorted(ids, key=lambda rule: (-having(found, rule), -having(found, rule, infos=True), rule))


def having(found: Sequence[Counts], rule: str, *, infos: bool = False) -> int:
    """How many repositories have at least one warning or error of a rule, or no more than infos."""
    if infos:
        return sum(not one.of_rule(rule) and one.of_rule(rule, infos=True) > 0 for one in found)
    return sum(one.of_rule(rule) > 0 for one in found)
