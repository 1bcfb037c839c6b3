"""Stubs: what a library does with the code of a program, written in Python and followed like a file of the program."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH118, PTH120, PTH123
from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from torchlint.engine.values import Kind, Value
from torchlint.program.modules import Module

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_FOLDER = os.path.join(os.path.dirname(__file__), "stubs")


class Stub(NamedTuple):
    """A file of the folder, the package whose names it defines, and what people call the library.

    ``usual`` is the class that stands for classes of the library that the file does not define.
    """

    file: str
    package: str
    library: str
    usual: str = ""


class StubFiles:
    """The stubs of libraries, read when a program names something of them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._modules: dict[str, Module] = {}

    def find(self, dotted: str) -> Value | None:
        """The class or function of a stub that a dotted name stands for; None if there is none.

        Libraries export the same thing from several of their modules, so the package and the last name decide.
        """
        package, _, rest = dotted.partition(".")
        stub, name = _STUBS.get(package), rest.rpartition(".")[2]
        if stub is None or not name or name.startswith("_"):
            return None
        module = self._module(stub)
        found: Value | None = module.names.get(name)
        if found is None and stub.usual and name[:1].isupper():
            found = module.names.get(stub.usual)
        return found if found is not None and _module_of(found) is module else None

    def _module(self, stub: Stub) -> Module:
        module = self._modules.get(stub.file)
        if module is None:
            with open(os.path.join(_FOLDER, f"{stub.file}.pyi"), "rb") as file:
                content = file.read()
            module = self._modules[stub.file] = Module(f"<{stub.package}>", stub.package, content, stub.library)
            self._engine.statements.load(module)
        return module


def _module_of(value: Value) -> Module | None:
    """The module that defines a class or function, or the class of an object."""
    definition = value.target.class_ if value.kind is Kind.INSTANCE else value.target
    return definition.scope.module if value.kind in (Kind.CLASS, Kind.FUNCTION, Kind.INSTANCE) else None


_LIGHTNING = Stub("lightning", "pytorch_lightning", "Lightning")
_STUBS = {
    "pytorch_lightning": _LIGHTNING,
    "lightning": _LIGHTNING,
    "lightning_fabric": _LIGHTNING,
    "transformers": Stub("transformers", "transformers", "the Trainer of transformers"),
    "trl": Stub("trl", "trl", "the trainers of TRL"),
    "accelerate": Stub("accelerate", "accelerate", "Accelerate"),
    "ignite": Stub("ignite", "ignite", "Ignite"),
    "poutyne": Stub("poutyne", "poutyne", "poutyne"),
    "absl": Stub("absl", "absl", "Abseil"),
    "click": Stub("click", "click", "Click"),
    "fire": Stub("fire", "fire", "Fire"),
    "typer": Stub("typer", "typer", "Typer"),
    "torchmetrics": Stub("torchmetrics", "torchmetrics", "torchmetrics", usual="Metric"),
}
