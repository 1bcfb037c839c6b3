"""Calls: what is called, with which arguments, and the frames of functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Hashable
from operator import eq
from typing import TYPE_CHECKING

from torchlint.engine.arguments import OTHERS, Arguments, device_of
from torchlint.engine.assumed import as_taken, kinds_of_data, widen
from torchlint.engine.chosen import needed
from torchlint.engine.frames import CHOICE, Frame, Function, Scope
from torchlint.engine.losses import scaled_loss, yields_and_losses
from torchlint.engine.parameters import Parameters
from torchlint.engine.state import Exhausted, Left, Returned
from torchlint.engine.union import join, join_all, key
from torchlint.engine.values import NONE, UNKNOWN, Device, Kind, Value, leaves, tensor
from torchlint.knowledge import following as known

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine
    from torchlint.program.modules import Module

_DEEP = 36  # calls of one another
_KINDS, _KINDS_OF_METHODS, _ALL_KINDS = 8, 4, 40  # of arguments that a function is followed for
_EVALUATIONS, _ASSUMED_EVALUATIONS = 3, 2  # of a function for one kind of arguments
_SMALL = 6  # statements of a function that is followed for more kinds
_READS = 400


class Calls:
    """Follows calls."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state
        self._parameters = Parameters(engine)
        self._peers: dict[Hashable, list[Frame]] = defaultdict(list)  # frames of a function
        self._losses: dict[ast.AST, tuple[bool, frozenset[str]]] = {}
        self.reached: set[ast.AST] = set()
        self.passed: dict[tuple[Module, str], Value] = {}  # what programs pass under a name to functions of a file
        self.closures: set[Scope] = set()  # calls that made functions which are reached

    # -- expressions -------------------------------------------------------------------------------

    def evaluate(self, node: ast.Call, scope: Scope) -> Value:
        """The value of a call."""
        self._state.spend()
        function = self._engine.evaluate(node.func, scope)
        values, named = self._given(node, scope)
        self._engine.gradients.called(function, node, scope)
        if self._state.unresolved is not None:
            self._state.unresolved(function, values, named, node)
        for member in function.members:
            self._call_back(member, [*values, *named.values()], node, scope)
        if function.kind in _OF_OTHERS and scaled_loss(node) is not None:
            self._state.queue("backward", node)
            self._state.queue("step", node)
        if self._state.queued:
            self._state.queued.call(function, values, named, self._state.origin("", node))
        found = self.call(function, values, named, node, scope)
        found = self._engine.memory.of_call(function, values, named, found, node, scope)
        if found.kind is Kind.UNKNOWN and function.kind in (Kind.FUNCTION, Kind.LIBRARY):
            return self._engine.libraries.configured(found, function, Arguments(values, named, node, scope))
        return found

    def _given(self, node: ast.Call, scope: Scope) -> tuple[list[Value], dict[str, Value]]:
        values: list[Value] = []
        named: dict[str, Value] = {}
        for argument in node.args:
            value = self._engine.evaluate(argument, scope)
            if not isinstance(argument, ast.Starred):
                values.append(value)
            elif value.kind in (Kind.TUPLE, Kind.MODULES):
                values += value.items
            else:
                values.append(self._engine.containers.element(value, argument, scope))
                named[OTHERS] = UNKNOWN
        for keyword in node.keywords:
            value = self._engine.evaluate(keyword.value, scope)
            if keyword.arg is not None:
                named[keyword.arg] = value
            elif value.kind is Kind.DICT:
                named.update({name: item for name, item in value.fields.items() if isinstance(name, str)})
                named.update({OTHERS: UNKNOWN} if value.detail == OTHERS else {})
            elif value.kind is Kind.INSTANCE and value.target.class_ is None:
                named.update(value.target.fields)
            else:
                named[OTHERS] = UNKNOWN
        return values, named

    def _call_back(self, function: Value, given: list[Value], node: ast.Call, scope: Scope) -> None:
        """A function of the project that is handed to a library is called by it."""
        receiver = function.receiver
        of_library = function.kind in (Kind.LIBRARY, Kind.UNKNOWN) or (
            function.kind is Kind.METHOD and receiver is not None and receiver.kind in _LIBRARY_THINGS
        )
        if not of_library or scope.module.library:  # a stub says what it calls
            return
        if function.kind is Kind.LIBRARY and function.detail.rpartition(".")[2] in known.NO_CALLBACK:
            return
        for value in given:
            for each in value.items if value.kind is Kind.TUPLE else (value,):
                self._run(each, node, scope)

    def _run(self, callback: Value, node: ast.Call, scope: Scope) -> None:
        target = callback.target if callback.kind is Kind.FUNCTION else None
        bound = int(callback.receiver is not None)
        if callback.kind is Kind.PARTIAL and callback.target.kind is Kind.FUNCTION:
            target, bound = callback.target.target, len(callback.items) + len(callback.fields)
        if target is None or (target.node in self.reached and not isinstance(target.node, ast.Lambda)):
            return
        needed = len(target.node.args.args) - len(target.node.args.defaults) - bound
        named = {arg.arg: self._engine.libraries.given(arg.arg) for arg in target.node.args.args[bound:]}
        given = {name: value for name, value in named.items() if value is not None}  # as fire.Fire does
        try:
            self.call(callback, [UNKNOWN] * max(needed, 0), given, node, scope)
        except (Returned, Left):
            return

    # -- calls -------------------------------------------------------------------------------------

    def call(self, function: Value, args: list[Value], named: dict[str, Value], node: ast.AST, scope: Scope) -> Value:
        """What calling a value gives; what only an option chooses is called with that."""
        option = needed(function)
        if option is None or option in self._state.region.options():
            return self._call(function, args, named, node, scope)
        with self._state.inside(CHOICE, node, option, option=option):
            return self._call(function, args, named, node, scope)

    def _call(self, function: Value, args: list[Value], named: dict[str, Value], node: ast.AST, scope: Scope) -> Value:
        kind = function.kind
        if kind is Kind.UNION:
            return self._engine.containers.each(function, lambda each: self.call(each, args, named, node, scope))
        if kind is Kind.FUNCTION:
            receiver = [function.receiver] if function.receiver is not None else []
            return self.invoke(function.target, [*receiver, *args], named, node)
        if kind is Kind.CLASS:
            return self._engine.classes.instantiate(function.target, args, named, node, scope)
        if kind is Kind.PARTIAL:
            return self.call(function.target, [*function.items, *args], {**function.fields, **named}, node, scope)
        if function.moves_inputs:
            args, named = self._engine.libraries.scattered(args, named, node, scope)
        if kind is Kind.INSTANCE:
            return self._call_instance(function, args, named, node, scope)
        if kind is Kind.MODULES:
            for member in function.items:
                args = [self.call(member, args, {}, node, scope)]
            return args[0] if args else UNKNOWN
        if isinstance(node, ast.Call) and kind in (Kind.METHOD, Kind.LIBRARY):
            name = str(function.detail).rpartition(".")[2]
            given = Arguments(args, named, node, scope, function.receiver or UNKNOWN, name)
            return self._engine.libraries.call(function, given)
        if kind is Kind.LIBRARY_MODULE:
            self._state.queue("model", node)
            return self._engine.libraries.module_result(function, device_of([*args, *named.values()]))
        if kind is Kind.TENSOR:
            self.of_unknown(args, named, node)
            return tensor(function.device or Device.UNKNOWN, sure=False)
        return self.of_unknown(args, named, node)

    def of_unknown(self, args: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        """What something unknown gives: what takes tensors of the device and gives something computes, like a model."""
        given = [*args, *named.values()]
        self._state.queued.wait()
        for value in given:
            self._state.involve(value)
            self._state.alter(value)
            if value.kind is Kind.DICT and value.detail is None and isinstance(node, ast.Call):
                value.detail = OTHERS if isinstance(node.func, ast.Name) else None  # which it may add to
        on_device = device_of(given) is Device.ACCELERATOR
        if node is not self._state.discarded and any(
            self._state.is_on_device(leaf) for v in given for leaf in leaves(v)
        ):
            self._state.queue("model", node)
        elif on_device:
            self._state.do(node)  # which may take long
        return tensor(Device.ACCELERATOR, sure=False) if on_device else UNKNOWN

    def _call_instance(
        self, function: Value, args: list[Value], named: dict[str, Value], node: ast.AST, scope: Scope
    ) -> Value:
        classes = self._engine.classes
        if not classes.is_module(function):
            method = classes.method(function, "__call__") or classes.method(function, "forward")
            return self.call(method, args, named, node, scope) if method is not None else UNKNOWN
        self._state.queue("model", node)
        forward = classes.method(function, "forward")
        outside, self._state.in_model = self._state.in_model, True
        try:
            found = self.call(forward, args, named, node, scope) if forward is not None else UNKNOWN
        finally:
            self._state.in_model = outside
        device = device_of([*args, *named.values()])
        is_known = found.kind not in (Kind.UNKNOWN, Kind.CONSTANT)
        return found if is_known else tensor(device or Device.ACCELERATOR, sure=False)

    # -- functions of the project ------------------------------------------------------------------

    def invoke(self, function: Function, args: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        """The result of a function, followed once for each kind of arguments; an argument that it gives back is one."""
        if not self._parameters.takes(function, args):
            return UNKNOWN
        if self._state.depth > _DEEP:
            self._state.partial.add(function.node)
            return UNKNOWN
        names = self._parameters.bind(function, args, named)
        frame = self._frame(function, names, node)
        self._state.called(frame, "call", node)
        self.reached.add(function.node)
        if function.scope.function is not None:
            self.closures.add(function.scope)
        if frame.active:
            self._state.queued.wait()
            return frame.result or UNKNOWN
        given = frame.given or names
        if function.scope.module.library:
            found = self._enter(frame, function, given, node)
        else:
            found = self._result(frame, function, given)
        return names.get(frame.gives, found)

    def _enter(self, frame: Frame, function: Function, names: dict[str, Value], node: ast.AST) -> Value:
        """The result of a function of a stub."""
        entry, caller = self._state.entry, self._state.frame.module
        if not caller.library:
            self._state.entry = caller.path, node
        if self._state.entry is not None:
            frame.entry = self._state.entry[0], getattr(self._state.entry[1], "lineno", 0)
        try:
            return self._result(frame, function, names)
        finally:
            self._state.entry = entry

    def _result(self, frame: Frame, function: Function, names: dict[str, Value]) -> Value:
        most = _ASSUMED_EVALUATIONS if frame.given else _EVALUATIONS * (1 + frame.grows)
        usual = frame.option is not None and self._state.option is None  # for the first time
        if frame.evaluations and not usual and (frame.evaluations >= most or self._is_valid(frame, function)):
            self._repeat(frame)
            return frame.result or UNKNOWN
        return self._follow(frame, function, names)

    def _frame(self, function: Function, names: dict[str, Value], node: ast.AST) -> Frame:
        first = next(iter(names.values()), None)
        own = first if function.class_ is not None and not function.kind else None
        receiver = own.target if own is not None and own.kind is Kind.INSTANCE else None
        within = id(function.frame) if function.scope.function is not None else self._entry(function, node)
        assumed = self._state.assuming and not function.scope.module.library
        names = as_taken(function, names) if assumed else names
        kinds = (
            kinds_of_data(function, names) if assumed else tuple((name, key(value)) for name, value in names.items())
        )
        place = (function.node, within, self._state.worker, self._state.default_device, receiver, kinds)
        frame = self._state.frames.get(place)
        if frame is None:
            peers = self._peers[function.node, within, assumed, self._state.default_device]
            frame = self._nearest(function, peers, receiver, kinds) or self._new(function, peers, receiver, kinds)
            frame.in_model = self._state.in_model or self._is_of_module(own)
            self._state.frames[place] = frame
            for name, value in names.items() if not assumed else ():
                held = self.passed.get((function.scope.module, name))
                self.passed[function.scope.module, name] = value if held is None else join(held, value)
        if assumed:
            widen(frame, names)
        return frame

    def _is_of_module(self, own: Value | None) -> bool:
        return own is not None and own.kind is Kind.INSTANCE and self._engine.classes.is_module(own)

    def _entry(self, function: Function, node: ast.AST) -> int:
        """Functions of stubs are followed for each call of the project, to which belongs what they do."""
        if not function.scope.module.library:
            return 0
        entry = self._state.entry
        return id(entry[1]) if self._state.frame.module.library and entry is not None else id(node)

    def _nearest(
        self, function: Function, peers: list[Frame], receiver: object, kinds: tuple[Hashable, ...]
    ) -> Frame | None:
        """The frame for other arguments of which most are the same, if there are too many kinds of them."""
        mine = [peer for peer in peers if peer.receiver is receiver] if receiver is not None else peers
        small = not isinstance(function.node, ast.Lambda) and len(function.node.body) <= _SMALL
        limit = (_KINDS if receiver is None else _KINDS_OF_METHODS) * (1 + small)
        if len(mine) >= limit or len(peers) >= _ALL_KINDS * (1 + 2 * small):
            self._state.partial.add(function.node)
            return max(mine or peers, key=lambda peer: sum(map(eq, kinds, peer.kinds)))
        return None

    def _new(self, function: Function, peers: list[Frame], receiver: object, kinds: tuple[Hashable, ...]) -> Frame:
        frame = Frame(function, function.scope.module, function.name)
        frame.kinds = kinds
        frame.receiver = receiver  # type: ignore[assignment]
        frame.worker = self._state.worker
        frame.quiet = self._engine.gradients.is_quiet(function)
        peers.append(frame)
        return frame

    def _is_valid(self, frame: Frame, function: Function) -> bool:
        """Whether nothing that the frame depends on has changed since it was followed."""
        same = frame.function is not None and frame.function.scope is function.scope
        if frame.widened or frame.grows or (not same and frame.evaluations < 2):
            return False
        if frame.valid_at == self._state.epoch:
            return True
        for (owner, name), expected in frame.reads.items():
            value = owner.fields.get(name)
            if (key(value, 1) if value is not None else None) != expected:
                return False
        frame.valid_at = self._state.epoch
        return True

    def _repeat(self, frame: Frame) -> None:
        """What the frame depends on and changes, the caller depends on and changes."""
        self._state.queued.wait()  # perhaps in there
        self._depend(frame)
        for (owner, name), value in frame.writes.items():
            self._state.set_field(owner, name, value)

    def _depend(self, frame: Frame) -> None:
        caller = self._state.frame
        for place, expected in frame.reads.items():
            if place not in caller.seen and len(caller.reads) < _READS:
                caller.seen.add(place)
                caller.reads[place] = expected

    def _follow(self, frame: Frame, function: Function, names: dict[str, Value]) -> Value:
        scope = Scope(dict(names), function.scope.module, function.scope)
        scope.function = function
        generates, scope.losses = self._about(function.node, scope.module)
        scope.yielded = [] if generates else None
        frame.function, frame.reads, frame.seen = function, {}, set()
        frame.active, frame.widened = True, False
        frame.evaluations += 1
        since, growths, with_ = self._state.changes, self._state.growths, self._state.called_with
        frame.option = self._state.called_with = self._state.option
        self._state.depth += 1
        try:
            with self._state.at(frame):
                self._state.spend()
                found = self._body(function, scope)
            if generates:
                yields = any(region.over_batches and region.yields for region in frame.regions.values())
                element = join_all(scope.yielded or ())
                found = Value(Kind.GENERATOR, "loader" if yields else None, element=element, target=frame)
            frame.result, frame.valid_at = found, -1
            frame.gives = next((name for name, value in names.items() if value is found), "")
        except (Exhausted, RecursionError):
            frame.result = frame.result or UNKNOWN
            self._state.partial.add(function.node)
            raise
        finally:
            self._state.depth -= 1
            self._state.called_with = with_
            frame.active = False
            frame.grows = self._state.growths > growths
        frame.writes = self._state.changed(since)
        self._depend(frame)
        self._state.frame.seen.update(frame.writes)
        return found

    def _body(self, function: Function, scope: Scope) -> Value:
        if isinstance(function.node, ast.Lambda):
            return self._engine.evaluate(function.node.body, scope)
        found: Value | None = None
        try:
            self._engine.statements.block(function.node.body, scope)
        except Returned as end:
            found = end.value
        except Left:
            found = None if scope.returned else UNKNOWN
        for value in scope.returned:
            found = join(found, value)
        return found if found is not None else NONE

    def _about(self, node: ast.AST, module: Module) -> tuple[bool, frozenset[str]]:
        """Whether a function is a generator, and the names that it calls ``backward`` on."""
        if node not in self._losses:
            told = any(word in module.content for word in _TELLING)
            self._losses[node] = yields_and_losses(node) if told else (False, frozenset())
        return self._losses[node]


_OF_OTHERS = frozenset({Kind.UNKNOWN, Kind.METHOD, Kind.LIBRARY})
_TELLING = (b"yield", b"backward", b".scale(", b"(loss")  # without which a file has neither generators nor losses
_LIBRARY_THINGS = frozenset({Kind.UNKNOWN, Kind.OPTIMIZER, Kind.LIBRARY_MODULE, Kind.SUPER})
