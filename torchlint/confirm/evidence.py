"""Evidence: reads and merges what the processes of a run have written."""

from __future__ import annotations

import base64
import contextlib
import glob
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from torchlint.base.shape import fits
from torchlint.confirm.mentions import told_apart
from torchlint.confirm.places import Place
from torchlint.confirm.stored import NotStored, stored_as
from torchlint.confirm.stored_evidence import StoredRun, StoredRunBefore
from torchlint.confirm.stored_types import Site
from torchlint.confirm.upgrade import upgraded

_SCHEMAS = {1: StoredRunBefore, 2: StoredRun}
TRAINING, EVALUATION = "training", "evaluation"
PHASES = ("before", TRAINING, EVALUATION, "after")
COSTLY = ("sync", "upload", "download")  # kinds of events that take time of the host
_LARGEST = 1 << 20
NOWHERE = Place("", 0, -1, 0, -1)


class EvidenceProblem(Exception):
    """Evidence cannot be used; a one-line message with the file and advice."""


class Figures(NamedTuple):
    """A number of events, their bytes, and nanoseconds on the host."""

    number: int = 0
    bytes: int = 0
    ns: int = 0

    def plus(self, other: Sequence[int]) -> Figures:
        """The sums of both."""
        return Figures(*(mine + its for mine, its in zip(self, other, strict=True)))


NOTHING = Figures()


@dataclass(frozen=True)
class PhaseSteps:
    """The steps of a phase in all ranks. ``steady`` are those without the first of each training.

    ``median_ns`` is that of the main process with the lowest rank.
    """

    count: int
    steady: int
    unit: str
    ns: int
    median_ns: int | None


@dataclass
class Event:
    """Equal events of all processes. ``steady`` leaves the first step of each training out, for figures per step.

    ``main`` says whether it happened in a process that makes steps, not beside one in a worker. ``each`` are the
    smallest, median and largest nanoseconds on the host, ``steps`` runs of step numbers (first, last, in how many), and
    ``callers`` the innermost frames of user code at the first event (path, line, function): those of the first process.
    """

    kind: str
    place: Place
    facts: Mapping[str, Any]
    count: int = 0
    bytes: int = 0
    ns: int = 0
    steady: Figures = NOTHING
    phases: dict[str, Figures] = field(default_factory=dict)
    each: tuple[int, int, int] | None = None
    steps: Sequence[tuple[int, int, int]] = ()
    callers: Sequence[tuple[str, int, str]] = ()
    ranks: set[str] = field(default_factory=set)
    main: bool = True

    @property
    def whole(self) -> Figures:
        """The figures of the whole run."""
        return Figures(self.count, self.bytes, self.ns)

    def place_of(self, fact: str) -> Place | None:
        """The place in a fact of an event."""
        value = self.facts.get(fact)
        return Place(*value) if isinstance(value, list) and fits(value, Site) else None


@dataclass(frozen=True)
class Mark:
    """How often a flagged expression was evaluated, in all processes.

    ``loaded`` says whether its file may have been loaded, ``placed`` whether its evaluations were counted.
    ``events`` are the evaluations: those in processes that make steps, and those beside them. ``tensors`` and
    ``graphs`` count evaluations whose result contains a tensor, or a tensor with an autograd graph; they are recorded
    if a probe needs them.
    """

    loaded: bool
    placed: bool
    begun: int
    ended: int
    changed: int
    tensors: int
    graphs: int
    events: tuple[Event, ...]

    @property
    def ns(self) -> int:
        """The time on the host."""
        return sum(event.ns for event in self.events)


@dataclass
class Run:
    """A run. ``steps``, their ``durations`` (number, phase, nanoseconds) and the ``trace`` are those of the main
    process with the lowest rank; phases are those of all ranks. ``sources`` holds the content of files.

    ``main`` is the phase whose steps are meant where nothing else is said: training or, without any, evaluation.
    """

    mode: str
    device: str | None
    torch: str
    steps: int
    main: str
    phases: Mapping[str, PhaseSteps]
    trainings: int
    durations: Sequence[tuple[int, str, int]]
    trace: Mapping[str, Any]
    sources: Mapping[str, bytes]
    wall_ns: int
    processes: int
    ranks: tuple[str, ...]
    ended: Mapping[str, Any]
    complete: bool
    gap: str | None
    left: tuple[Place, str] | None
    compiled: bool
    notes: list[str]
    events: list[Event]
    marks: Mapping[str, Mark]
    flags: Sequence[Mapping[str, Any]]
    account: Mapping[str, int] | None
    unfinished: int = 0
    profiled: Mapping[str, Any] | None = None
    switch: Mapping[str, Any] | None = None

    @property
    def uncounted_waits(self) -> bool:
        """Whether synchronizations were not counted: on a GPU, if torch did not report them."""
        return self.mode == "gpu" and self.account is None

    @property
    def blocked(self) -> Mapping[str, Any] | None:
        """What blocked the host in profiled steps, and how long the device computed nothing because of it."""
        return (self.profiled or {}).get("blocked") if self.mode == "gpu" else None

    @property
    def opaque(self) -> tuple[str, ...]:
        """What ran without its operations being observed: ``compiled``, ``exported``, ``replayed``, ``scripted`` code.

        On the simulated GPU, compiled code runs eagerly.
        """
        hows = {str(event.facts["how"]) for event in self.of("opaque")}
        return tuple(sorted(hows - ({"compiled"} if self.mode == "sim" else set())))

    @property
    def unit(self) -> str:
        """What a step is: an optimizer step, a backward pass, a batch or a forward pass."""
        return self.phases[self.main].unit

    @property
    def step_ns(self) -> int | None:
        """The median duration of a step."""
        return self.phases[self.main].median_ns

    @property
    def all_steps(self) -> int:
        """The steps of all ranks."""
        return self.phases[self.main].count

    def of(self, *kinds: str) -> Iterator[Event]:
        """The events of these kinds."""
        return (event for event in self.events if event.kind in kinds)


def read(directory: str, run: str) -> Run:
    """Read and merge the evidence of a run. Raises :class:`EvidenceProblem`."""
    files = sorted(glob.glob(os.path.join(glob.escape(directory), "evidence-*.json")))
    documents = [_document(path, run) for path in files]
    own = [document for document in documents if document is not None]
    if not any(document["process"]["role"] == "main" for document in own):
        raise EvidenceProblem(
            f"{directory}: holds no evidence of this run; was it deleted, or did the program not start?"
        )
    return _merged(own)


def _document(path: str, run: str) -> dict[str, Any] | None:
    try:
        document = stored_as(path, _SCHEMAS)
    except NotStored as reason:
        raise EvidenceProblem(f"{path}: {reason}; record the evidence again") from None
    return upgraded(document) if document["run"] == run else None


def _merged(documents: list[dict[str, Any]]) -> Run:
    mains = sorted((d for d in documents if d["process"]["role"] == "main"), key=_rank)
    gap = _gap(documents, mains)
    # If a program trains in child processes, the steps are theirs.
    stepping = [d for d in documents if d["steps"]["count"]]
    if not any(d in stepping for d in mains) and stepping:
        mains = stepping
    first = mains[0]
    for document in documents:
        document["process"]["steps"] = document in mains
    for document in mains:
        document["events"] = told_apart(document["events"], (first.get("profiled") or {}).get("blocked"))
    phases = {name: _phase(name, mains) for name in PHASES}
    phases[TRAINING] = replace(phases[TRAINING], median_ns=_step_ns(first))
    main = TRAINING if phases[TRAINING].count else EVALUATION
    # Main processes without ranks are programs of their own: the workers of pytest-xdist.
    apart = all(d["process"]["role"] == "main" and d["process"]["rank"] is None for d in mains)
    programs = mains if apart else [first]
    lefts = [d["left"] for d in documents if d["left"]]
    return Run(
        mode=first["mode"],
        device=first["device"],
        torch=first["torch"],
        steps=sum(d["steps"]["phases"][main]["count"] for d in programs),
        main=main,
        phases=phases,
        trainings=sum(d["steps"]["trainings"] for d in programs),
        durations=[tuple(step) for step in first["steps"]["durations"]],
        trace=first["trace"],
        sources=_sources(documents),
        wall_ns=first["wall_ns"],
        processes=len(documents),
        ranks=tuple(d["process"]["rank"] for d in mains if d["process"]["rank"] is not None),
        ended=first["ended"],
        complete=gap is None,
        gap=gap,
        left=(Place(*lefts[0]["site"]), lefts[0]["what"]) if lefts else None,
        compiled=any(d["compiled"] for d in documents),
        notes=list(dict.fromkeys(note for d in documents for note in d["notes"])),
        events=_events(documents),
        marks=_marks(documents),
        flags=first.get("flags", ()),
        account=first.get("synchronizations"),
        switch=first["switch"],
        profiled=first.get("profiled"),
        unfinished=sum(d["ended"]["how"] == "running" for d in mains),
    )


def _sources(documents: list[dict[str, Any]]) -> dict[str, bytes]:
    """The content of source files by path; what is damaged is left out."""
    found = {}
    for path, text in (pair for document in documents for pair in document["sources"].items()):
        with contextlib.suppress(ValueError, zlib.error):
            found[path] = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), _LARGEST)
    return found


def _step_ns(document: Mapping[str, Any]) -> int | None:
    """The median step: on a GPU that of the device, if the host only submits work and is ahead of it."""
    medians = (document["steps"]["phases"][TRAINING]["median_ns"], document.get("device_steps", {}).get("median_ns"))
    return max((median for median in medians if median is not None), default=None)


def _phase(name: str, mains: list[dict[str, Any]]) -> PhaseSteps:
    parts = [document["steps"]["phases"][name] for document in mains]
    return PhaseSteps(
        count=sum(part["count"] for part in parts),
        steady=sum(part["steady"] for part in parts),
        unit=next((part["unit"] for part in parts if part["unit"]), "batch"),
        ns=sum(part["ns"] for part in parts),
        median_ns=next((part["median_ns"] for part in parts if part["median_ns"] is not None), None),
    )


def _rank(document: Mapping[str, Any]) -> int:
    return int(document["process"]["rank"] or 0)


def _gap(documents: list[dict[str, Any]], mains: list[dict[str, Any]]) -> str | None:
    """Why events may be missing from the evidence; None if it is complete."""
    for document in mains:
        ended = document["ended"]
        if ended["how"] == "running":
            return "the program was killed, and what it did last is not known"
        if ended["how"] in ("steps", "seconds"):
            return f"the run was ended after {document['steps']['count']} steps"
        if ended["how"] == "exception":
            place = Place(*ended["site"])
            where = f" at {os.path.basename(place.path)}:{place.line}" if place.known else ""
            return f"the run ended early: {ended['type']}{where}"
        if ended["how"] in ("signal", "exit"):
            return f"the run ended early: {ended['how']} {ended.get('signal', ended.get('status'))}"
    for document in documents:
        if document["process"]["role"] != "main" and document["ended"]["how"] == "exception":
            place = Place(*document["ended"]["site"])
            where = f" at {os.path.basename(place.path)}:{place.line}" if place.known else ""
            return f"a child process failed: {document['ended']['type']}{where}"
    world = {int(d["world"]) for d in documents if d.get("world")}
    if world and len(mains) < max(world):
        return f"evidence of {max(world) - len(mains)} of {max(world)} ranks is missing"
    known = {document["process"]["pid"] for document in documents if document["ended"]["how"] != "running"}
    children = {child for document in documents for child in document["process"]["children"]}
    lost = children - known
    if lost:
        return f"evidence of {len(lost)} of {len(children)} child processes is missing"
    return None


def _events(documents: list[dict[str, Any]]) -> list[Event]:
    merged: dict[str, Event] = {}
    for document in documents:
        process = document["process"]
        main = process["steps"]
        for written in document["events"]:
            key = json.dumps([written["kind"], written["site"], written["facts"], main], sort_keys=True)
            event = merged.get(key)
            if event is None:
                event = merged[key] = _event(written, main=main)
            _count(event, written)
            event.ranks.add(process["rank"] or "0")
    return list(merged.values())


def _count(event: Event, written: Mapping[str, Any]) -> None:
    """Add the figures of one process."""
    event.count += written["count"]
    event.bytes += written["bytes"]
    event.ns += written["ns"]
    if event.main:
        event.steady = event.steady.plus(written["steady"])
        for phase in PHASES:
            if phase in written["phases"]:
                event.phases[phase] = event.phases.get(phase, NOTHING).plus(written["phases"][phase])


def _each(written: Sequence[int] | None) -> tuple[int, int, int] | None:
    return (written[0], written[1], written[2]) if written is not None else None


def _steps(written: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    return [(first, last, count) for first, last, count in written["steps"]]


def _event(written: Mapping[str, Any], *, main: bool) -> Event:
    """An event of the first process that has it, whose figures are still to be added."""
    return Event(
        kind=written["kind"],
        place=Place(*written["site"]),
        facts=written["facts"],
        each=_each(written["each"]),
        steps=_steps(written),
        callers=[(path, line, name) for path, line, name in written["callers"]],
        main=main,
    )


def _marks(documents: list[dict[str, Any]]) -> dict[str, Mark]:
    names = {name for document in documents for name in document["marks"]}
    parts = {
        name: [(d["marks"][name], d["process"]["steps"]) for d in documents if name in d["marks"]] for name in names
    }
    return {name: _mark(found) for name, found in parts.items()}


def _mark(parts: list[tuple[dict[str, Any], bool]]) -> Mark:
    events = []
    for main in (True, False):
        begun = [part["evaluations"] for part, its in parts if its is main and part["begun"]]
        if begun:
            event = Event("evaluation", NOWHERE, {}, each=_each(begun[0]["each"]), steps=_steps(begun[0]), main=main)
            for figures in begun:
                _count(event, figures)
            events.append(event)
    return Mark(
        loaded=any(part.get("loaded", True) for part, _ in parts),
        placed=any(part["placed"] for part, _ in parts),
        begun=sum(part["begun"] for part, _ in parts),
        ended=sum(part["ended"] for part, _ in parts),
        changed=sum(part["changed"] for part, _ in parts),
        tensors=sum(part.get("tensors", 0) for part, _ in parts),
        graphs=sum(part.get("graphs", 0) for part, _ in parts),
        events=tuple(events),
    )
