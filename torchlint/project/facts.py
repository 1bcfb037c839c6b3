"""Facts about one file that other files may need, as plain JSON."""

from __future__ import annotations

from typing import TypedDict


class FlagWrite(TypedDict):
    """A backend flag that a function has set when it returns; ``soft`` if the write only causes a warning."""

    flag: str
    value: bool | None
    soft: bool
    line: int


class FlagExit(TypedDict):
    """The flags set on one path through a function, and the parameter values under which that path is taken."""

    writes: list[FlagWrite]
    conditions: dict[str, bool]


class FlagHelper(TypedDict):
    """A function that sets backend flags, with its parameters in order and their defaults that are literals."""

    parameters: list[str]
    defaults: dict[str, bool]
    exits: list[FlagExit]


class FileFacts(TypedDict, total=False):
    """The facts about one file. A missing key means that there is nothing of the kind."""

    seeds: bool
    configures_cudnn: bool
    sets_device: bool
    sets_dtype: bool
    sets_precision: bool
    redefines: bool
    own_moves: bool
    multiplies: bool
    on_accelerator: bool
    trains_on_accelerator: bool
    lacks_device: bool
    flags: dict[str, FlagHelper]
    loops: list[tuple[int, int, str]]
    varying_shapes: list[tuple[int, str]]
    cuda_packages: list[str]
    cuda_program: str
    cuda_extensions: list[str]
    needs_cuda: dict[str, str]
    devices: dict[str, str]
    cuda_checks: dict[str, str]
    convolves: bool
