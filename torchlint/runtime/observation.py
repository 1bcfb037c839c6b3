"""One observation: installs the instruments, writes evidence, and restores everything."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import threading
import time
from typing import Any

import torch

from torchlint.runtime import instruments, sources
from torchlint.runtime.instrument import Instrument, Watch
from torchlint.runtime.marks import Marks
from torchlint.runtime.patches import Patches
from torchlint.runtime.phases import EVALUATION
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sites import Site, Sites
from torchlint.runtime.steps import Steps
from torchlint.runtime.switch import Switch

EVIDENCE = 2
_OFTEN = 2.0
_ATTEMPTS, _PAUSE = 20, 0.05


class Observation:
    """Observes this process in one mode: ``gpu``, ``sim`` or ``cpu``.

    ``order`` comes from the static half: ``roots``, ``marks``, ``directory``, ``run``, ``steps``, ``devices``.
    """

    def __init__(self, order: dict[str, Any], mode: str, notes: list[str] | None = None, role: str = "main") -> None:
        self.order = order
        self.mode = mode
        self.role = role
        self.notes = list(notes or ())
        self.sites = Sites(order["roots"])
        self.recorder = Recorder(now_and_then=self._now_and_then, callers=self.sites.callers)
        self.steps = Steps(order.get("steps"), self.recorder.ledger)
        self.recorder.timeline = self.steps.timeline
        self.marks = Marks(order.get("marks", {}), self.recorder.ledger)
        self.patches = Patches()
        self.instruments: list[Instrument] = []
        self.children: list[int] = []
        self._name: str | None = None
        self._sources: dict[str, str] = {}
        self.left: tuple[Site, str] | None = None
        self.ended: dict[str, Any] = {"how": "running"}
        self.switch = Switch(order, self._evaluations) if order.get("switch") else None
        self._stack = contextlib.ExitStack()
        self._started = time.time()
        self._clock = self._flushed = time.perf_counter()
        self._ranks: dict[int, str] = {}  # by process, as its evidence is named

    def start(self, *, midway: bool = False) -> None:
        """Install the instruments, and uninstall them again if that fails.

        When two forms of a program are compared, only steps are observed: instruments take time. ``midway`` says that
        the program has begun before.
        """
        try:
            if self.switch is not None:
                self.marks.other = self.switch.compile
                self.switch.install(self.patches)
                self.steps.listeners.append(self.switch.stepped)
                self.steps.install(self.patches, midway=midway)
                return
            watch = Watch(self.order, self.mode, self.recorder, self.sites, self.steps, self.notes)
            self.instruments = instruments.made(watch)
            for instrument in self.instruments:
                instrument.prepare()
            if self.mode == "sim":
                self._simulate()
            for instrument in self.instruments:
                instrument.install(self.patches)
            self.marks.install()
            self.steps.install(self.patches, midway=midway)
            self.steps.listeners.append(self._stepped)
        except BaseException:
            self.stop()
            raise

    def _evaluations(self) -> int:
        return self.steps.phases[EVALUATION].count

    def _simulate(self) -> None:
        from torchlint.runtime.sim.simulation import Simulation

        # Each rank on a machine has its own device, as programs expect.
        devices = max(self.order.get("devices", 1), int(os.environ.get("LOCAL_WORLD_SIZE", "1") or 1))
        simulation = Simulation(self.recorder, self.sites, devices)
        simulation.on_leaving, simulation.on_note = self.leave, self._note
        self._stack.enter_context(simulation)

    def _note(self, what: str) -> None:
        """Say something at once that the report says as well."""
        self.notes.append(what)
        if self.role == "main":
            sys.stderr.write(f"torchlint: {what}\n")

    def stop(self) -> None:
        """Uninstall the instruments, in reverse order."""
        for instrument in self.instruments:
            instrument.stop()
        self.steps.remove()
        self.patches.restore()
        self._stack.close()

    def leave(self, what: str) -> None:
        """The program has used something that is not simulated."""
        if self.left is None:
            self.left = (self.sites.here(2), what)

    # -- evidence ----------------------------------------------------------------------------------

    def forked(self) -> None:
        """Called in a forked child process: the counts so far belong to the parent."""
        self.role = "forked"
        self.children = []
        self.ended = {"how": "running"}
        self._started, self._clock = time.time(), time.perf_counter()
        for part in (self.recorder, self.marks, self.steps):
            part.forked()
        for instrument in self.instruments:
            instrument.forked()

    def _stepped(self, count: int) -> None:
        for instrument in self.instruments:
            instrument.stepped(count)
        self.marks.excluded = self.recorder.excluded
        self._now_and_then()

    def _now_and_then(self) -> None:
        if time.perf_counter() - self._flushed > _OFTEN:
            self.write()

    def failed(self, error: BaseException) -> Site:
        """The process ends with an exception; returns the innermost line of user code in its traceback."""
        site = self.sites.raised(error)
        self.ended = {
            "how": "exception",
            "type": type(error).__name__,
            "message": str(error).partition("\n")[0][:300],
            "site": list(site),
        }
        return site

    def finish(self, **ended: Any) -> None:
        """Write the evidence for the last time."""
        self.marks.files.close()
        if self.ended["how"] == "running":
            self.ended = ended or {"how": "finished"}
        for instrument in self.instruments:
            with contextlib.suppress(Exception):  # watched objects may be in any state by now
                instrument.finish()
        self.steps.finish()
        if self.role == "main":
            self._sources = sources.texts([*self.marks.by_file, *self.recorder.paths()])
        self.write()

    def write(self) -> None:
        """Write the evidence file of this process, replacing the old one atomically."""
        self._flushed = time.perf_counter()
        process = os.getpid()
        rank = self._ranks.setdefault(process, os.environ.get("RANK", "x"))  # a program may set its own later
        directory = self.order["directory"]
        target = os.path.join(directory, f"evidence-{rank}-{process}.json")
        try:
            os.makedirs(directory, exist_ok=True)
            partial = f"{target}.{threading.get_native_id()}.partial"  # several threads may write
            with open(partial, "w", encoding="utf-8") as stream:
                json.dump(self.evidence(), stream, default=str)
            _replace(partial, target)
        except Exception:  # the program continues; the static half reports the missing evidence
            pass

    def evidence(self) -> dict[str, Any]:
        """The evidence so far, as plain data."""
        return {
            "schema": EVIDENCE,
            "torchlint": self.order["torchlint"],
            "run": self.order["run"],
            "process": {
                "pid": os.getpid(),
                "parent": os.getppid(),
                "role": self.role,
                "rank": os.environ.get("RANK"),
                "children": self.children,
            },
            "world": os.environ.get("WORLD_SIZE"),
            "mode": self.mode,
            "device": self._device(),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "notes": self.notes,
            "started": self._started,
            "wall_ns": int((time.perf_counter() - self._clock) * 1e9),
            "ended": self.ended,
            "left": None if self.left is None else {"site": list(self.left[0]), "what": self.left[1]},
            "compiled": any(facts["how"] == "compiled" for _, facts, _ in self.recorder.of("opaque")),
            "steps": self.steps.written(),
            "marks": self.marks.written(),
            "events": self.recorder.written(),
            "trace": self.steps.timeline.written(),
            "sources": self._sources,
            "switch": self.switch.written() if self.switch is not None else None,
            **{name: value for instrument in self.instruments for name, value in instrument.written().items()},
        }

    def _device(self) -> str | None:
        """The name of the device. Does not initialize CUDA, neither before the program does nor in a forked child."""
        if self.mode == "gpu":
            if self._name is None and torch.cuda.is_initialized():
                with contextlib.suppress(Exception):  # a program may have replaced what says that there is a device
                    self._name = str(torch.cuda.get_device_name())
            return self._name
        return "simulated" if self.mode == "sim" else None


def _replace(partial: str, target: str) -> None:
    """Rename a file. Windows refuses that while another process, such as ``torchlint confirm``, reads the old one."""
    for _ in range(_ATTEMPTS if os.name == "nt" else 0):
        try:
            os.replace(partial, target)
        except PermissionError:
            time.sleep(_PAUSE)
        else:
            return
    os.replace(partial, target)
