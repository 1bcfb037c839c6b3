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


class Feeding(TypedDict):
    """A use of a loader whose batches are moved to an accelerator; ``evaluation`` if gradients are disabled there.

    ``framework`` is the name of the framework that moves them; empty if the file does.
    """

    line: int
    evaluation: bool
    framework: str


class ReturnedLoader(TypedDict):
    """A result of another file's function that is used as a loader; ``place`` is its index in a returned tuple."""

    function: str
    place: int | None
    feeding: Feeding


class ForwardedLoader(TypedDict):
    """A result of one function of another file that is passed to a second one, which may move its batches."""

    function: str
    place: int | None
    to: str
    argument: int | str


class PassedLoader(TypedDict):
    """A loader constructed in this file and passed to a function of another file.

    ``pins`` is None if what is passed there is known not to be a loader.
    """

    function: str
    argument: int | str
    pins: bool | None
    line: int


class GivenLoader(TypedDict):
    """The loaders that other files pass for a parameter: a call, and whether all of them pin memory.

    ``loader`` is false if some calls pass something else.
    """

    path: str
    line: int
    pins: bool
    loader: bool


class MadeLoader(TypedDict):
    """The loader that a function returns: the line where it is constructed, and whether it pins memory."""

    line: int
    pins: bool


class StepCall(TypedDict):
    """A function of another file that is called in every step.

    ``device`` are the keywords, or indices of positional arguments, of the arguments on an accelerator; ``trains`` is
    false if the step only evaluates.
    """

    function: str
    device: list[str]
    trains: bool


class Returned(TypedDict, total=False):
    """What is known of a return value: its device (``cpu`` for everything else that is not on an accelerator), or its
    members if it is a ``tuple``, ``list`` or ``dict``.
    """

    device: str
    tensor: bool
    container: str
    elements: list[Returned]
    element: Returned


class StepResult(TypedDict):
    """The result of a function that other files call in every step.

    ``needs`` are the parameters that must be on an accelerator for that, each by its name and its place.
    """

    needs: list[list[str]]
    value: Returned


class PassedInstance(TypedDict):
    """An instance of a class (by dotted name) that is passed to a function of another file."""

    function: str
    argument: str
    type: str


class StepCaller(TypedDict):
    """How other files call a function in every step: as :class:`StepCall`, over all calls."""

    device: list[str]
    trains: bool


class Followed(TypedDict):
    """The functions of the file that have been followed for the loaders that they get, and functions of other files
    for the loaders that they return.
    """

    functions: list[str]
    results: list[str]


class FileFacts(TypedDict, total=False):
    """The facts about one file. A missing key means that there is nothing of the kind."""

    seeds: bool
    configures_cudnn: bool
    sets_device: bool
    sets_dtype: bool
    sets_precision: bool
    sets_validation: bool
    own_tensors: bool
    own_moves: bool
    multiplies: bool
    on_accelerator: bool
    trains_on_accelerator: bool
    lacks_device: bool
    feeds: bool
    followed: Followed
    flags: dict[str, FlagHelper]
    fed_parameters: dict[str, dict[str, Feeding]]
    fed_containers: dict[str, dict[str, Feeding]]
    moved_parameters: dict[str, dict[str, Feeding]]
    parameters: dict[str, list[str]]
    returned_loaders: list[ReturnedLoader]
    forwarded_loaders: list[ForwardedLoader]
    passed_loaders: list[PassedLoader]
    made_loaders: dict[str, MadeLoader]
    step_calls: list[StepCall]
    further_step_calls: list[StepCall]
    step_results: dict[str, StepResult]
    passed_instances: list[PassedInstance]
    framework_runs: dict[str, bool]
    loops: list[tuple[int, str]]
    varying_shapes: list[tuple[int, str]]
    cuda_packages: list[str]
    cuda_program: str
    cuda_extensions: list[str]
    device_choice: int
    needs_cuda: dict[str, str]
    devices: dict[str, str]
    cuda_checks: dict[str, str]
    has_custom_to: bool
    convolves: bool
