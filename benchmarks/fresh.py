"""How right torchlint is on ten repositories that were labeled before it was first run on them.

``benchmarks/evaluation/sealed.jsonl`` lists places that readers of the specification labeled without any output of
torchlint: ``flag`` (a warning or error belongs there), ``info`` (a note, or experts may disagree) or ``silent``. The
``scope`` says whether the file alone proves it (``file``) or another file of the project is needed (``project``). Other
rules, lines or files at which a report of the same fault is as good are ``alternatives``.

``python benchmarks/fresh.py FOLDER`` lints the checkouts in FOLDER (``FOLDER/owner+name``, at the commits that the file
names; nothing is fetched), each as one project, and prints by scope:

- *known*: places labeled ``flag`` with a finding of any severity;
- *shown*: those with a warning or an error, which is what a user sees by default;
- *warnings*: at how many places of each label torchlint warns.

``--places FILE`` takes other labels: ``benchmarks/evaluation/fresh.jsonl`` has 521 places in thirty repositories. With
``--near``, a finding of any rule of the same family (synchronizations, or copies to the device) counts at the line and
those next to it, since one wait can be reported by several rules and at several parts of a statement.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import evaluate

from torchlint.model import Severity

PLACES = Path(__file__).parent / "evaluation" / "sealed.jsonl"
SYNCHRONIZATIONS = frozenset({"TL301", "TL302", "TL303", "TL306"})
FAMILIES = (
    SYNCHRONIZATIONS | {"TL304", "TL305"},
    frozenset({"TL101", "TL102", "TL103", "TL104", "TL105", "TL201", "TL202", "TL205", "TL401"}),
)
LABELS = ("flag", "info", "silent")

Spoken = Mapping[tuple[str, str, int], Severity]


@dataclass(frozen=True)
class Place:
    """One labeled place. Keys that an entry of ``alternatives`` lacks are those of the place."""

    repository: str
    commit: str
    path: str
    line: int
    rule: str
    label: str
    scope: str
    reason: str
    alternatives: tuple[dict[str, str | int], ...] = ()

    def severity(self, says: Spoken, *, near: bool = False) -> Severity | None:
        """The highest severity of what torchlint reports here, at an alternative, or ``near`` it by a similar rule."""
        own: dict[str, str | int] = {"path": self.path, "rule": self.rule, "line": self.line}
        keys = [tuple({**own, **other}.values()) for other in ({}, *self.alternatives)]
        if near:
            rules = next((family for family in FAMILIES if self.rule in family), {self.rule})
            keys += [(self.path, rule, self.line + offset) for rule in rules for offset in (-1, 0, 1)]
        found = [says[key] for key in keys if key in says]  # type: ignore[index]
        return max(found, key=lambda severity: severity.rank, default=None)


@dataclass(frozen=True)
class Result:
    """What torchlint says at a place."""

    place: Place
    severity: Severity | None

    @property
    def warned(self) -> bool:
        """Whether it is more than a note."""
        return self.severity in (Severity.WARNING, Severity.ERROR)


def read(path: Path = PLACES) -> list[Place]:
    """The labeled places. Raises ``ValueError`` for an unknown label."""
    places = [Place(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    for place in places:
        if place.label not in LABELS:
            raise ValueError(f"{path}: {place.path}:{place.line} has the label {place.label!r}")
    return places


def results(places: Iterable[Place], folder: Path, *, near: bool = False) -> list[Result]:
    """What torchlint says at each place. Exits if a checkout is missing."""
    by_repository: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        by_repository[place.repository].append(place)
    found: list[Result] = []
    for repository, here in sorted(by_repository.items()):
        says = evaluate.spoken(evaluate.checkout(folder, repository, repository.replace("/", "+")))
        found += [Result(place, place.severity(says, near=near)) for place in here]
    return found


def table(found: list[Result]) -> str:
    """A table in Markdown: a row for each scope, and for the synchronizations in both."""
    rows = [
        "| places | labeled flag | known | shown | warnings at `flag` | at `info` | at `silent` |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        _row("in one file", [result for result in found if result.place.scope == "file"]),
        _row("across files", [result for result in found if result.place.scope == "project"]),
        _row("synchronizations", [result for result in found if result.place.rule in SYNCHRONIZATIONS]),
        _row("all", found),
    ]
    return "\n".join(rows)


def _row(name: str, found: list[Result]) -> str:
    flagged = [result for result in found if result.place.label == "flag"]
    spoken = evaluate.share(sum(result.severity is not None for result in flagged), len(flagged))
    loud = evaluate.share(sum(result.warned for result in flagged), len(flagged))
    warnings = Counter(result.place.label for result in found if result.warned)
    counts = " | ".join(str(warnings[label]) for label in LABELS)
    return f"| {name} | {len(flagged)} | {spoken} | {loud} | {counts} |"


def by_rule(found: list[Result]) -> str:
    """A table in Markdown with a row for each rule."""
    rows = ["| rule | labeled flag | known | warnings at `flag` | at `info` | at `silent` |"]
    rows.append("| --- | --- | --- | --- | --- | --- |")
    for rule in sorted({result.place.rule for result in found}):
        here = [result for result in found if result.place.rule == rule]
        cells = _row(rule, here).split(" | ")
        rows.append(" | ".join((*cells[:3], *cells[4:])))
    return "\n".join(rows)


def main() -> None:
    """Print the tables and, with ``--details``, every miss and every warning that is not labeled so."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder with the checkouts, as owner+name")
    parser.add_argument("--places", type=Path, default=PLACES, help="the labels (%(default)s)")
    parser.add_argument("--near", action="store_true", help="count similar rules and neighboring lines")
    parser.add_argument("--details", action="store_true", help="list the misses and the wrong warnings")
    arguments = parser.parse_args()
    found = results(read(arguments.places), arguments.folder, near=arguments.near)
    print(f"{table(found)}\n\n{by_rule(found)}")
    for result in found if arguments.details else ():
        place = result.place
        where = f"{place.repository} {place.path}:{place.line} ({place.reason})"
        if place.label == "flag" and result.severity is None:
            print(f"{place.rule} missed, {place.scope}: {where}")
        elif place.label != "flag" and result.warned:
            print(f"{place.rule} warned at {place.label}, {place.scope}: {where}")


if __name__ == "__main__":
    main()
