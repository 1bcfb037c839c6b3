"""Where a run begins: the programs and commands of a project; by assumption, functions that none of them reaches."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from torchlint.engine.entered import (
    LOADER_HOOKS,
    assumed_argument,
    called_names,
    calls_any,
    copies_anywhere,
    generates,
    is_called_in_models,
    is_definition,
    is_stepped,
    is_tensor,
    is_test_function,
    is_whole_step,
    makes_batches,
    positional,
    repeats,
    required,
    returns_at_once,
)
from torchlint.engine.frames import Class, Function, Scope
from torchlint.engine.hot import Hot
from torchlint.engine.values import UNKNOWN, Device, Kind, Value, constant
from torchlint.knowledge import following as known
from torchlint.program.modules import Module, is_main_guard

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_FOR_PROGRAMS, _FOR_MODULES = 0.6, 0.8  # of the budget
_ONE_PROGRAM, _ONE_ROOT = 0.4, 0.05
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MOVING = (b"non_blocking", b"cpu", b".item()", b".tolist()")  # one of which what moves mentions
_LAYERS = 3  # callers of callers of functions that go backward
# Names under which anything may be called: they say nothing about what calls them.
_COMMON = frozenset("step forward run train update backward fit main __init__ __call__ apply".split())
_TRAINING = (
    *(b"oader", b"def __getitem__(", b"collate", b"_step(", b".step(", b"backward(", b"def forward("),
    *(b"def train_dataloader", b"def compute_loss", b"Optimizer)", b"non_blocking"),
    *(name.encode() for name in sorted(known.CALLED_IN_STEPS)),
)


class Root(NamedTuple):
    """A function that may be entered by assumption. ``stepped``: a framework calls it in every step.

    ``computes``: a module computes something of tensors with it.
    """

    function: Function
    class_: Class | None
    stepped: bool
    computes: bool = False


class Roots:
    """Follows programs, and then what none of them reaches."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state
        self._statements = engine.statements
        self._configured = Hot(engine)

    def follow(self) -> None:
        """Follow everything, as far as the budget goes."""
        self._programs()
        named = self._engine.program.world.programs is not None
        if not named:
            self._modules()
        self._commands()
        self._patches()
        self._hot()
        roots = list(self._roots())
        self._state.assuming = True
        trains = any(kind == "backward" for frame in self._state.frames.values() for kind, _ in frame.marks)
        self._created(roots)
        self._state.reached = frozenset(self._engine.calls.reached)
        if named:
            self._leave_out()
            self._modules()
            roots = list(self._roots())
        functions = [root.function for root in roots if not self._is_reached(root)]
        patched = [function for _, function in self._state.patches]
        generating: set[ast.AST] = {function.node for function in functions if generates(function.node)}
        names = self._loading()
        loading: set[ast.AST] = {function.node for function in functions if calls_any(function, names)}
        for layer in (*self._layers(functions), loading, generating):
            for root in roots:
                if root.function.node in layer and not self._is_reached(root):
                    self._enter(root, stepped=is_whole_step(root.function.node))
            if layer is loading:
                self._run_by_frameworks()
        for root in roots:
            if root.computes and not root.stepped and not self._is_reached(root):
                self._enter(root, stepped=not repeats(root.function.node))
        for root in roots:
            patches = root.function in patched  # a method of a module of a library, which calls it
            if root.stepped and (patches or not self._is_reached(root) or not trains):
                self._enter(root, stepped=True)
        self._wherever(roots)
        self._others(roots)

    def _others(self, roots: Sequence[Root]) -> None:
        """What repeats something, or what loaders and frameworks call in every step, going by its name."""
        for root in roots:
            name = root.function.name
            hot = root.class_ is not None and name in known.CALLED_FOR_BATCHES
            asked = name in known.COLLATING or name in LOADER_HOOKS
            if not self._is_reached(root) and (hot or asked or repeats(root.function.node)):
                self._enter(root, stepped=hot, guessed=True)

    def _loading(self) -> set[str]:
        """The names of the classes of loaders, and of those of frameworks that iterate over loaders."""
        every = [(class_, self._engine.classes.lineage(class_)[1]) for class_ in self._engine.classes.all]
        loaders = {class_.node.name for class_, bases in every if any(map(makes_batches, bases))}
        running = {class_.node.name for class_, _ in every if class_.scope.module.library and "fit" in class_.fields}
        return {"DataLoader", *loaders, *running}

    def _run_by_frameworks(self) -> None:
        """Objects of classes of frameworks that make loaders which nothing has asked them for."""
        for class_ in list(self._engine.classes.all):
            own = class_.scope.module
            made = [v.target for v in class_.fields.values() if is_definition(v) and v.target.name in LOADER_HOOKS]
            left = [function for function in made if function.node not in self._engine.calls.reached]
            if left and not own.is_test and not own.library and self._state.work < self._state.total:
                self._within(_ONE_ROOT, left[0], partial(self._run_by_framework, class_))

    def _run_by_framework(self, class_: Class) -> None:
        frame = self._state.new_frame(class_.scope.module, "<assumed>")
        frame.assumed = True
        with self._state.at(frame):
            made = self._engine.classes.assumed(class_)
            run = self._engine.classes.method(made, "_assumed") if made.kind is Kind.INSTANCE else None
            if run is not None and run.target.scope.module.library:
                self._engine.call(run, [], {}, class_.node, class_.scope)

    def _wherever(self, roots: Sequence[Root]) -> None:
        """Enter functions that do what is wrong wherever it stands: by their words, since nothing calls them."""
        for root in roots:
            node, content = root.function.node, root.function.scope.module.content
            if not any(word in content for word in _MOVING) or self._is_reached(root) or is_test_function(node):
                continue
            if copies_anywhere(node):
                self._enter(root, stepped=False)
            elif any(map(returns_at_once, ast.walk(node))):
                self._enter(root._replace(computes=True), stepped=False)

    def _enter(self, root: Root, *, stepped: bool, guessed: bool = False) -> None:
        function = root.function
        if self._state.work >= self._state.total:
            self._state.cut[function.scope.module].add(function.node)
        else:
            self._within(_ONE_ROOT, function, partial(self._assume, root, stepped=stepped, guessed=guessed))

    def _within(self, share: float, what: Function | Module, act: Callable[[], object]) -> None:
        module, node = (what, what.tree) if isinstance(what, Module) else (what.scope.module, what.node)
        self._state.within(int(self._state.total * share), module, node, act)

    def _is_reached(self, root: Root) -> bool:
        calls, scope = self._engine.calls, root.function.scope
        return scope in calls.closures if scope.function is not None else root.function.node in calls.reached

    # -- programs ----------------------------------------------------------------------------------

    def _programs(self) -> None:
        for module in self._engine.program.programs():
            left = self._state.total * _FOR_PROGRAMS - self._state.work
            guards = [statement for statement in module.tree.body if is_main_guard(statement)]
            if module.loaded and not guards:
                continue
            if left <= 0:
                self._state.cut[module].add(module.tree)
                continue
            share = min(_ONE_PROGRAM, left / self._state.total)
            self._within(share, module, partial(self._program, module, guards))

    def _program(self, module: Module, guards: list[ast.stmt]) -> None:
        self._statements.load(module)
        module.names["__name__"] = constant("__main__")
        with self._state.at(self._engine.frame_of(module)):
            for statement in guards:
                self._statements.block(getattr(statement, "body", ()), Scope(module.names, module))

    def _commands(self) -> None:
        """Functions that the command line calls, by decorators or as the scripts that the project declares."""
        program, commands = self._engine.program, self._state.commands
        for script in program.world.scripts:
            name, _, function = script.partition(":")
            module = program.find(name)
            if module is not None:
                self._within(_ONE_PROGRAM, module, partial(self._statements.load, module))
                declared = module.names.get(function, UNKNOWN)
                commands += [declared] if is_definition(declared) else []
        for command in commands:  # which grows
            left = self._state.work < self._state.total * _FOR_MODULES
            if left and command.target.node not in self._engine.calls.reached:
                self._within(_ONE_PROGRAM, command.target, partial(self._engine.libraries.run, command))

    def _leave_out(self) -> None:
        """Note what would be programs if the configuration did not name others."""
        program = self._engine.program
        programs = program.programs()
        for module in program.modules.values():
            if module.is_program and module not in programs:
                body = [statement for statement in module.tree.body if not isinstance(statement, _DEFINITIONS)]
                self._state.left_out[module] = [s for s in body if not module.loaded or is_main_guard(s)]

    def _created(self, roots: Sequence[Root]) -> None:
        """What frameworks call in every step, of objects that programs make."""
        for root in roots:
            if root.stepped and root.class_ is not None and root.class_.created and not self._is_reached(root):
                self._enter(root, stepped=True)

    def _patches(self) -> None:
        """Functions that programs put into libraries, which call them."""
        for _, function in self._state.patches:
            if function.node not in self._engine.calls.reached:
                self._within(_ONE_PROGRAM, function, partial(self._call_back, function))

    def _hot(self) -> None:
        """What the configuration calls hot, and all that calls in there may mean."""
        hot = self._configured
        self._load_with(hot.words())
        for function, class_ in list(hot.functions()):
            with self._state.at(hot.frame(function, class_)):
                self._within(_ONE_PROGRAM, function, partial(self._run, function, class_, None, {}))
        for calls in hot.rounds():
            self._load_with({f"def {call.name}(".encode() for call in calls})
            for call in calls:
                for function, class_ in hot.candidates(call):
                    with self._state.at(call.frame, call.region):
                        act = partial(self._run, function, class_, call.args, call.named)
                        self._within(_ONE_ROOT, function, act)

    def _load_with(self, words: Collection[bytes]) -> None:
        """Load the modules that have one of these words."""
        for module in self._engine.program.modules.values() if words else ():
            if not module.loaded and not module.is_test and any(word in module.content for word in words):
                self._within(_ONE_PROGRAM / 4, module, partial(self._statements.load, module))

    def _run(self, function: Function, class_: Class | None, args: list[Value] | None, named: dict[str, Value]) -> None:
        """Call a function with these arguments, or with assumed ones."""
        own = [self._engine.classes.assumed(class_)] if class_ is not None and function.kind != "static" else []
        if args is None:
            assumed = (assumed_argument(arg, function, stepped=True) for arg in required(function)[len(own) :])
            args = [UNKNOWN if value.kind is Kind.TENSOR and not value.sure else value for value in assumed]
        self._engine.calls.invoke(function, [*own, *args], named, function.node)

    def _call_back(self, function: Function) -> None:
        with self._state.at(self._engine.frame_of(function.scope.module)):
            self._engine.calls.invoke(function, [UNKNOWN] * len(required(function)), {}, function.node)

    def _modules(self) -> None:
        """The bodies of files that may hold a step, although no program imports them.

        Nothing is known to run them if the configuration names the programs.
        """
        for module in self._engine.program.modules.values():
            content = module.content
            relevant = any(word in content for word in _TRAINING) or known.RETURNING.search(content)
            if not relevant or module.is_test or module.loaded:
                continue
            if self._state.work >= self._state.total * _FOR_MODULES:
                self._state.cut[module].add(module.tree)
                continue
            if self._state.assuming:
                self._engine.frame_of(module).assumed = True
            self._within(_ONE_PROGRAM / 4, module, partial(self._statements.load, module))

    # -- functions that nothing reaches ------------------------------------------------------------

    def _roots(self) -> Iterator[Root]:
        for class_ in reversed(self._engine.classes.all):  # those that use others before these
            if not class_.scope.module.is_test and not class_.scope.module.library:
                libraries = self._engine.classes.lineage(class_)[1]
                is_module = self._engine.classes.makes_modules(class_)
                for name, value in list(class_.fields.items()):
                    if is_definition(value):
                        stepped = is_stepped(name, libraries, is_module=is_module)
                        tensors = (is_tensor(arg, value.target) for arg in positional(value.target))
                        takes = is_module and name[0] != "_" and any(tensors)
                        yield Root(value.target, class_, stepped, stepped or takes)
        yield from (Root(function, None, is_called_in_models(name)) for name, function in self._state.patches)
        for module in self._engine.program.modules.values():
            if module.loaded and not module.is_test:
                own = [v for v in module.names.values() if is_definition(v) and v.target.scope.module is module]
                yield from (Root(value.target, None, False) for value in own)

    def _layers(self, functions: Sequence[Function]) -> list[set[ast.AST]]:
        """Functions that go backward, and before them those that call them, judging by names; outermost first."""
        names: dict[ast.AST, set[str]] = {}

        def calling(wanted: set[str]) -> set[ast.AST]:
            words = [name.encode() for name in wanted]
            for function in functions:
                mentioned = any(word in function.scope.module.content for word in words)
                if mentioned and function.node not in names:
                    names[function.node] = called_names(function.node)
            return {node for node, called in names.items() if called & wanted}

        layer = calling({"backward", "manual_backward"})
        layers, done = [layer], set(layer)
        for _ in range(_LAYERS):
            layer = calling({getattr(node, "name", "") for node in layer} - _COMMON) - done
            done |= layer
            layers += [layer] if layer else []
        return layers[::-1]

    def _assume(self, root: Root, *, stepped: bool, guessed: bool) -> None:
        """Enter a function with assumed arguments."""
        function, module = root.function, root.function.scope.module
        args: list[Value] = []
        if root.class_ is not None and function.kind != "static":
            made = self._engine.classes.assumed(root.class_)
            if made.kind is not Kind.INSTANCE:
                return
            args.append(made)
        frame = self._state.new_frame(module, "<assumed>")
        frame.worker = function.name in known.COLLATING or (
            root.class_ is not None and function.name in known.CALLED_FOR_SAMPLES
        )
        frame.assumed, frame.guessed = True, guessed
        if stepped and not frame.worker:
            frame.assumes_step = "inference" if function.name in known.EVALUATING else "training"
        self._state.worker = frame.worker
        with self._state.at(frame):
            args += [
                self._argument(arg, function, (stepped or root.computes) and not guessed)
                for arg in required(function)[len(args) :]
            ]
            self._engine.calls.invoke(function, args, {}, function.node)

    def _argument(self, arg: ast.arg, function: Function, computes: bool) -> Value:
        """What is assumed to be passed: what programs pass to other functions of the file by this name, if they do."""
        known_ = self._engine.calls.passed.get((function.scope.module, arg.arg), UNKNOWN)
        on_device = known_.kind is Kind.TENSOR and known_.sure and known_.device is not Device.HOST
        return known_ if on_device else assumed_argument(arg, function, computes)
