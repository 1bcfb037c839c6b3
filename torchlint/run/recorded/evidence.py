"""Evidence of earlier runs: what they have shown at expressions of files, as plain data that can be committed.

A document has no arguments, environment or absolute paths. It is only believed where it says that something happens,
and only for a file with the same content.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypedDict

from torchlint.base import inputs
from torchlint.base.shape import fits
from torchlint.model import Observed, Recording
from torchlint.project.followed import NOT_FOLLOWED, FollowedFile
from torchlint.run.recorded.shown import Shown, with_shown
from torchlint.text.columns import of_bytes
from torchlint.text.visible import visible

NAME = "observations.json"
SCHEMA = 1
_NAMED = 3  # files that have changed
_KINDS = {"sync": "wait", "download": "pageable-download"}


class EvidenceProblem(Exception):
    """Evidence cannot be used; a one-line message with the file and advice."""


class Measured(NamedTuple):
    """What a run has shown at an expression, in how many of how many steps, and the microseconds of all of them.

    ``pageable`` says that what is copied to the device is not in pinned memory, ``modeled`` that a price list says how
    long it takes.
    """

    shown: Shown
    times: int
    steps: int
    microseconds: float
    pageable: bool
    modeled: bool = True


class Shot(NamedTuple):
    """What runs have shown of a file with this content. ``path`` is relative, with forward slashes."""

    path: str
    content: str
    source: str
    measured: tuple[Measured, ...]


class Evidence:
    """What runs have shown of files, by their content."""

    def __init__(self, files: Iterable[Shot] = (), recordings: Iterable[Recording] = ()) -> None:
        self.recordings = tuple(recordings)
        self._by_name: defaultdict[str, list[Shot]] = defaultdict(list)
        for one in files:
            self._by_name[os.path.basename(one.path)].append(one)

    def of(self, path: str, data: bytes) -> list[Shot]:
        """What was shown of a file with this content."""
        named = self._by_name.get(os.path.basename(path), ())
        content = content_of(data) if named else ""
        same = [one for one in named if one.content == content]
        own = [one for one in same if _is_end(one.path, path)]
        return own or same[:1]

    def added(self, followed: Mapping[str, FollowedFile], contents: Mapping[str, bytes]) -> dict[str, FollowedFile]:
        """What is known of files by path with forward slashes, together with what was shown of them."""
        found = dict(followed)
        for path, data in contents.items() if self._by_name else ():
            shown = [one.shown for shot in self.of(path, data) for one in shot.measured]
            if shown:
                name = path.replace("\\", "/")
                found[name] = with_shown(found.get(name, NOT_FOLLOWED), data, shown)
        return found

    def seen_in(
        self, paths: Sequence[str], read: Callable[[str], bytes | None]
    ) -> tuple[list[Recording], list[Observed]]:
        """What the evidence says as a whole, and what was shown at lines of these files.

        A file that has changed since is left out, which the recordings say.
        """
        found, candidates, current = [], [], set()
        for path in paths:
            named = self._by_name.get(os.path.basename(path), ())
            data = read(path) if named else None
            if data is None:
                continue
            same = self.of(path, data)
            current.update(same)
            lines = data.splitlines()
            found += [_observed(path, shot.source, one, lines) for shot in same for one in shot.measured]
            candidates += [(shot, path) for shot in named if shot not in same and _is_end(shot.path, path)]
        stale = [(shot.source, path) for shot, path in candidates if shot not in current]
        return [_with_stale(each, stale) for each in self.recordings], found


def content_of(data: bytes) -> str:
    """The digest by which evidence knows the content of a file: SHA-256."""
    return sha256(data).hexdigest()


def _is_end(end: str, path: str) -> bool:
    whole = os.path.abspath(path).replace("\\", "/")
    return whole == end or whole.endswith(f"/{end}")


def _with_stale(recording: Recording, stale: Iterable[tuple[str, str]]) -> Recording:
    changed = sorted({path for source, path in stale if source == recording.source})
    if not changed:
        return recording
    others = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    note = f"{', '.join(changed[:_NAMED])}{others}: changed since the run, and left out; record the evidence again"
    return recording._replace(notes=(*recording.notes, note))


def _observed(path: str, source: str, one: Measured, lines: Sequence[bytes]) -> Observed:
    first, column, last, end = one.shown.place
    columns = None
    if first == last <= len(lines):
        columns = of_bytes(lines[first - 1], column), of_bytes(lines[first - 1], end)
    seen = Observed(_kind(one), path, first, one.times, one.steps, one.microseconds, source, columns=columns)
    return seen._replace(evaluates=one.shown.phase == "inference", modeled=one.modeled)


def _kind(one: Measured) -> str:
    return _KINDS.get(one.shown.kind) or ("pageable-upload" if one.pageable else "wait")


# -- documents -----------------------------------------------------------------------------------


class _StoredLater(TypedDict, total=False):
    """What the first versions did not have."""

    basis: Literal["measured", "modeled"]


class _StoredEvent(_StoredLater):
    kind: Literal["sync", "upload", "download"]
    how: str
    phase: Literal["training", "inference"]
    place: tuple[int, int, int, int]
    times: int
    steps: int
    part: float
    us: float
    pageable: bool


class _StoredFile(TypedDict):
    sha256: str
    events: list[_StoredEvent]


class _Stored(TypedDict):
    schema: int
    torch: str
    device: str
    files: dict[str, _StoredFile]


def document(files: Iterable[Shot], *, torch: str, device: str, version: str) -> dict[str, Any]:
    """The evidence of a run as plain data."""
    return {
        "schema": SCHEMA,
        "torchlint": version,
        "torch": torch,
        "device": device,
        "files": {
            one.path: {"sha256": one.content, "events": [_written(each) for each in one.measured]}
            for one in sorted(files)
        },
    }


def _written(one: Measured) -> dict[str, Any]:
    kind, place, how, phase, part = one.shown
    event = {"kind": kind, "how": how, "phase": phase, "place": list(place), "times": one.times, "steps": one.steps}
    cost = {"us": round(one.microseconds, 3), "basis": "modeled" if one.modeled else "measured"}
    return {**event, "part": round(part, 4), **cost, "pageable": one.pageable}


def read(paths: Iterable[str]) -> Evidence:
    """Read evidence from files, or from folders that ``torchlint confirm --evidence`` has written.

    Raises :class:`EvidenceProblem`.
    """
    files: list[Shot] = []
    recordings = []
    sources = (os.path.join(path, NAME) if os.path.isdir(path) else path for path in paths)
    for source in {os.path.realpath(source): source for source in sources}.values():
        stored = _stored(source)
        own = [_shot(name, source, found) for name, found in stored["files"].items()]
        files += own
        device, torch = visible(stored["device"]), visible(stored["torch"])
        form = f"torchlint confirm, device: {device}, torch {torch}"
        recordings.append(_recording(source, form, own))
    return Evidence(files, recordings)


def _recording(source: str, form: str, files: Iterable[Shot]) -> Recording:
    """What the evidence says as a whole: the events of training or, without any, those of inference."""
    every = [one for shot in files for one in shot.measured]
    training = [one for one in every if one.shown.phase == "training"]
    totals: dict[str, tuple[int, float]] = {}
    for one in training or every:
        count, time = totals.get(kind := _kind(one), (0, 0.0))
        totals[kind] = count + one.times, time + one.microseconds
    steps = max((one.steps for one in training or every), default=0)
    whole = tuple((kind, *figures) for kind, figures in sorted(totals.items()))
    modeled = any(one.modeled for one in training or every)
    return Recording(source, form, steps, totals=whole, evaluates=not training, modeled=modeled)


def _stored(source: str) -> _Stored:
    try:
        found = json.loads(inputs.read(source, inputs.REPORT))
    except OSError as error:
        advice = f"`torchlint confirm --evidence DIR` writes DIR/{NAME}"
        raise EvidenceProblem(f"{source}: cannot be read ({error.strerror}); {advice}") from None
    except (ValueError, RecursionError):
        raise EvidenceProblem(f"{source}: is not JSON; record the evidence again") from None
    if (
        not isinstance(found, dict)
        or found.get("schema") != SCHEMA
        or not (fits(found, _Stored, more=True) and _is_sound(found))
    ):
        raise EvidenceProblem(f"{source}: is no evidence that this version of torchlint can read; record it again")
    return found  # type: ignore[return-value]


def _is_sound(stored: dict[str, Any]) -> bool:
    """Whether all events have a line, a step, and times that are not negative."""
    events = (event for file in stored["files"].values() for event in file["events"])
    return all(e["place"][0] > 0 and e["steps"] > 0 and e["us"] >= 0 and 0 <= e["part"] <= 1 for e in events)


def _shot(path: str, source: str, stored: _StoredFile) -> Shot:
    return Shot(path, stored["sha256"], source, tuple(_measured(event) for event in stored["events"]))


def _measured(event: _StoredEvent) -> Measured:
    first, column, last, end = event["place"]
    shown = Shown(event["kind"], (first, column, last, end), event["how"], event["phase"], event["part"])
    modeled = event.get("basis") != "measured"
    return Measured(shown, event["times"], event["steps"], event["us"], event["pageable"], modeled)
