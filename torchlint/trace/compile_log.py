"""Reads graph breaks and recompilations from the logs that torch.compile writes to the folder ``TORCH_TRACE``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from torchlint.trace.frames import Frame
from torchlint.trace.moments import Moment
from torchlint.trace.problem import Unreadable

BREAK, RECOMPILE = "graph-break", "recompile"
# `V0331 12:34:56.789000 1234 torch/_dynamo/convert_frame.py:303] {...}`; what belongs to it follows behind tabs.
ENTRY = re.compile(r"[VDIWECF]\d{4} [\d:.]+ \d+ [^\]\n]+\] (\{.*)")
_BROKEN = re.compile(r"Graph break in user code at (.+):(\d+)$")
_FRAME = re.compile(r'\s*File "(.+)", line (\d+), in (.+)$')
_REASON = "Graph Break Reason: "
_GENERAL = re.compile(r"Encountered graph break when attempting to trace ")
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_\d+$")
_COMPILED = re.compile(r"^\d+/\d+: ")
_KEPT = 400  # lines of what belongs to an entry; more are generated code
Happened = tuple[Moment, Frame, str]


def events(lines: Iterable[str]) -> Iterator[Happened]:
    """Graph breaks and recompilations, with the function and line, and the reason in the log's own words.

    Raises :class:`Unreadable` for a log that is damaged.
    """
    files: dict[int, str] = {}
    recompiled = ""
    for entry, payload in _entries(lines):
        match entry:
            case {"str": [str(path), int(number)]}:
                files[number] = path
            case {"artifact": {"name": "dynamo_graph_break_reason"}}:
                yield from _break(payload)
            case {"artifact": {"name": "recompile_reasons"}}:
                recompiled = _guard(payload)
            case {"dynamo_start": {"stack": [*_, {"filename": int(number), "line": int(line), "name": str(name)}]}}:
                if recompiled:
                    frame = Frame(files.get(number, ""), line, _function(name))
                    yield Moment(RECOMPILE, 0.0, 0.0), frame, recompiled
                recompiled = ""


def _entries(lines: Iterable[str]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Each entry with the lines that belong to it."""
    entry: dict[str, Any] | None = None
    payload: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("\t"):
            if len(payload) < _KEPT:
                payload.append(line[1:].rstrip("\n"))
            continue
        if (found := ENTRY.match(line)) is None:
            continue
        if entry is not None:
            yield entry, payload
        entry, payload = _read(found[1], number), []
    if entry is not None:
        yield entry, payload


def _read(text: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable(f"is damaged: line {number:,} is not complete JSON; copy or record it again") from None
    return found if isinstance(found, dict) else {}


def _break(payload: list[str]) -> Iterator[Happened]:
    """The break that this text describes: where it says, in the function that its traceback names last."""
    for line in payload:
        if (found := _BROKEN.match(line)) is not None:
            path, number = found[1], int(found[2])
            frames = [each for each in map(_FRAME.match, payload) if each is not None]
            inside = [each[3] for each in frames if (each[1], int(each[2])) == (path, number)]
            name = _function(inside[-1].split(",")[0]) if inside else ""
            yield Moment(BREAK, 0.0, 0.0), Frame(path, number, name), _reason(payload)
            return


def _reason(payload: list[str]) -> str:
    """The first sentence that is about this break and not about breaks in general."""
    for at, line in enumerate(payload):
        if line.startswith(_REASON):
            said = line.removeprefix(_REASON)
            if _GENERAL.match(said):
                return next((each.strip() for each in payload[at + 1 :] if each.strip()), said)
            return said
    return ""


def _guard(payload: list[str]) -> str:
    """The condition that did not hold, without the number of the compiled code and the place of the guard."""
    return " ".join(_COMPILED.sub("", payload[0].strip(' []"')).split(" #")[0].split()) if payload else "unknown"


def _function(name: str) -> str:
    """The function that a frame belongs to, which goes on behind a break under another name."""
    found = _RESUMED.match(name)
    return found[1] if found else name
