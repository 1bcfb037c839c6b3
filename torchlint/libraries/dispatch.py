"""Which part follows a call of a library."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchlint.catalogue.views import JOINING
from torchlint.engine.arguments import Arguments
from torchlint.engine.frames import Function, Scope
from torchlint.engine.values import HANDLE, SPARSE, Device, Kind, Value, leaves, library, sequence, tensor
from torchlint.knowledge import following as known
from torchlint.knowledge.forms import BY_LIBRARY
from torchlint.knowledge.loaders import UNPINNABLE
from torchlint.knowledge.sample_files import DECODERS, FILE_DATASETS, HANDLES
from torchlint.libraries.builtins import Builtins
from torchlint.libraries.devices import Devices
from torchlint.libraries.loaders import Loaders, on_device
from torchlint.libraries.options import Options
from torchlint.libraries.others import Others
from torchlint.libraries.stub_files import StubFiles
from torchlint.libraries.stub_words import StubWords
from torchlint.libraries.tensors import Tensors
from torchlint.libraries.things import Things
from torchlint.libraries.torch_functions import TorchFunctions

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

# Functions of projects and of hydra that make an object of a class, or call a function, that is given by name.
_MAKES = re.compile(r"instan|construct|create|build|make|init")
_CALLS = re.compile(r"call|run")
_WRAPPER = "the wrapper of the model"
_DEEP = 3  # containers in arguments
_BACK = frozenset({"cpu", "numpy", "item", "tolist"})  # methods that bring results to the host


class Libraries:
    """Follows calls of libraries."""

    def __init__(self, engine: Engine, loaders: Loaders) -> None:
        self._engine = engine
        devices = Devices(engine)
        self._tensors = Tensors(engine, devices)
        self._options = Options(engine)
        self._builtins = Builtins(engine)
        self._torch = TorchFunctions(engine, devices, self._tensors, loaders)
        self._things = Things(engine, devices, loaders)
        self._others = Others(engine, StubWords(engine, devices, self._options), loaders, self._options)
        self._stubs = StubFiles(engine)

    def named(self, dotted: str) -> Value:
        """What a dotted name of a library stands for: a class or function of its stub, or only the name."""
        return self._stubs.find(dotted) or library(dotted)

    def call(self, function: Value, given: Arguments) -> Value:
        """What a function or method of a library gives."""
        if given.name in _BACK:
            self._engine.state.load("host", given.node)
        found = self._method(given) if function.kind is Kind.METHOD else self._function(function.detail, given)
        parts = (leaf.detail for value in given.values for leaf in leaves(value))
        if given.name in UNPINNABLE or (f"torch.{given.name}" in JOINING and SPARSE in parts):
            sure = found.kind is Kind.TENSOR and found.sure
            return tensor(found.device or Device.UNKNOWN, sure=sure, detail=SPARSE, origin=found.origin)
        return found

    def _function(self, dotted: str, given: Arguments) -> Value:
        top = dotted.partition(".")[0]
        if top == "builtins" and dotted != "builtins.__import__":
            return self._builtins.call(given)
        if dotted in DECODERS:
            self._engine.state.load("file", given.node)
        if dotted in FILE_DATASETS:
            return Value(Kind.DATASET, dotted, target=given.node)
        if dotted in HANDLES:
            return Value(Kind.UNKNOWN, HANDLE)
        found = self._torch.call(dotted, given) if top == "torch" else None
        return found if found is not None else self._others.call(dotted, given)

    def _method(self, given: Arguments) -> Value:
        receiver = given.receiver
        if receiver.kind is Kind.UNION:
            return self._engine.containers.each(receiver, lambda m: self._method(given._replace(receiver=m)))
        if receiver.kind is Kind.TENSOR:
            return self._tensors.method(given)
        if receiver.kind is Kind.PARSER:
            return self._options.method(given)
        return self._things.method(given)

    def module_result(self, module: Value, device: Device | None) -> Value:
        """What a module of a library gives."""
        name = module.detail.rpartition(".")[2]
        found = tensor(device or Device.ACCELERATOR, sure=module.detail.startswith("torch.nn"))
        if name in known.RECURRENT:
            return sequence([found, sequence([found, found]) if name == "LSTM" else found])
        return found

    def scattered(
        self, args: list[Value], named: dict[str, Value], node: ast.AST, scope: Scope
    ) -> tuple[list[Value], dict[str, Value]]:
        """What a module gets from its wrapper that moves its arguments to the device."""
        given = leaves(sequence([*args, *named.values()]), _DEEP)
        origins = [leaf.origin for leaf in given if leaf.kind is Kind.TENSOR and leaf.device is Device.HOST]
        if origins:
            batch = next((origin for origin in origins if origin is not None and origin.kind == "batch"), origins[0])
            self._engine.state.happen(node, scope, BY_LIBRARY, batch, name=_WRAPPER)
        return list(map(on_device, args)), {name: on_device(value) for name, value in named.items()}

    def parameter(self, name: str, default: Value) -> Value:
        """A parameter with a default, which is an option of whoever calls the function."""
        found = self._options.option(name, default)
        return found.assumed() if found.option is not None and not found.option.given else found

    def given(self, name: str) -> Value | None:
        """A parameter that a command line fills, if the configuration says its value."""
        return self._options.given(name)

    def filled(self, arg: ast.arg, function: Function) -> Value:
        """A parameter without a default that no call passes: a command line fills it."""
        return self._options.filled(arg, function)

    def run(self, command: Value) -> Value:
        """What a function gives that a command line calls."""
        return self._options.of_function(command, command.target.node, command.target.scope)

    # -- objects by name ---------------------------------------------------------------------------

    def configured(self, found: Value, function: Value, given: Arguments) -> Value:
        """What is made from a dotted name in an argument."""
        called = str(function.detail)
        for value in [*given.values[:1], *given.named.values()]:
            target = self._by_name(value, given)
            if target is None:
                continue
            makes = target.kind is Kind.CLASS and _MAKES.search(called)
            if makes or (target.kind is Kind.FUNCTION and _CALLS.search(called)):
                return self._engine.call(target, given.values[1:], {}, given.node, given.scope)
            return target
        return found

    def _by_name(self, value: Value, given: Arguments) -> Value | None:
        """The class or function of the project that a dotted name means."""
        text = value.detail if value.kind is Kind.CONSTANT else None
        if not isinstance(text, str) or not re.fullmatch(r"\w+(\.\w+)+", text):
            return None
        return self._engine.named(text, given.scope.module)
