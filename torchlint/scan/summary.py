"""What a scan found, in one record and as text: counts by rule and by repository, prevalence, examples."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from torchlint.model import Severity
from torchlint.report.shared import dump, place
from torchlint.run import results
from torchlint.run.rules import registry
from torchlint.scan import manifest
from torchlint.scan.problems import ScanError, reason
from torchlint.scan.rows import CHECKED
from torchlint.scan.store import Store, opened
from torchlint.text.visible import visible

_EXAMPLES = 3  # of each rule, from different repositories
_REPOSITORIES = 20  # with most findings
_SHOWN = 20  # things that were left out


class Example(NamedTuple):
    """A finding."""

    repo: str
    place: str
    message: str


class Rule(NamedTuple):
    """A rule: its findings, the repositories with one, and their share of all repositories with Python files."""

    rule: str
    name: str
    severity: str
    summary: str
    url: str
    findings: int
    repositories: int
    share: float
    examples: tuple[Example, ...]


class Repository(NamedTuple):
    """A repository and how many findings it has."""

    repo: str
    findings: int
    linted: int
    status: str


class Left(NamedTuple):
    """A file or a repository that was not linted as a whole."""

    what: str
    reason: str


class Summary(NamedTuple):
    """What a scan found. ``linted`` are the repositories with Python files, ``hit`` those with findings."""

    folder: str
    complete: bool
    versions: dict[str, str]
    source: str
    files: dict[str, int]
    repositories: dict[str, int]
    bytes: int
    linted: int
    hit: int
    findings: dict[str, int]
    rules: tuple[Rule, ...]
    most: tuple[Repository, ...]
    left_out: tuple[Left, ...]
    more_left_out: int


class _Tally:
    """The counts of one rule."""

    def __init__(self, rule: str, name: str) -> None:
        self.rule, self.name = rule, name
        self.findings = 0
        self.severities: Counter[str] = Counter()
        self.repositories = 0
        self.examples: list[Example] = []


def summarize(folder: str) -> Summary:
    """Read the results of a scan. Raises ``ScanError``."""
    store = opened(folder)
    told = manifest.read(store, folder)
    if not told["counts"]:
        raise ScanError(f"{folder}: the scan has not ended; go on with --resume")
    try:
        tallies = _tallied(store)
        linted, hit, most, left = _repositories(store)
        left += _files_left_out(store)
    except (OSError, pa.ArrowException) as error:
        raise ScanError(f"{folder}: a result cannot be read: {reason(error)}") from None
    left = [Left("input", line) for line in told["left_out"]] + left
    counts = told["counts"]
    return Summary(
        folder=folder,
        complete=told["complete"],
        versions=told["versions"],
        source=told["request"]["input"],
        files=counts["files"],
        repositories=counts["repositories"],
        bytes=counts["bytes"],
        linted=linted,
        hit=hit,
        findings=counts["findings"],
        rules=_rules(tallies, linted),
        most=most,
        left_out=tuple(left[:_SHOWN]),
        more_left_out=max(len(left) - _SHOWN, 0),
    )


def _batches(store: Store, table: str, columns: list[str]) -> Iterator[list[dict[str, Any]]]:
    """The rows of a table, part by part."""
    inside = store.below(table)
    for name in sorted(inside.names()):
        with inside.open(name) as file:
            yield pq.read_table(file, columns=columns, use_threads=False).to_pylist()


def _tallied(store: Store) -> list[_Tally]:
    found: dict[str, _Tally] = {}
    columns = ["repo", "rule", "name", "severity", "path", "line", "column", "message"]
    for rows in _batches(store, "findings", columns):
        seen: set[tuple[str, str]] = set()
        for row in rows:
            tally = found.setdefault(row["rule"], _Tally(row["rule"], row["name"]))
            tally.findings += 1
            tally.severities[row["severity"]] += 1
            if (row["rule"], row["repo"]) not in seen:  # all findings of a repository are in one part
                seen.add((row["rule"], row["repo"]))
                tally.repositories += 1
                if len(tally.examples) < _EXAMPLES:
                    where = place(row["path"], row["line"], row["column"])
                    tally.examples.append(Example(row["repo"], where, row["message"]))
    return list(found.values())


def _rules(tallies: list[_Tally], linted: int) -> tuple[Rule, ...]:
    infos = {info.id: info for info in results.infos(registry.load())}
    rules = []
    for one in tallies:
        info = infos.get(one.rule)
        worst = max(one.severities, key=lambda name: Severity(name).rank)
        share = one.repositories / linted if linted else 0.0
        known = (info.summary, info.url or "") if info is not None else ("", "")
        examples = tuple(one.examples)
        rules.append(Rule(one.rule, one.name, worst, *known, one.findings, one.repositories, share, examples))
    return tuple(sorted(rules, key=lambda rule: (-Severity(rule.severity).rank, -rule.repositories, rule.rule)))


def _repositories(store: Store) -> tuple[int, int, tuple[Repository, ...], list[Left]]:
    """How many repositories were linted and have findings, those with most, and those not linted as a whole."""
    linted = hit = 0
    most: list[Repository] = []
    left: list[Left] = []
    for rows in _batches(store, "repositories", ["repo", "status", "reason", "linted", "findings"]):
        linted += sum(bool(row["linted"]) for row in rows)
        hit += sum(bool(row["findings"]) for row in rows)
        found = [Repository(r["repo"], r["findings"], r["linted"], r["status"]) for r in rows if r["findings"]]
        most = heapq.nsmallest(_REPOSITORIES, [*most, *found], key=lambda one: (-one.findings, one.repo))
        left += [Left(row["repo"], row["reason"]) for row in rows if row["status"] == "in-parts"]
    return linted, hit, tuple(most), left


def _files_left_out(store: Store) -> list[Left]:
    left = []
    for rows in _batches(store, "files", ["repo", "path", "status", "reason", "source", "number"]):
        for row in rows:
            if row["status"] in ("failed", "malformed"):
                what = f"{row['repo']}: {row['path']}" if row["repo"] and row["path"] else f"row {row['number']}"
                left.append(Left(f"{what} ({row['source']})", row["reason"]))
    return left


# -- as text -------------------------------------------------------------------------------------


def as_json(summary: Summary) -> str:
    """The summary as a JSON document."""
    rules = [{**rule._asdict(), "examples": [one._asdict() for one in rule.examples]} for rule in summary.rules]
    document = {
        "schema": 1,
        **summary._asdict(),
        "rules": rules,
        "most": [one._asdict() for one in summary.most],
        "left_out": [one._asdict() for one in summary.left_out],
    }
    return dump(document)


def as_text(summary: Summary) -> str:
    """The summary as text for a terminal."""
    lines = [headline(summary), ""]
    if summary.rules:
        rows = [("findings", "repositories", "share", "rule")]
        for rule in summary.rules:
            called = f"{rule.rule} {rule.name} ({rule.severity})"
            rows.append((f"{rule.findings:,}", f"{rule.repositories:,}", f"{rule.share:.1%}", called))
        lines += [*_columns(rows), ""]
    if summary.most:
        listed = [("findings", "files", "repository")]
        listed += [(f"{one.findings:,}", f"{one.linted:,}", one.repo) for one in summary.most[:10]]
        lines += [*_columns(listed), ""]
    lines += ["Files: " + states(summary.files), "Repositories: " + states(summary.repositories)]
    if summary.left_out:
        lines += ["", "Left out:"]
        lines += [f"  {visible(one.what)}: {visible(one.reason)}" for one in summary.left_out]
        lines += [f"  and {summary.more_left_out} more"] if summary.more_left_out else []
    if not summary.complete:
        lines += ["", "The scan is not complete; go on with --resume."]
    return "".join(f"{line}\n" for line in lines)


def headline(summary: Summary) -> str:
    """The scan in a sentence."""
    files = sum(summary.files.get(state, 0) for state in CHECKED)
    found = sum(summary.findings.values())
    scanned = f"{_counted(files, 'file')} ({summary.bytes / 1e6:,.1f} MB) of {_repos(summary.linted)}"
    return f"Found {_counted(found, 'finding')} in {_repos(summary.hit)}; linted {scanned}."


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _repos(count: int) -> str:
    return _counted(count, "repository", "repositories")


def states(counts: dict[str, int]) -> str:
    """Counts by state in a line."""
    return ", ".join(f"{count:,} {name.replace('-', ' ')}" for name, count in sorted(counts.items())) or "none"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as a table, numbers to the right and the last column to the left."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    return [
        "  ".join([f"{c:>{w}}" for c, w in zip(row[:-1], widths, strict=True)] + [visible(row[-1])]) for row in rows
    ]
