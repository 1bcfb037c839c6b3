"""Functions that were followed: what they do, whom they call, and around which loops and guards."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ast

    from torchlint.engine.values import Origin, Value
    from torchlint.knowledge.forms import Form
    from torchlint.program.modules import Module

TRAINING = "training"  # the attribute of a module that says in which mode it is
CHOICE = "choice"  # the kind of regions in which something is called that only an option chooses
NO_GRADIENTS = "no_grad"  # the kind of regions within which autograd may be off


class Region:
    """A loop, a guard or a context in a frame, or the frame as a whole.

    ``rare``: a guard that holds seldom. ``option``: the option without which it does not hold. ``over_batches``: a loop
    over the batches of a loader, which only its name shows if it is ``named``. ``acts``: a loop that steps an
    environment. ``carries``: a loop that passes a tensor on from round to round. ``trains``: a guard that may go
    backward; ``directly`` if no loop is in between. ``equals``: what a guard compares, and the constant that it is
    equal to; ``TRAINING`` is the mode of a module. ``tag`` tells guards of one node apart: the number of a branch, or
    ``after`` for what follows one that leaves the block.
    """

    __slots__ = (
        "acts", "backward", "carries", "directly", "equals", "is_step", "kind", "named", "node", "option",
        "over_batches", "rare", "tag", "trains", "up", "yields",
    )  # fmt: skip

    def __init__(
        self,
        up: Region | None,
        kind: str,
        node: ast.AST | None,
        tag: object = 0,
        *,
        rare: bool = False,
        option: str | None = None,
    ) -> None:
        self.up, self.kind, self.node, self.tag, self.rare, self.option = up, kind, node, tag, rare, option
        self.is_step = self.backward = self.over_batches = self.acts = self.yields = self.trains = False
        self.directly = self.carries = self.named = False
        self.equals: tuple[str, object] | None = None

    def around(self) -> Iterator[Region]:
        """This region and those around it, innermost first."""
        region: Region | None = self
        while region is not None:
            yield region
            region = region.up

    def options(self) -> Iterator[str]:
        """The options without which a normal run does not get there in its frame, the innermost first."""
        return (region.option for region in self.around() if region.option)

    @property
    def is_branch(self) -> bool:
        """Whether this is a branch of a condition, and not what follows one that leaves the block."""
        return self.kind == "guard" and self.tag != "after"

    @property
    def is_quiet(self) -> bool:
        """Whether autograd may be off, because of a context in the frame."""
        return any(region.kind == NO_GRADIENTS for region in self.around())

    def loop(self) -> Region | None:
        """The innermost loop."""
        return next((region for region in self.around() if region.kind == "loop"), None)


class Place(NamedTuple):
    """Where something happens in a file: the position as in ``ast``, and the region around it."""

    line: int
    column: int
    region: Region


class Event(NamedTuple):
    """A read, another wait or a copy: in which file, in which form, in words, and what is copied."""

    path: str
    node: ast.AST
    form: Form
    what: str
    origin: Origin | None


class Deed(NamedTuple):
    """What a function does at a position of its source: an event, a call of another one, or work that is queued."""

    position: tuple[int, int]
    region: Region
    what: Event | Frame | None


class Tensor(NamedTuple):
    """A tensor that an expression of a file is, in a region of a frame: on the device or not, a mask or not.

    ``assumed``: nothing is known to call the function.
    """

    path: str
    frame: Frame
    on_device: bool
    masks: bool
    assumed: bool


class Made(NamedTuple):
    """A loader that a call makes in a region of a frame: what it is given by name, and what its batch is if pinning
    leaves that as it is: the name of a class, or ``array``.

    ``worker`` is the frame that calls what makes samples and batches of the ``dataset``.
    """

    node: ast.Call
    frame: Frame
    region: Region
    named: dict[str, Value]
    unpinned: str
    worker: Frame
    dataset: Value


class Started(NamedTuple):
    """Where an iterator of loaders is made, by the calls that make these; ``whole``: a loop goes through all of it."""

    frame: Frame
    whole: bool
    loaders: frozenset[ast.AST]


class Call(NamedTuple):
    """A call of a frame in a region; ``kind`` is ``generator`` where it consumes what a generator yields."""

    region: Region
    callee: Frame
    kind: str


class Object:
    """An object, by the place where it is created; ``option`` is the one without which a normal run does not."""

    __slots__ = ("class_", "fields", "node", "option")

    def __init__(self, class_: Class | None, node: ast.AST | None = None) -> None:
        self.class_, self.node = class_, node
        self.option: str | None = None
        self.fields: dict[str, Value] = {}


class Class:
    """A class of the project."""

    __slots__ = ("created", "fields", "lineage", "name", "node", "scope")

    def __init__(self, node: ast.ClassDef, scope: Scope) -> None:
        self.node, self.scope = node, scope
        self.name = node.name
        self.fields: dict[str, Value] = {}
        self.lineage: tuple[tuple[Class, ...], frozenset[str]] | None = None
        self.created = 0  # objects


class Function:
    """A function of the project: its node, the scope around it, the class that defines it."""

    __slots__ = ("class_", "frame", "kind", "node", "scope", "tensors")

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope, frame: Frame) -> None:
        self.node, self.scope, self.frame = node, scope, frame
        self.class_: Class | None = None
        self.kind = ""  # static, class, property
        self.tensors: frozenset[str] | None = None  # names that are used as tensors, if collected

    @property
    def name(self) -> str:
        """The name; a lambda has none."""
        return getattr(self.node, "name", "<lambda>")


class Scope:
    """The names of a module, class, function or comprehension; those of a class are not seen by its functions."""

    __slots__ = ("function", "losses", "module", "names", "of_class", "of_module", "returned", "up", "yielded")

    def __init__(self, names: dict[str, Value], module: Module, up: Scope | None = None) -> None:
        self.names, self.module, self.up = names, module, up
        self.function: Function | None = up.function if up is not None else None
        self.returned: list[Value] = []
        self.yielded: list[Value] | None = None
        self.of_class = False
        self.losses: frozenset[str] = frozenset()  # names that `backward` is called on
        self.of_module: set[str] = set()  # `global` names

    def get(self, name: str) -> Value | None:
        """The value of a name; None if it has none."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name) if scope is self or not scope.of_class else None
            if found is not None:
                return found
            scope = scope.up
        return self.module.names.get(name)

    def set(self, name: str, value: Value) -> None:
        """Bind a name."""
        (self.module.names if name in self.of_module else self.names)[name] = value


class Frame:
    """One function with one kind of arguments; or the body of a module, or what stands for an assumed caller."""

    def __init__(self, function: Function | None, module: Module, name: str) -> None:
        self.function, self.module, self.name = function, module, name
        self.root = Region(None, "root", None)
        self.regions: dict[Hashable, Region] = {}
        self.events: dict[tuple[str, Place], Event] = {}
        self.calls: dict[Call, int] = {}  # with their lines
        self.marks: dict[tuple[str, Region], None] = {}  # `backward`, `step`, `act`, `model`, `fetch`
        self.deeds: dict[Deed, None] = {}
        self.loads: dict[tuple[str, ast.expr, Region], None] = {}  # what it does for samples: `file`, `device`, `host`
        self.receiver: Object | None = None
        self.entry: tuple[str, int] | None = None  # path and line of the call of the project into a stub
        self.assumed = False  # nothing is known to call it
        self.guessed = False  # it is called by assumption for nothing but how often its loops run
        self.hot = ""  # stands for the caller of a function that is configured as hot, with its name
        self.assumes_step = "none"  # the phase of the step in which the function is assumed to run
        self.worker = False  # runs in the worker of a loader
        self.quiet = False  # autograd may be off
        self.in_model = False  # a method of a module, or in its forward pass
        # The evaluation
        self.kinds: tuple[Hashable, ...] = ()  # of its arguments
        self.given: dict[str, Value] = {}  # its joined arguments, if that something calls it is assumed
        self.widened = False  # since it was followed last
        self.result: Value | None = None
        self.gives = ""  # the parameter that is the result
        self.evaluations = 0
        self.active = False
        self.loops = 0  # around what is being evaluated
        self.reads: dict[tuple[Object, str], Hashable] = {}
        self.writes: dict[tuple[Object, str], Value] = {}
        self.seen: set[tuple[Object, str]] = set()
        self.valid_at = -1
        self.option: str | None = None  # without which a normal run does not get to where it was followed from
        self.grows = False  # something in it or in what it calls, perhaps in several loops


def callees(frames: Iterable[Frame]) -> set[Frame]:
    """Frames, and all that they call."""
    found = set(frames)
    todo = list(found)
    while todo:
        inner = {call.callee for call in todo.pop().calls} - found
        found |= inner
        todo.extend(inner)
    return found
