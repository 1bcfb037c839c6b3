"""How right torchlint is on labeled places of public repositories.

``python benchmarks/evaluate.py FOLDER`` reads ``benchmarks/evaluation/sites.jsonl`` and lints the checkouts in
FOLDER (``FOLDER/owner+name``, at the commits that the file names; nothing is fetched), each as one project. It
prints, for each rule and for the repositories seen and unseen while the rules were written:

- *sites*: labeled places, and how many of them are labeled ``flag``;
- *found*: places labeled ``flag`` at which torchlint speaks, at any severity;
- *right*: of its warnings and errors at labeled places, those not labeled ``silent`` (precision).

A place counts as found when a finding of the rule covers its line or names it as evidence.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from torchlint.config.config import Config
from torchlint.model import Finding, Severity
from torchlint.run import session
from torchlint.run.discovery import discover
from torchlint.run.rules import registry

SITES = Path(__file__).parent / "evaluation" / "sites.jsonl"


@dataclass(frozen=True)
class Site:
    """One labeled place; ``by`` is who labeled it: a ``reader`` of the rules' specification, or an ``author``."""

    repository: str
    commit: str
    path: str
    line: int
    rule: str
    unseen: bool
    label: str
    reason: str
    by: str


@dataclass
class Score:
    """The results for the places of one rule."""

    sites: int = 0
    flag: int = 0
    found: int = 0
    warned: int = 0
    right: int = 0
    missed: list[Site] = field(default_factory=list)
    wrong: list[Site] = field(default_factory=list)

    def add(self, site: Site, severity: Severity | None) -> None:
        """Count one place with torchlint's finding there."""
        self.sites += 1
        if site.label == "flag":
            self.flag += 1
            if severity is None:
                self.missed.append(site)
            else:
                self.found += 1
        if severity in (Severity.WARNING, Severity.ERROR):
            self.warned += 1
            if site.label == "silent":
                self.wrong.append(site)
            else:
                self.right += 1


def read(path: Path = SITES) -> list[Site]:
    """The labeled places. Raises ``ValueError`` for an unknown label."""
    sites = [Site(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    for site in sites:
        if site.label not in ("flag", "silent", "either"):
            raise ValueError(f"{path}: {site.path}:{site.line} has the label {site.label!r}")
    return sites


def checkout(folder: Path, repository: str, name: str) -> Path:
    """The checkout of a repository in a folder. Exits if there is none."""
    path = (folder / name).resolve()
    if not path.is_dir():
        raise SystemExit(f"{path} is missing: check out {repository} there")
    return path


def spoken(root: Path) -> dict[tuple[str, str, int], Severity]:
    """The findings on each line of a checkout, linted as one project: the highest severity by rule."""
    config = Config(select=tuple(rule.id for rule in registry.load()), root=str(root))
    plan = session.plan(config)
    files, *_ = discover.files([str(root)], plan.scopes.configurations, str(root))
    found: dict[tuple[str, str, int], Severity] = {}
    for finding in session.run(files, plan).findings:
        path = Path(finding.path).relative_to(root).as_posix()
        for line in _lines(finding):
            key = (path, finding.rule, line)
            found[key] = max(finding.severity, found.get(key, Severity.INFO), key=lambda s: s.rank)
    return found


def _lines(finding: Finding) -> Iterable[int]:
    return {*range(finding.span.line, finding.span.end_line + 1), *(e.line for e in finding.evidence)}


def scores(sites: list[Site], folder: Path) -> dict[tuple[str, bool], Score]:
    """The scores by rule and by whether the repository was unseen."""
    found: dict[tuple[str, bool], Score] = defaultdict(Score)
    for repository in sorted({site.repository for site in sites}):
        says = spoken(checkout(folder, repository, repository.replace("/", "+")))
        for site in sites:
            if site.repository == repository:
                found[site.rule, site.unseen].add(site, says.get((site.path, site.rule, site.line)))
    return found


def share(part: int, whole: int) -> str:
    """A count as a part of another, with the percentage."""
    return f"{part} of {whole}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def _row(name: str, parts: list[Score]) -> str:
    def total(field_name: str) -> int:
        return sum(getattr(part, field_name) for part in parts)

    found, right = share(total("found"), total("flag")), share(total("right"), total("warned"))
    return f"| {name} | {total('sites')} | {total('flag')} | {found} | {right} |"


def table(found: dict[tuple[str, bool], Score], *, unseen: bool | None) -> str:
    """A table in Markdown, of the seen or the unseen repositories or of all."""
    kept = {key: score for key, score in found.items() if unseen is None or key[1] is unseen}
    rows = ["| rule | sites | labeled flag | found | warnings that are right |", "| --- | --- | --- | --- | --- |"]
    rules = sorted({rule for rule, _ in kept})
    rows += [_row(rule, [score for (name, _), score in kept.items() if name == rule]) for rule in rules]
    rows.append(_row("all", list(kept.values())))
    return "\n".join(rows)


def main() -> None:
    """Print the tables and, with ``--details``, every miss and every wrong warning."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder with the checkouts, as owner+name")
    parser.add_argument("--details", action="store_true", help="list the misses and the wrong warnings")
    arguments = parser.parse_args()
    found = scores(read(), arguments.folder)
    for title, unseen in (("Seen repositories", False), ("Unseen repositories", True), ("All", None)):
        print(f"{title}\n\n{table(found, unseen=unseen)}\n")
    for (rule, _), score in sorted(found.items()) if arguments.details else ():
        for word, sites in (("missed", score.missed), ("wrong", score.wrong)):
            for site in sites:
                print(f"{rule} {word}: {site.repository} {site.path}:{site.line} ({site.reason})")


if __name__ == "__main__":
    main()
