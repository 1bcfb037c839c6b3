"""Types of the companion's JSON files: reports, orders, evidence of processes, and price lists.

Additional keys are allowed and ignored.
"""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal, TypedDict

from torchlint.base.shape import MOST


class _Paths:
    """File names."""

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and b"\0" not in os.fsencode(name)
        except UnicodeEncodeError:
            return False


class _Ranks:
    """The number of processes, and the rank of this one."""

    def __contains__(self, number: object) -> bool:
        return isinstance(number, str) and (not number or (number.isascii() and number.isdigit() and len(number) < 10))


Path = Annotated[str, _Paths()]
Rank = Annotated[str, _Ranks()]
Amount = Annotated[int, range(2**63)]  # counts, bytes, nanoseconds
_Column = Annotated[int, range(-1, MOST)]
Site = tuple[Path, int, _Column, int, _Column]
Three = tuple[Amount, Amount, Amount]  # count, bytes, nanoseconds
Phase = Literal["before", "training", "evaluation", "after"]
Flag = Literal["enabled", "benchmark", "deterministic", "algorithms"]


# -- findings ------------------------------------------------------------------------------------


class _Span(TypedDict):
    """A span with the keys of the JSON report."""

    line: int
    column: int
    end_line: int
    end_column: int


class _Edit(_Span):
    """An edit of a fix."""

    text: str


class _Evidence(TypedDict):
    """Evidence of a finding."""

    line: int
    column: int
    text: str


class _Fix(TypedDict):
    """A fix."""

    title: str
    safety: Literal["safe", "unsafe"]
    caveat: str | None
    edits: list[_Edit]


class StoredFinding(_Span):
    """A finding of a JSON report."""

    rule: str
    name: str
    topic: str
    severity: Literal["error", "warning", "info"]
    path: Path
    message: str
    cell: int | None
    heat: Literal["once", "epoch", "step", "element"] | None
    evidence: list[_Evidence]
    fix: _Fix | None
    fingerprint: str


class StoredReport(TypedDict):
    """The JSON report of linting."""

    findings: list[StoredFinding]


# -- orders --------------------------------------------------------------------------------------


class _Functions(TypedDict, total=False):
    functions: list[str]


class _Recipe(_Functions):
    """The recipe of a finding."""

    probe: str
    span: str
    seen: str
    least: float
    each: str
    share: float
    flags: list[tuple[Flag, bool]]


class _OrderOfBlock(TypedDict, total=False):
    lint: bool


class StoredOrder(_OrderOfBlock):
    """What a run should observe."""

    run: str
    base: Path
    script: Path | None
    module: str | None
    arguments: list[str]
    mode: Literal["auto", "gpu", "sim", "cpu"]
    steps: int | None
    seconds: float | None
    devices: int
    cache: str | None
    files: dict[str, str]
    findings: dict[str, StoredFinding]
    recipes: dict[str, _Recipe | None]
    switch: dict[str, Any] | None


# -- evidence ------------------------------------------------------------------------------------


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


class _Mark(_Graphs):
    placed: bool
    begun: Amount
    ended: Amount
    ns: Amount
    first: Amount
    changed: Amount


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
    phases: _PhasesOfEvent


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


class _CudaWaits(TypedDict, total=False):
    waits: list[_CudaWait]


class _Profiled(_CudaWaits):
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
    synchronisations: _Account | None
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
    marks: dict[str, _Mark]
    switch: _Switch | None


class StoredRunBefore(_Run):
    """The evidence of one process of a run in schema 1."""

    steps: _StepsBefore
    events: list[_EventBefore]


class StoredRun(_Run):
    """The evidence of one process of a run."""

    steps: _Steps
    events: list[_Event]


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


# The facts that events of each kind must have.
FACTS: dict[str, Any] = {
    "convolution": _Layer,
    "recurrent": _Layer,
    "array": _Array,
    "shared": _Shared,
    "flag": _Written,
    "opaque": _Opaque,
}


# -- prices --------------------------------------------------------------------------------------


class _Prices(TypedDict):
    """The figures of a price list."""

    pageable_bytes_per_us: float
    pinned_bytes_per_us: float
    download_bytes_per_us: float
    copy_us: float
    synchronise_us: float
    launch_us: float


class StoredProfile(TypedDict):
    """A price list."""

    name: str
    device: str | None
    source: str
    prices: _Prices
