"""A scan: read the input and sort it into groups of repositories, lint each group, add up the results.

Both steps are tasks of Ray Data. Every task writes whole files under names that depend on the input alone, so a task
that is started again replaces its own results, and a scan that goes on does only what is missing.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from torchlint.base.version import __version__
from torchlint.scan import cluster, inputs, manifest, results
from torchlint.scan.columns import Columns
from torchlint.scan.lint import Work, lint_group
from torchlint.scan.problems import ScanError, reason
from torchlint.scan.read import Reading, mark, read_piece
from torchlint.scan.store import Store, opened

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.scan.inputs import Found

Progress = Callable[[str, int, int], None]
_GROUP = 64_000_000  # bytes of code in a group, roughly
_SMALL_GROUP = 1_000_000  # the least, if there is too little for all processes
_MOST_GROUPS = 4096
_RUN = (32_000_000, 256_000_000)  # bytes of code in a run: the least and the most
_RUNS = 4000  # about as many runs at most


class Request(NamedTuple):
    """What is asked of a scan."""

    source: str
    output: str
    columns: Columns
    config: Config
    jobs: int
    address: str | None = None
    resume: bool = False
    limit: int = 256_000_000

    def kept(self, digest: str) -> dict[str, Any]:
        """What must be the same when the scan goes on."""
        config = self.config.rooted("")
        settings = json.loads(json.dumps(config._asdict(), default=dict))
        return {
            "input": self.source,
            "files": digest,
            "columns": self.columns._asdict(),
            "repository_limit": self.limit,
            "configuration": settings,
        }


def scan(request: Request, progress: Progress) -> dict[str, Any]:
    """Do a scan, or what is missing of it; returns the manifest. Raises ``ScanError``."""
    try:
        found = inputs.find(request.source)
    except OSError as error:
        raise ScanError(f"{request.source}: cannot be read: {reason(error)}") from None
    try:
        return _scan(request, found, progress)
    except OSError as error:
        raise ScanError(f"--output {request.output}: {reason(error)}; correct this and use --resume") from None


def _scan(request: Request, found: Found, progress: Progress) -> dict[str, Any]:
    output = opened(request.output)
    known = _prepared(request, found, output)
    if known["complete"] and len(_counts(output, range(known["groups"]))) == known["groups"]:
        return known
    with cluster.connected(request.address, request.jobs):
        done = _read(request, found, output, known, progress)
        left_out = [line for number in sorted(done) for line in done[number]["failed"]]
        if done and all(piece["failed"] and not piece["runs"] for piece in done.values()):
            _withdraw(output)
            raise ScanError(left_out[0] + (f" (and {len(left_out) - 1} more)" if left_out[1:] else ""))
        counted, failed = _lint(request, output, known, done, progress)
    left_out += failed
    told = manifest.ended(known, counted, left_out)
    manifest.write(output, told)
    for table in results.TABLES:
        output.below(table).sweep()
    if told["complete"]:
        output.below("work").delete()
    return told


def _prepared(request: Request, found: Found, output: Store) -> dict[str, Any]:
    """The manifest of the scan that goes on, or of a new one in an empty folder."""
    kept = request.kept(found.digest)
    if output.kind() == "file":
        raise ScanError(f"--output {request.output}: is a file, and must be a folder")
    if output.read(manifest.NAME) is not None:
        known = manifest.read(output, request.output)
        if not request.resume:
            raise ScanError(
                f"--output {request.output}: holds a scan; give --resume to go on with it, or another folder"
            )
        _check_same(request, known, kept)
        return known
    if output.entries():
        raise ScanError(f"--output {request.output}: is not empty and holds no scan; give another folder")
    for table in (*results.TABLES, "work"):
        output.below(table).create()
    groups = min(max(found.size // _GROUP, min(4 * request.jobs, found.size // _SMALL_GROUP), 1), _MOST_GROUPS)
    run_bytes = min(max(found.size // _RUNS, _RUN[0]), _RUN[1])
    known = manifest.begun(kept, groups, run_bytes)
    manifest.write(output, known)
    return known


def _withdraw(output: Store) -> None:
    """Remove a scan that could read nothing, so that it can be begun with other columns."""
    for folder in (*results.TABLES, "work"):
        output.below(folder).delete()
    output.remove(manifest.NAME)


def _check_same(request: Request, known: dict[str, Any], kept: dict[str, Any]) -> None:
    theirs = known["versions"]["torchlint"]
    if theirs != __version__:
        raise ScanError(f"--resume: {request.output} was begun by torchlint {theirs}; go on with that version")
    changed = [name.replace("_", " ") for name, value in kept.items() if known["request"].get(name) != value]
    if changed:
        words = "the files of the input have changed" if changed == ["files"] else f"{', '.join(changed)} differ"
        raise ScanError(f"--resume: {words} since {request.output} was begun; scan into another folder")


def _read(
    request: Request, found: Found, output: Store, known: dict[str, Any], progress: Progress
) -> dict[int, dict[str, Any]]:
    """Read the pieces of the input that are not read yet; returns what is known about each piece, by number.

    Raises ``ScanError`` if the rows of a piece could not be written: what is linted would lack them.
    """
    store = output.below("work")
    store.create()
    marks = store.names()
    done = {p.number: _mark(store, p.number) for p in found.pieces if mark(p.number) in marks}
    todo = [piece for piece in found.pieces if piece.number not in done or done[piece.number]["failed"]]
    config = pickle.dumps(request.config)
    reading = Reading(found.store, output, request.columns, config, known["groups"], known["run_bytes"])
    failures = {piece.number: "its task failed; Ray's log has the reason" for piece in todo}
    for count, (fields, result) in enumerate(cluster.each(partial(read_piece, reading), [list(p) for p in todo]), 1):
        if isinstance(result, Exception):
            failures[fields[0]] = reason(result)
        else:
            done[fields[0]] = result
            del failures[fields[0]]
        progress("reading", count, len(todo))
    if failures:
        number, why = min(failures.items())
        name = next(piece.files[0] for piece in found.pieces if piece.number == number)
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise ScanError(f"the rows of {name or request.source}{more} could not be kept: {why}; go on with --resume")
    return done


def _mark(store: Store, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(store.read(mark(number)) or b"{}")
    return found


def _lint(
    request: Request, output: Store, known: dict[str, Any], done: dict[int, dict[str, Any]], progress: Progress
) -> tuple[list[dict[str, Any]], list[str]]:
    """Lint the groups without results; returns what all groups count, and what could not be done."""
    there = _counts(output, range(known["groups"]))
    there = {group: counts for group, counts in there.items() if not _is_stale(counts["without"], group, done)}
    todo = [group for group in range(known["groups"]) if group not in there]
    runs = [name for number in sorted(done) for name in done[number]["runs"]]
    without = {str(number): piece["failed"] for number, piece in done.items() if piece["failed"]}
    work = Work(output, runs, pickle.dumps(request.config), request.limit, without)
    failures = dict.fromkeys(todo, "its task failed; Ray's log has the reason")
    for count, (group, result) in enumerate(cluster.each(partial(lint_group, work), todo), 1):
        if isinstance(result, Exception):
            failures[group] = reason(result)
        else:
            del failures[group]
        progress("linting", count, len(todo))
    there |= _counts(output, [group for group in todo if group not in failures])
    lost = [f"group {group} of {known['groups']}: {why}" for group, why in sorted(failures.items())]
    return [counts for group, counts in there.items() if group not in failures], lost


def _is_stale(without: dict[str, list[str]], group: int, done: dict[int, dict[str, Any]]) -> bool:
    """Whether something of a group was missing when it was linted, and now is not."""
    pieces = ((done[int(number)], failed) for number, failed in without.items())
    return any(piece["failed"] != failed and group in piece["groups"] for piece, failed in pieces)


def _counts(output: Store, groups: Iterable[int]) -> dict[int, dict[str, Any]]:
    """What the groups with results count."""
    listed = list(groups)
    finished = output.below("repositories").names()
    listed = [group for group in listed if results.part(group) in finished]
    with ThreadPoolExecutor(16) as pool:
        found = pool.map(lambda group: results.counts(output, group), listed)
        return {group: counts for group, counts in zip(listed, found, strict=True) if counts is not None}
