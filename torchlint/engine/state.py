"""The state of following a program: where it is, what it has done, the fields of objects, and the budget."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from torchlint.engine.frames import (
    Call,
    Deed,
    Event,
    Frame,
    Function,
    Made,
    Object,
    Place,
    Region,
    Scope,
    Started,
    Tensor,
)
from torchlint.engine.grown import Rounds, carrying
from torchlint.engine.origins import own_origins
from torchlint.engine.queued import Queued
from torchlint.engine.union import key
from torchlint.engine.values import MASK, Device, Kind, Origin, Value, leaves
from torchlint.knowledge.forms import BY_LIBRARY, COPY, GROWN, WAITING, Form
from torchlint.program.modules import Module

_READS = 400  # fields that a frame is known to depend on


class Exhausted(Exception):
    """The budget is spent."""


class Left(Exception):
    """A statement that leaves the block: ``break``, ``continue``, ``raise``."""


class Raised(Left):
    """A ``raise``."""


class Returned(Exception):
    """A ``return`` with its value."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class State:
    """What is being followed. ``frame`` and ``region`` are where; what happens is recorded there."""

    def __init__(self, work: int) -> None:
        idle = Module("", "", b"")
        self.frame = Frame(None, idle, "<idle>")
        self.region = self.frame.root
        self.frames: dict[Hashable, Frame] = {0: self.frame}
        self.worker = False  # in the worker of a loader, where nothing is on the accelerator
        self.in_model = False  # in the forward pass of a module
        self.evaluated: frozenset[str] | None = None  # in evaluation mode, as written; None if nothing set the mode
        self.default_device: Device | None = None  # of tensors, in `with torch.device(..)`
        self.depth = 0  # calls
        self.called_with: str | None = None  # the option without which nothing calls the frame
        self.work, self.total, self.limit = 0, work, work
        self.epoch = 0  # changes of fields that matter
        self.ran: dict[ast.stmt | ast.expr, dict[Region, Frame]] = defaultdict(dict)
        self.patches: list[tuple[str, Function]] = []  # what replaces functions of libraries, with their dotted names
        self.commands: list[Value] = []  # functions that a command line calls
        self.reached: frozenset[ast.AST] = frozenset()  # functions that programs get to
        self.left_out: dict[Module, list[ast.stmt]] = {}  # files that are no programs, with what only a program runs
        self.partial: set[ast.AST] = set()  # functions of which some calls were not followed to the end
        self.cut: dict[Module, set[ast.AST]] = defaultdict(set)  # bodies and functions beyond the budget
        self.entry: tuple[str, ast.AST] | None = None  # the call of the project into a stub: path and node
        self.discarded: ast.expr | None = None  # the call whose result nothing uses
        # What is told of the calls of methods, if some functions are configured as hot.
        self.unresolved: Callable[[Value, list[Value], dict[str, Value], ast.Call], None] | None = None
        self.loaders: dict[tuple[ast.AST, Region], Made] = {}  # that are made of the project's own code
        self.starts: dict[tuple[ast.expr, Region], Started] = {}  # iterators of loaders
        self.assuming = False  # that something calls what is being followed
        self.tensors: dict[tuple[ast.expr, Region, bool], Tensor] = {}
        self.involved: set[ast.AST] = set()  # what makes content on the host that is not only copied
        self.foreign: set[ast.AST] = set()  # what makes content that functions outside of the project write to
        self.stores: list[str] = []  # the fields that were set, one after the other
        self.stored: dict[object, set[str | None]] = defaultdict(set)  # keys, with the options without which none is
        self.rounds: Rounds = ()  # of the loops that are being followed
        self.joined: set[ast.AST] = set()  # calls that have joined tensors in this round
        self.grown: dict[ast.AST, set[ast.AST]] = defaultdict(set)  # those whose results grow, with the loops
        self.growths = 0
        # Where content is changed, by what made it; None for what an optimizer may change.
        self.altered: dict[ast.AST, set[tuple[Frame, Region] | None]] = defaultdict(set)
        self.queued = Queued()
        self._log: list[tuple[Object, str, Value | None]] = []

    # -- the budget --------------------------------------------------------------------------------

    def spend(self) -> None:
        """Count a statement or call. Raises :class:`Exhausted`."""
        self.work += 1
        if self.work > self.limit:
            raise Exhausted

    def within(self, work: int, module: Module, node: ast.AST, act: Callable[[], object]) -> None:
        """Follow a function or the body of a file with a share of the budget; notes it if that is not enough."""
        saved = self.frame, self.region, self.limit
        self.queued.wait()
        self.limit, self.depth, self.worker, self.default_device = min(self.total, self.work + work), 0, False, None
        try:
            act()
        except (Returned, Left):
            pass
        except (Exhausted, RecursionError):
            self.cut[module].add(node)
        finally:
            (self.frame, self.region), self.limit = saved[:2], self.total

    # -- where -------------------------------------------------------------------------------------

    @property
    def option(self) -> str | None:
        """The option without which a normal run does not get here."""
        return next(self.region.options(), self.called_with)

    @contextmanager
    def at(self, frame: Frame, region: Region | None = None) -> Iterator[None]:
        """Follow something in another frame."""
        saved = self.frame, self.region, self.evaluated
        self.frame, self.region = frame, region or frame.root
        try:
            yield
        finally:
            self.frame, self.region, self.evaluated = saved

    @contextmanager
    def inside(
        self, kind: str, node: ast.AST, tag: object = 0, *, rare: bool = False, option: str | None = None
    ) -> Iterator[Region]:
        """Follow something in a region of the frame."""
        saved = self.region
        try:
            yield self.enter(kind, node, tag, rare=rare, option=option)
        finally:
            self.region = saved

    def enter(
        self, kind: str, node: ast.AST, tag: object = 0, *, rare: bool = False, option: str | None = None
    ) -> Region:
        """Go on in a region, which the caller leaves by restoring ``region``."""
        place = (self.region, node, kind, tag)
        found = self.frame.regions.get(place)
        if found is None:
            found = self.frame.regions[place] = Region(self.region, kind, node, tag, rare=rare, option=option)
        found.rare = found.rare or rare  # as what only the first round of a loop seemed to do in any case
        self.region = found
        return found

    def new_frame(self, module: Module, name: str) -> Frame:
        """A frame that is no function."""
        frame = Frame(None, module, name)
        self.frames[id(frame)] = frame
        return frame

    # -- what happens ------------------------------------------------------------------------------

    def on_device(self, value: Value) -> bool:
        """Whether a tensor is on the accelerator; one of unknown place is, except in workers of loaders."""
        return value.device is Device.ACCELERATOR or (value.device is Device.UNKNOWN and not self.worker)

    def is_on_device(self, value: Value) -> bool:
        """Whether a value is certainly a tensor, and on the accelerator."""
        return value.kind is Kind.TENSOR and value.sure and self.on_device(value)

    def happen(self, node: ast.AST, scope: Scope, form: Form, origin: Origin | None = None, *, name: str = "") -> None:
        """Record a read, another wait or a copy; ``name`` is that of the function or method in the form.

        What a stub does happens at the call of the project that got there.
        """
        path, written = scope.module.path, node
        if scope.module.library and self.entry is not None:
            path, node = self.entry
            form, name = (BY_LIBRARY, scope.module.library) if form.kind == COPY else (form, name)
        place = Place(getattr(node, "lineno", 0), getattr(node, "col_offset", 0), self.region)
        what = form.named(name)
        event = self.frame.events.setdefault((form.kind, place), Event(path, node, form, what, origin))
        self.do(written, event)
        if form.key in WAITING:
            self.queued.wait()

    def reads(self, value: Value, node: ast.AST, scope: Scope, form: Form, name: str = "") -> None:
        """The host uses the content of every tensor in a value."""
        for leaf in leaves(value):
            self.waits(leaf, node, scope, form, name)

    def waits(self, value: Value, node: ast.AST, scope: Scope, form: Form, name: str = "") -> None:
        """The host waits for a tensor, if it is one on the accelerator."""
        self.uses(value, node)
        if self.is_on_device(value):
            self.happen(node, scope, form, value.origin, name=name)
        self.may_wait(value)

    def uses(self, value: Value, node: ast.AST, *, writes: bool = False) -> None:
        """The host reads or writes the content of a tensor or array, maybe too early for a copy that is queued."""
        if value.memory is not None:
            self.queued.use(value, node, self.origin("", node), writes=writes)

    def may_wait(self, value: Value) -> None:
        """The host may wait for a tensor of the device, which may be one."""
        if value.kind is Kind.TENSOR and self.on_device(value):
            self.queued.wait()

    def alter(self, value: Value, *, lasting: bool = False) -> None:
        """Content of the host is changed here, or from now on by an optimizer."""
        for leaf in leaves(value):
            for origin in (leaf.origin, leaf.memory):
                if origin is not None:
                    self.altered[origin.node].add(None if lasting else (self.frame, self.region))

    def joins(self, found: Value, parts: list[Value], node: ast.AST, scope: Scope, name: str) -> Value:
        """What a call joins of parts, which grows if it has joined one of them in an earlier round of a loop."""
        tensors = (leaf for value in parts for leaf in leaves(value) if leaf.kind is Kind.TENSOR)
        calls: dict[Any, Any] = {call: rounds for each in tensors for call, rounds in each.fields.items()}
        loops = carrying(calls.get(node, ()), self.rounds)
        self.growths += node in calls
        if loops:
            self.grown[node].update(loops)
            self.happen(node, scope, GROWN, self.origin("kept", node) if self.in_model else None, name=name)
        self.joined.add(node)
        return found.joined({**calls, node: self.rounds})

    def note_key(self, key: object) -> None:
        """Record that something is stored under a text."""
        self.stored[key].add(self.option)

    def involve(self, value: Value) -> None:
        """The host uses content that the program has made, or writes data into it: it is not only copied."""
        self.involved.update(origin.node for origin in own_origins(value))

    def do(self, node: ast.AST, what: Event | Frame | None = None) -> None:
        """Record that something happens, is called, or is queued on the device."""
        outside = self.region.node if self.region.kind == "loop" else None
        position = max(_position(node), _position(outside)) if isinstance(outside, ast.expr) else _position(node)
        self.frame.deeds[Deed(position, self.region, what)] = None

    def queue(self, kind: str, node: ast.AST) -> None:
        """Record that a model, ``backward`` or an optimizer is called here."""
        self.mark(kind)
        self.do(node)

    def mark(self, kind: str) -> None:
        """Record that an environment is called here, a batch is taken, or what :meth:`queue` records."""
        self.frame.marks[kind, self.region] = None
        if kind == "act" and (loop := self.region.loop()) is not None:
            loop.acts = True

    def load(self, kind: str, node: ast.AST) -> None:
        """Record what a worker does for its samples here, with ``file`` for one that it decodes."""
        if self.worker and isinstance(node, ast.expr) and not self.frame.module.library:
            self.frame.loads[kind, node, self.region] = None

    def called(self, callee: Frame, kind: str, node: ast.AST) -> None:
        """Record a call of a frame."""
        self.frame.calls.setdefault(Call(self.region, callee, kind), getattr(node, "lineno", 0))
        self.do(node, callee)

    def origin(self, kind: str, node: ast.AST) -> Origin:
        """Where content of the host is made: here."""
        return Origin(kind, self.frame, self.region, node)

    def note(self, value: Value, node: ast.expr, scope: Scope) -> None:
        """Record the tensor that an expression is."""
        if scope.module.library:
            return
        on_device = self.on_device(value)
        place = node, self.region, on_device
        if place not in self.tensors:
            self.tensors[place] = Tensor(scope.module.path, self.frame, on_device, value.detail == MASK, self.assuming)

    # -- fields of objects -------------------------------------------------------------------------

    def field(self, owner: Object, name: str) -> Value | None:
        """The value of a field, on which the frame depends from now on."""
        value = owner.fields.get(name)
        place, frame = (owner, name), self.frame
        if place not in frame.seen and len(frame.reads) < _READS:
            frame.seen.add(place)
            frame.reads[place] = key(value, 1) if value is not None else None
        return value

    def set_field(self, owner: Object, name: str, value: Value) -> None:
        """Change a field."""
        if (
            value.kind is Kind.CONSTANT
            and isinstance(value.detail, (int, float))
            and not isinstance(value.detail, bool)
        ):
            value = Value(Kind.NUMBER, items=[value]) if not value.option else value
        before = owner.fields.get(name)
        self.stores.append(name)
        if before is value:
            return
        self._log.append((owner, name, before))
        owner.fields[name] = value
        self.frame.seen.add((owner, name))
        if before is None or key(before, 1) != key(value, 1):
            self.epoch += 1

    @property
    def changes(self) -> int:
        """The number of changes of fields so far."""
        return len(self._log)

    def changed(self, since: int) -> dict[tuple[Object, str], Value]:
        """The fields that were changed since then, with their present values."""
        return {(o, n): o.fields[n] for o, n, _ in self._log[since:] if n in o.fields}

    def undo(self, since: int) -> dict[tuple[Object, str], Value]:
        """Take back the changes of fields since then; gives the values that they had last."""
        done: dict[tuple[Object, str], Value] = {}
        for owner, name, before in reversed(self._log[since:]):
            if name in owner.fields:
                done.setdefault((owner, name), owner.fields[name])
            if before is None:
                owner.fields.pop(name, None)
            else:
                owner.fields[name] = before
        del self._log[since:]
        return done


def _position(node: ast.AST) -> tuple[int, int]:
    """Where a node takes effect: a loop where it begins, a store behind its value, other nodes where they end."""
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        return node.lineno, node.col_offset
    stored = isinstance(getattr(node, "ctx", None), ast.Store)
    return getattr(node, "end_lineno", 0), sys.maxsize if stored else getattr(node, "end_col_offset", 0)


def number(value: Value) -> Value:
    """A literal number as an argument: functions are followed for any number, but know zero, and one of the others."""
    plain = isinstance(value.detail, (int, float)) and not isinstance(value.detail, bool)
    if value.kind is not Kind.CONSTANT or not plain or value.option or value.detail == 0:
        return value
    return Value(Kind.NUMBER, items=[value])
