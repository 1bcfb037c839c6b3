"""Classes of events: what readings and labels say of findings of the same rule, phase, use or origin, and loops."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from judging.readings import Reading
from judging.wild import Found, Repository
from torchlint.project.followed import FollowedEvent
from torchlint.rule import Rule
from torchlint.run.linting.seen import reporting
from torchlint.run.rules import registry
from torchlint.solution import solve

_VERDICTS = ("right", "pointless", "wrong")
_LABELS = {"flag": "costly", "info": "innocent", "silent": "innocent"}
_HEAD = ["severity", "rule", "phase", "use or origin", "in loops", *_VERDICTS, "costly", "innocent"]
Class = tuple[str, str, str, str, str]
Place = tuple[str, str, int]  # repository, path and line


def events(repository: Repository) -> dict[Place, list[FollowedEvent]]:
    """What following the programs of a checkout sees, by line."""
    root = repository.root
    contents = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*.py"))}
    found: dict[Place, list[FollowedEvent]] = defaultdict(list)
    for path, known in solve(contents).files.items():
        for event in known.events:
            found[repository.name, path, event.place[0]].append(event)
    return found


def labels(path: Path) -> dict[tuple[Place, str], str]:
    """Whether readers labelled a line as costly or innocent, by the place and the topic of the rule."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return {
        ((row["repository"], row["path"], row["line"]), _topic(row["rule"])): _LABELS[row["label"]]
        for row in rows
        if row["label"] in _LABELS
    }


def class_of(found: Found, seen: Mapping[Place, Sequence[FollowedEvent]], enabled: Mapping[str, type[Rule]]) -> Class:
    """The class of a finding: that of the event at its line which its rule reports, if there is one."""
    finding = found.finding
    for event in seen.get(_place(found.repository.name, found.place), ()):
        rule = reporting(event, enabled)
        if rule is not None and rule.id == finding.rule:
            loops = "yes" if event.loops else ""
            return finding.severity.value, finding.rule, event.phase, event.use or event.origin, loops
    return finding.severity.value, finding.rule, "", "", ""


def table(
    findings: Iterable[Found],
    seen: Mapping[Place, Sequence[FollowedEvent]],
    readings: Iterable[Reading],
    labelled: Mapping[tuple[Place, str], str],
) -> str:
    """The classes of findings with the numbers of verdicts and labels, in Markdown."""
    read = {(each.rule, _place(each.repository, each.place)): each.verdict for each in readings if each.place}
    enabled = {rule.id: rule for rule in registry.load()}
    counts: dict[Class, Counter[str]] = defaultdict(Counter)
    for found in findings:
        place, rule = _place(found.repository.name, found.place), found.finding.rule
        counts[class_of(found, seen, enabled)].update(
            word for word in (read.get((rule, place)), labelled.get((place, _topic(rule)))) if word is not None
        )
    rows = [[*each, *(str(said[word]) for word in _HEAD[5:])] for each, said in sorted(counts.items()) if said]
    return "\n".join(f"| {' | '.join(row)} |" for row in [_HEAD, ["---"] * len(_HEAD), *rows]) + "\n"


def _topic(rule: str) -> str:
    """The topic of a rule, of which one place can be reported by several; copies of data are one."""
    return "TL2" if rule.startswith("TL1") else rule[:3]


def _place(repository: str | None, place: str | None) -> Place:
    path, line, _ = (place or "").rsplit(":", 2)
    return repository or "", path, int(line)
