"""Reads recordings of any form: traces of torch.profiler, logs of torch.compile, exports of Nsight Systems."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, NamedTuple, cast

from torchlint.model import Observed, Recording
from torchlint.trace import compile_log, kineto, nsys
from torchlint.trace.files import Files
from torchlint.trace.lines import Lines
from torchlint.trace.moments import missing
from torchlint.trace.places import placed
from torchlint.trace.problem import Unreadable
from torchlint.trace.steps import Steps
from torchlint.trace.stream import events

_GZIP, _SQLITE = b"\x1f\x8b", b"SQLite format 3\0"
_BEGINNING = 4096
_FORMS = "JSON of torch.profiler, a log of TORCH_TRACE, or SQLite of Nsight Systems"
_LOGS = "dedicated_log_torch_trace_*.log"
_STACKS = "record with torch.profiler.profile(with_stack=True)"
_BACKTRACES = (
    "record with nsys profile --trace=cuda,nvtx --cudabacktrace=all --python-backtrace=cuda, and export with "
    "nsys export --type=sqlite"
)


class Read(NamedTuple):
    """A recording, and what it shows at lines of the linted files."""

    recording: Recording
    observed: tuple[Observed, ...]


def read(path: str, files: Files) -> Read:
    """Read a recording: a trace in JSON, also compressed by gzip; a log of ``TORCH_TRACE``, or the folder; SQLite.

    Raises :class:`Unreadable` with one line that says what is wrong and what to do.
    """
    try:
        if Path(path).is_dir():
            return _folder(path, files)
        with open(path, "rb", opener=_at_once) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise Unreadable("is not a regular file")
            beginning = stream.read(len(_SQLITE))
            stream.seek(0)
            if beginning == _SQLITE:
                return _nsys(path, files)
            packed = cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if beginning.startswith(_GZIP) else stream
            return _text(path, packed, files)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise Unreadable(f"ends too early, or is damaged ({error}); copy or record it again") from None


def _at_once(name: str, flags: int) -> int:
    """Open a file without waiting, which a pipe would."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def _text(path: str, stream: IO[bytes], files: Files) -> Read:
    beginning = stream.read(_BEGINNING).lstrip(b"\xef\xbb\xbf \t\r\n")
    stream.seek(0)
    if not beginning:
        raise Unreadable("is empty; record it again")
    if beginning[:1] in (b"{", b"["):
        return _kineto(path, stream, files)
    if compile_log.ENTRY.match(beginning.decode("utf-8", "replace")):
        return _compiled(path, io.TextIOWrapper(stream, "utf-8", errors="replace"), files)
    raise Unreadable(f"is none of what --from-trace reads: {_FORMS}")


def _kineto(path: str, stream: IO[bytes], files: Files) -> Read:
    timeline = kineto.Timeline(events(stream))
    lines = Lines(files, exact=False)
    for moment, stack, possible in placed(timeline, files):
        lines.add(moment, stack, lines=possible)
    steps, stacks, device = timeline.steps, timeline.has_stacks, timeline.has_device
    lacks = missing(steps=bool(steps), stacks=stacks, device=device, with_stacks=_STACKS)
    return _read(path, "trace of torch.profiler", steps, lines, lacks)


def _nsys(path: str, files: Files) -> Read:
    with closing(nsys.Report(path)) as report:
        lines = Lines(files, exact=True)
        for moment, stack in report.moments():
            lines.add(moment, stack)
        lacks = missing(steps=bool(report.steps), stacks=report.has_stacks, device=True, with_stacks=_BACKTRACES)
        return _read(path, "export of Nsight Systems", report.steps, lines, lacks)


def _folder(path: str, files: Files) -> Read:
    logs = sorted(log for log in Path(path).glob(_LOGS) if log.is_file())
    if not logs:
        raise Unreadable(f"has no {_LOGS} of TORCH_TRACE in it; name a file instead")
    return _compiled(path, _lines_of(logs), files)


def _lines_of(logs: Iterable[Path]) -> Iterator[str]:
    for log in logs:
        with log.open(encoding="utf-8", errors="replace") as stream:
            yield from stream


def _compiled(path: str, log: Iterable[str], files: Files) -> Read:
    lines = Lines(files, exact=True)
    for moment, frame, reason in compile_log.events(log):
        lines.add(moment, (frame,), reason)
    return _read(path, "log of torch.compile", Steps(()), lines, ())


def _read(path: str, form: str, steps: Steps, lines: Lines, notes: Iterable[str]) -> Read:
    made = Recording(path, form, len(steps), steps.typical, lines.totals, lines.unmatched, tuple(notes))
    recording = made._replace(steps_us=steps.time or None, idle_us=lines.idle_us)
    return Read(recording, tuple(lines.observed(path, steps)))
