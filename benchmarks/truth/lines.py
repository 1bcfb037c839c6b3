"""Lines that cost something in every step of a run, and what torchlint says about them.

A line belongs to the truth if the run shows at least one synchronization or blocking copy to the host there per step
(a *read*), or one blocking or pageable copy to the device (an *upload*).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchlint.config.config import Config
from torchlint.confirm.evidence import Event
from torchlint.confirm.order import digest
from torchlint.confirm.places import Place, Sources, places_of
from torchlint.confirm.rates import per_step
from torchlint.confirm.totals import waits
from torchlint.model import Finding, Severity
from torchlint.run import session
from torchlint.run.discovery import discover
from truth.runs import Recorded

ENOUGH = 0.95  # per step: a run that is ended within a step has one less
READ, UPLOAD = "read", "upload"
# The rules about each kind of line, where they cover it. Others cover it by what is copied there.
ABOUT = {
    READ: ("TL201", "TL301", "TL302", "TL303", "TL306"),
    UPLOAD: ("TL103", "TL104", "TL105", "TL201", "TL202"),
}
MADE = {"born": ("TL103", "TL104"), "loader": ("TL401",)}


@dataclass(frozen=True)
class Line:
    """A line of the truth, and the finding that covers or names it with the highest severity.

    ``unseen`` and ``sealed`` are those of the program.
    """

    program: str
    unseen: bool
    sealed: bool
    repository: str
    path: str
    line: int
    kind: str
    per_step: float
    finding: Finding | None

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What identifies it in all programs of a repository."""
        return (self.repository, self.path, self.line, self.kind)


class Repository:
    """The findings in a checkout that is linted as one project, by file."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        plan = session.plan(Config(root=str(self.root)))
        files, *_ = discover.files([str(self.root)], plan.scopes.configurations, str(self.root))
        self.findings: dict[str, list[Finding]] = defaultdict(list)
        for finding in session.run(files, plan).findings:
            self.findings[os.path.relpath(finding.path, self.root)].append(finding)
        self._sources = Sources()

    def check(self, recorded: Recorded) -> None:
        """Exit if the run was one of other files."""
        for path, wanted in recorded.made.files.items():
            inside = recorded.relative(path)
            if inside is not None and (self.root / inside).is_file() and digest(str(self.root / inside)) != wanted:
                raise SystemExit(f"{self.root / inside} has changed since the run of {recorded.program.name}")

    def about(self, kind: str, events: Sequence[Event], recorded: Recorded) -> Finding | None:
        """The finding with the highest severity about events."""
        found = [finding for event in events for finding in self._about(kind, event, recorded)]
        return max(found, key=lambda finding: finding.severity.rank, default=None)

    def _about(self, kind: str, event: Event, recorded: Recorded) -> Iterator[Finding]:
        yield from self._covering(event.place, ABOUT[kind], recorded)
        for fact, rules in MADE.items() if kind == UPLOAD else ():
            place = event.place_of(fact)
            if place is not None and not (fact == "loader" and event.facts.get("pinned")):
                yield from self._covering(place, rules, recorded)

    def _covering(self, place: Place, rules: Sequence[str], recorded: Recorded) -> Iterator[Finding]:
        inside = recorded.relative(place.path)
        for finding in self.findings.get(inside, ()) if inside is not None else ():
            mine = places_of(finding, place.path, self._sources, named=True) if finding.rule in rules else ()
            if any(one.line <= place.end_line and place.line <= one.end_line for one in mine):
                yield finding


def lines(recorded: Recorded, repository: Repository) -> list[Line]:
    """The lines of the truth in a run."""
    found: dict[tuple[str, int, str], list[Event]] = defaultdict(list)
    for event in recorded.run.of("sync", "upload", "download"):
        inside = recorded.relative(event.place.path)
        if inside is not None and _costs(event):
            found[inside, event.place.line, UPLOAD if event.kind == "upload" else READ].append(event)
    every = {key: per_step(recorded.run, events) or 0.0 for key, events in found.items()}
    program = recorded.program
    return [
        Line(
            program.name,
            program.unseen,
            program.sealed,
            program.repository,
            *key,
            each,
            repository.about(key[2], found[key], recorded),
        )
        for key, each in sorted(every.items())
        if each >= ENOUGH
    ]


def _costs(event: Event) -> bool:
    return waits(event) or (event.kind == "upload" and not event.facts.get("pinned"))


def warns(finding: Finding) -> bool:
    """Whether a finding is a warning or an error."""
    return finding.severity is not Severity.INFO
