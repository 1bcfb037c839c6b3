"""Runs the parts: those that count side by side, and then those that time, one after the other and alone."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping

from scripts.gpu.common import Part, Row, Settings, differs, merge
from scripts.gpu.tasks import Task

_PAUSE = 0.1


class Schedule:
    """One run. ``found`` gets what the parts find, and ``changed`` is called whenever it did."""

    def __init__(
        self, settings: Settings, found: dict[str, Row], changed: Callable[[], None], folder: str, seconds: float | None
    ) -> None:
        self._settings = settings
        self._found = found
        self._changed = changed
        self._folder = folder
        self._end = time.monotonic() + seconds if seconds is not None else None
        self._began: dict[str, float] = {}

    def run(self, parts: Mapping[str, Part]) -> None:
        """Run all parts, in their order."""
        for name, part in parts.items():
            self._found[name] = {"differences": [], "seconds": 0.0}
            if part.needs_gpu and self._settings.mode != "gpu":
                self._found[name]["skipped"] = "needs a GPU"
        self._changed()
        wanted = {name: part for name, part in parts.items() if "skipped" not in self._found[name]}
        cores = len(os.sched_getaffinity(0))
        self._all(deque(self._tasks({name: part for name, part in wanted.items() if part.together})), cores)
        self._all(deque(self._tasks({name: part for name, part in wanted.items() if not part.together})), 1)

    def _tasks(self, parts: Mapping[str, Part]) -> list[Task]:
        tasks = []
        for name, part in parts.items():
            items = list(part.items(self._settings))
            size = part.size or max(1, len(items))
            tasks += [Task(name, part, items[at : at + size]) for at in range(0, len(items), size)]
        return tasks

    def _all(self, waiting: deque[Task], most: int) -> None:
        running: list[Task] = []
        try:
            while waiting or running:
                while waiting and len(running) < most and not self._over():
                    task = waiting.popleft()
                    task.start(self._settings, self._folder)
                    self._began.setdefault(task.name, task.started)
                    running.append(task)
                time.sleep(_PAUSE)
                for task in list(running):
                    self._add(task.name, task.news())
                    if task.ended() or task.late() or self._over():
                        running.remove(task)
                        waiting.extendleft(self._ended(task))
                if self._over():
                    for task in waiting:
                        self._add(task.name, [{"left": task.items}])
                    waiting.clear()
        finally:
            for task in running:
                task.stop()

    def _ended(self, task: Task) -> list[Task]:
        """Take in the last of a task. Returns what is still to do."""
        alone, late = task.ended(), task.late()
        self._add(task.name, task.stop())
        rest, again = task.rest(), task.doing is not None
        if alone and not task.failed():
            rest = []
        elif alone:
            self._add(task.name, [task.crashed()])
        elif late:
            self._add(task.name, [differs(task.item(), "failed", f"took longer than {task.limit:g} seconds")])
            again = again and task.part.together  # the time of the others is used up
        else:
            rest, again = ([task.doing, *rest] if task.doing else rest), False
        if rest and not again:
            self._add(task.name, [{"left": rest}])
            rest = []
        spent = self._found[task.name]["seconds"] = round(time.monotonic() - self._began[task.name], 1)
        self._changed()
        more = f" and {len(task.items) - 1} more" if len(task.items) > 1 else ""
        sys.stderr.write(f"{spent:6} s  {task.name}: {task.items[0]}{more}\n")
        return [Task(task.name, task.part, rest)] if rest else []

    def _add(self, name: str, rows: list[Row]) -> None:
        for row in rows:
            merge(self._found[name], row)
        if rows:
            self._changed()

    def _over(self) -> bool:
        return self._end is not None and time.monotonic() > self._end
