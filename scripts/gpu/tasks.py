"""A process that works on some items of a part, and tells in a file what it finds, line by line.

What it has told counts however it ends: it may crash, or be ended because there is no time left.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.gpu.common import CHECK, Part, Row, Settings, differs, environment

_SIMULATING = 5  # the simulation runs in Python, and mostly where there are few cores


def work(part: Part, settings: Settings, items: Sequence[str], target: str) -> None:
    """Work on the items in this process; before each its name is written, and then what was found."""
    with Path(target).open("a", encoding="utf-8") as stream:

        def tell(**line: object) -> None:
            stream.write(json.dumps(line) + "\n")
            stream.flush()

        def each() -> Iterator[str]:
            for item in items:
                tell(doing=item)
                yield item
            tell(doing=None)

        for row in part.work(settings, each()):
            tell(row=row)


class Task:
    """Such a process, as the one that started it sees it."""

    def __init__(self, name: str, part: Part, items: Sequence[str]) -> None:
        self.name = name
        self.part = part
        self.items = list(items)
        self.doing: str | None = None
        self._begun = False
        self.limit = part.seconds

    def start(self, settings: Settings, folder: str) -> None:
        """Begin. ``folder`` is for what is told and for error output."""
        descriptor, path = tempfile.mkstemp(dir=folder)
        os.close(descriptor)
        self._told = Path(path).open(encoding="utf-8")  # noqa: SIM115 - closed when it ends
        self._errors = Path(f"{path}.errors")
        command = [sys.executable, str(CHECK), "--on", settings.mode, "--task", self.name, path]
        if settings.programs:
            command += ["--programs", *settings.programs]
        threads = {"OMP_NUM_THREADS": str(self.part.threads)} if self.part.together else {}
        with self._errors.open("wb") as errors:
            self._child = subprocess.Popen(
                [*command, "--items", *self.items],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                env=environment(**threads),
            )
        self.started = time.monotonic()
        self.limit = self.part.seconds * (1 if settings.mode == "gpu" else _SIMULATING)

    def news(self) -> list[Row]:
        """The rows since the last call."""
        rows: list[Row] = []
        while True:
            before = self._told.tell()
            line = self._told.readline()
            if not line.endswith("\n"):  # nothing, or a line that is being written
                self._told.seek(before)
                return rows
            said = json.loads(line)
            if "doing" in said:
                self.doing, self._begun = said["doing"], True
            else:
                rows.append(said["row"])

    def ended(self) -> bool:
        """Whether the process has ended by itself."""
        return self._child.poll() is not None

    def failed(self) -> bool:
        """Whether it has ended with an error."""
        return self._child.returncode != 0

    def late(self) -> bool:
        """Whether it has taken longer than it may."""
        return time.monotonic() - self.started > self.limit

    def stop(self) -> list[Row]:
        """End the process, if it has not ended, and all that it started. Returns its last rows."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        rows = self.news()
        self._told.close()
        return rows

    def crashed(self) -> Row:
        """A row about an item that ended the process."""
        errors = self._errors.read_text(encoding="utf-8", errors="replace").strip()
        return differs(self.item(), "failed", f"status {self._child.returncode}: {errors[-500:]}")

    def item(self) -> str:
        """The item that it works on; the part, before the first and after the last."""
        return self.doing or self.name

    def rest(self) -> list[str]:
        """The items of which nothing is known, but for the one that it works on."""
        if self.part.whole or not self._begun:
            return [item for item in self.items if item != self.doing]
        return self.items[self.items.index(self.doing) + 1 :] if self.doing is not None else []
