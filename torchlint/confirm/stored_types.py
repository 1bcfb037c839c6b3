"""Types of the companion's JSON files: reports, orders, and price lists; ``stored_evidence`` has those of evidence.

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


class _Context(TypedDict, total=False):
    context: bool


class _Evidence(_Context):
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


# -- comparisons ---------------------------------------------------------------------------------


class StoredComparison(TypedDict):
    """The result of `torchlint compare`."""

    rule: str
    path: Path
    line: int
    mode: str
    device: str | None
    ratio: float
    interval: tuple[float, float]
    decided: Literal["faster", "slower", "no difference"]
    old_us: float
    new_us: float


# -- prices --------------------------------------------------------------------------------------


class _Prices(TypedDict):
    """The figures of a price list."""

    pageable_bytes_per_us: float
    pinned_bytes_per_us: float
    download_bytes_per_us: float
    copy_us: float
    synchronize_us: float
    launch_us: float


class StoredProfile(TypedDict):
    """A price list."""

    name: str
    device: str | None
    source: str
    prices: _Prices
