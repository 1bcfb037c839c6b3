"""How much torchlint sees of what maintainers repaired.

``benchmarks/repairs`` lists places that merged pull requests or commits of public repositories repaired: repository,
parent commit, path and lines, what the change was, and the rules that are about it. ``known.jsonl`` was used to
improve the analysis; the places of ``sealed.jsonl`` are linted (``--sealed``) only when a version is finished.

``python benchmarks/repairs.py FOLDER`` lints the checkouts in FOLDER (``FOLDER/owner+name-COMMIT``), each as one
project, and prints for each rule and each family of changes:

- *found*: places where a rule of the place reports a warning or an error on one of the lines;
- *at info*: places where it reports an info at most;
- *missed*: the others;
- *lines found*: the same as *found*, for single lines.

``--clones CLONES`` first makes the checkouts that are missing, from clones in CLONES (``CLONES/owner+name``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import corpora
import evaluate

from torchlint.model import Severity

PLACES = Path(__file__).parent / "repairs"

Spoken = Mapping[tuple[str, str, int], Severity]


@dataclass(frozen=True)
class Place:
    """Lines that a commit (``repair``) changed, at its parent (``commit``); ``hidden`` is what hid them from torchlint.

    Any of ``rules`` is right to speak there; the first fits best.
    """

    repository: str
    pull_request: int | None
    repair: str
    commit: str
    path: str
    lines: list[int]
    rules: list[str]
    family: str
    change: str
    hidden: str = ""

    @property
    def folder(self) -> str:
        """The name of the folder of the checkout."""
        return f"{self.repository.replace('/', '+')}-{self.commit}"

    @property
    def rule(self) -> str:
        """The rule that fits best."""
        return self.rules[0] if self.rules else "no rule"


@dataclass(frozen=True)
class Result:
    """What torchlint says about a place: the highest severity on each line, of the rules that are about it."""

    place: Place
    severities: list[Severity | None]

    @property
    def outcome(self) -> str:
        """``found``, ``at info`` or ``missed``."""
        if self.lines_found:
            return "found"
        return "missed" if all(severity is None for severity in self.severities) else "at info"

    @property
    def lines_found(self) -> int:
        """The lines with a warning or an error."""
        return sum(severity in (Severity.WARNING, Severity.ERROR) for severity in self.severities)


def _loudest(place: Place, line: int, says: Spoken) -> Severity | None:
    severities = [says[place.path, rule, line] for rule in place.rules if (place.path, rule, line) in says]
    return max(severities, key=lambda severity: severity.rank, default=None)


def read(path: Path) -> list[Place]:
    """The places in a file."""
    return [Place(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def check_out(place: Place, clones: Path, folder: Path) -> None:
    """Write the Python files of a place's commit to its checkout, unless it is there."""
    target = folder / place.folder
    if target.is_dir():
        return
    clone = evaluate.checkout(clones, place.repository, place.repository.replace("/", "+"))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        archive = Path(scratch) / "commit.tar"
        command = ["git", "-C", str(clone), "archive", f"--output={archive}", place.commit, "--", "*.py"]
        subprocess.run(command, check=True)
        corpora.unpack(archive, Path(scratch) / "files")
        (Path(scratch) / "files").rename(target)


def results(places: list[Place], folder: Path) -> list[Result]:
    """The result for each place. Exits if a checkout or a file of it is missing."""
    by_folder: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        by_folder[place.folder].append(place)
    found: list[Result] = []
    for name, here in sorted(by_folder.items()):
        root = evaluate.checkout(folder, f"{here[0].repository} at {here[0].commit}", name)
        for place in here:
            if not (root / place.path).is_file():
                raise SystemExit(f"{root / place.path} is missing: this is not {place.commit}")
        says = evaluate.spoken(root)
        found += [Result(place, [_loudest(place, line, says) for line in place.lines]) for place in here]
    return found


def table(found: list[Result], title: str, key: Callable[[Place], str]) -> str:
    """A table in Markdown with a row for each value of ``key``."""
    rows = [f"| {title} | places | found | at info | missed | lines found |", "| --- | --- | --- | --- | --- | --- |"]
    names = sorted({key(result.place) for result in found})
    rows += [_row(name, [result for result in found if key(result.place) == name]) for name in names]
    rows.append(_row("all", found))
    return "\n".join(rows)


def _row(name: str, found: list[Result]) -> str:
    outcomes = Counter(result.outcome for result in found)
    lines = evaluate.share(sum(result.lines_found for result in found), sum(len(result.severities) for result in found))
    share = evaluate.share(outcomes["found"], len(found))
    return f"| {name} | {len(found)} | {share} | {outcomes['at info']} | {outcomes['missed']} | {lines} |"


def main() -> None:
    """Print the tables and, with ``--details``, every place that is missed or at info."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder with the checkouts, as owner+name-COMMIT")
    parser.add_argument("--sealed", action="store_true", help="lint the sealed places instead of the known ones")
    parser.add_argument("--clones", type=Path, help="make missing checkouts from clones in this folder (owner+name)")
    parser.add_argument("--details", action="store_true", help="list the places that are missed or at info")
    arguments = parser.parse_args()
    places = read(PLACES / ("sealed.jsonl" if arguments.sealed else "known.jsonl"))
    for place in places if arguments.clones else ():
        check_out(place, arguments.clones, arguments.folder)
    found = results(places, arguments.folder)
    print(table(found, "rule", lambda place: place.rule))
    print(f"\n{table(found, 'family', lambda place: place.family)}")
    for result in found if arguments.details else ():
        if result.outcome != "found":
            place = result.place
            where = f"{place.repository} {place.path}:{place.lines[0]}"
            print(f"{place.rule} {result.outcome}: {where} ({place.hidden or place.change})")


if __name__ == "__main__":
    main()
