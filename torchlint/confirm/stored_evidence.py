"""Types of the evidence of one process, in all schemas that can be read; docs/evidence-format.md describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from torchlint.base.shape import MOST
from torchlint.confirm.stored_types import Amount, Flag, Path, Phase, Rank, Site, Three


class _Process(TypedDict):
    pid: Amount
    role: str
    rank: Rank | None
    children: list[Amount]


class _Excluded(TypedDict, total=False):
    excluded: Amount


class _Phase(TypedDict):
    """The steps of a phase, and how long it took. ``steady`` are those that rates are taken from."""

    count: Amount
    steady: Amount
    unit: str | None
    ns: Amount
    median_ns: Amount | None


class _PhasesOfRun(TypedDict):
    before: _Phase
    training: _Phase
    evaluation: _Phase
    after: _Phase


class _PhasesOfEvent(TypedDict, total=False):
    before: Three
    training: Three
    evaluation: Three
    after: Three


class _StepsBefore(_Excluded):
    """Steps in schema 1."""

    count: int
    unit: str
    median_ns: Amount | None


class _Steps(_StepsBefore):
    """``durations`` are those of some steps: number, phase, nanoseconds."""

    trainings: Amount
    phases: _PhasesOfRun
    durations: list[tuple[Amount, Phase, Amount]]


class _Plain(TypedDict):
    how: Literal["running", "finished"]


class _Limited(TypedDict):
    how: Literal["steps", "seconds"]


class _Exit(TypedDict):
    how: Literal["exit"]
    status: Annotated[int, range(-MOST, MOST)]


class _Signal(TypedDict):
    how: Literal["signal"]
    signal: int


class _Raised(TypedDict):
    how: Literal["exception"]
    type: str
    message: str
    site: Site


class _Left(TypedDict):
    site: Site
    what: str


class _Graphs(TypedDict, total=False):
    tensors: Amount
    graphs: Amount
    loaded: bool


class _MarkBefore(_Graphs):
    """A mark in schema 1."""

    placed: bool
    begun: Amount
    ended: Amount
    ns: Amount
    first: Amount
    changed: Amount


class _Mark(_Graphs):
    """A mark; ``evaluations`` has the figures of an event, ``loaded`` says whether its file may have been loaded."""

    placed: bool
    begun: Amount
    ended: Amount
    changed: Amount
    evaluations: _Evaluations


class _EventBefore(TypedDict):
    """An event in schema 1."""

    kind: str
    site: Site
    count: Amount
    bytes: Amount
    ns: Amount
    steady: Three
    facts: dict[str, Any]


class _Event(_EventBefore):
    """``each`` are the smallest, median and largest nanoseconds; ``steps`` runs of steps: first, last, how many."""

    phases: _PhasesOfEvent
    each: Three | None
    steps: list[Three]
    callers: list[tuple[Path, int, str]]


class _Evaluations(TypedDict):
    """The figures of an event."""

    count: Amount
    bytes: Amount
    ns: Amount
    steady: Three
    phases: _PhasesOfEvent
    each: Three | None
    steps: list[Three]


class _Write(TypedDict):
    flag: Flag
    value: bool
    site: Site
    layers: int


class _Account(TypedDict):
    explained: Amount
    unexplained: Amount


class _Copy(TypedDict):
    name: str
    kind: str
    count: Annotated[int, range(1, MOST)]
    us: float


class _CudaWait(TypedDict):
    name: str
    count: Annotated[int, range(1, MOST)]
    us: float


class _Rows(TypedDict):
    """Busy intervals: the beginning, and how long it took."""

    host: list[tuple[Amount, Amount]]
    compute: list[tuple[Amount, Amount]]
    HtoD: list[tuple[Amount, Amount]]
    DtoH: list[tuple[Amount, Amount]]


class StoredDevice(TypedDict):
    """What the device did in a few steps, in nanoseconds since the first of them began.

    ``steps`` are their ends; ``gaps`` have a beginning, a duration and the number of a site, if one is known.
    """

    steps: list[Amount]
    busy_ns: Amount
    idle: float
    rows: _Rows
    gaps: list[tuple[Amount, Amount, Amount | None]]
    dropped: Amount
    sites: list[Site]


class _BlockedLine(TypedDict):
    """What blocked the host at a line in profiled steps, and how long the device computed nothing because of it.

    ``mentioned`` says that it is known from a wait that torch has mentioned, ``beside`` that it happened in another
    thread; ``pinned`` and ``bytes`` are those of copies that were only mentioned.
    """

    kind: Literal["sync", "upload", "download"]
    site: Site
    mentioned: bool
    beside: bool
    pinned: bool
    count: Annotated[int, range(1, MOST)]
    bytes: Amount
    blocked_ns: Amount
    idle_ns: Amount


class StoredBlocked(TypedDict):
    """What blocked the host in profiled ``steps``, which took ``ns``, and how long the device computed nothing."""

    steps: Annotated[int, range(1, MOST)]
    ns: Amount
    idle_ns: Amount
    lines: list[_BlockedLine]


class _ProfiledLater(TypedDict, total=False):
    """What the first versions did not have."""

    waits: list[_CudaWait]
    device: StoredDevice | None
    blocked: StoredBlocked | None


class _Profiled(_ProfiledLater):
    steps: int
    copies: list[_Copy]
    seen: dict[str, Amount]


class _Blocks(TypedDict, total=False):
    blocks: list[float]


class _Switch(_Blocks):
    pairs: list[tuple[float, float]]
    evaluated: tuple[Amount, Amount]
    losses: list[str]


class _DeviceSteps(TypedDict):
    count: Amount
    median_ns: Amount | None


class _Instrumented(TypedDict, total=False):
    """What single instruments add, if they were active."""

    flags: list[_Write]
    synchronizations: _Account | None
    profiled: _Profiled | None
    device_steps: _DeviceSteps


class _Run(_Instrumented):
    """What all schemas share."""

    run: str
    process: _Process
    world: Rank | None
    mode: Literal["gpu", "sim", "cpu"]
    device: str | None
    torch: str
    notes: list[str]
    wall_ns: Amount
    ended: _Plain | _Limited | _Exit | _Signal | _Raised
    left: _Left | None
    compiled: bool
    switch: _Switch | None


class StoredRunBefore(_Run):
    """The evidence of one process of a run in schema 1."""

    steps: _StepsBefore
    marks: dict[str, _MarkBefore]
    events: list[_EventBefore]


class _Sample(TypedDict):
    """One step of the trace. Entries: nanoseconds since it began, how many it took, kind, number of the site, bytes."""

    step: Amount
    phase: Phase
    ns: Amount
    entries: list[tuple[Amount, Amount, str, Amount, Amount]]


class _Trace(TypedDict):
    sites: list[Site]
    dropped: Amount
    steps: list[_Sample]


class StoredRun(_Run):
    """The evidence of one process of a run."""

    steps: _Steps
    marks: dict[str, _Mark]
    events: list[_Event]
    trace: _Trace
    sources: dict[str, str]


class _Layer(TypedDict):
    flags: tuple[bool, bool, bool, bool]
    shape: list[int | str]
    weight: list[int | str]
    on_device: bool


class _Array(TypedDict):
    same_dtype: bool
    writable: bool
    on_host: bool


class _Shared(TypedDict):
    outcome: str


class _Written(TypedDict):
    flag: Flag
    value: bool
    before: bool


class _Opaque(TypedDict):
    how: Literal["compiled", "scripted", "exported", "replayed"]


class _Noted(TypedDict):
    reason: str


# The facts that events of each kind must have.
FACTS: dict[str, Any] = {
    "convolution": _Layer,
    "recurrent": _Layer,
    "array": _Array,
    "shared": _Shared,
    "flag": _Written,
    "opaque": _Opaque,
    "break": _Noted,
    "recompilation": _Noted,
}
