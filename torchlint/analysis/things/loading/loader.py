"""Data loaders: the calls that construct them, and their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.values.mappings import Mappings
from torchlint.knowledge import loaders as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Loader:
    """A call that constructs a ``DataLoader``, or a subclass that forwards its arguments.

    ``name`` is the qualified name of the library's class, which for a subclass in the file (``derived``) is that of its
    base. ``opaque`` is true if unknown ``*args`` or ``**kwargs`` may contain any argument.
    """

    def __init__(self, module: SourceModule, call: cst.Call, name: str, *, derived: bool) -> None:
        self._module = module
        self.call = call
        self.name = name
        self.derived = derived
        self._arguments, self.opaque = module.shared(Mappings).arguments(call, known.PARAMETERS)

    def arguments(self, parameter: str) -> list[cst.BaseExpression]:
        """The expressions that a parameter may get, through ``**kwargs`` too; empty if it has its default value."""
        return self._arguments.get(parameter, [])

    @property
    def default_collation(self) -> bool:
        """Whether no ``collate_fn`` is given, so that batches are new tensors in standard containers."""
        return not self.opaque and all(literal(value) is None for value in self.arguments("collate_fn"))


class DataLoaders:
    """The data loaders of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._found: dict[cst.Call, Loader | None] = {}

    def all(self) -> list[Loader]:
        """The loaders that the file constructs, in source order."""
        calls = self._module.nodes_of(cst.Call, self._module.aliases(known.CLASS_NAMES))
        return [loader for call in calls if (loader := self.at(call)) is not None]

    def at(self, call: cst.Call) -> Loader | None:
        """The loader that a call constructs, or None."""
        if call not in self._found:
            self._found[call] = self._loader_made_by(call)
        return self._found[call]

    def _loader_made_by(self, call: cst.Call) -> Loader | None:
        name = self._module.qualified(call.func)
        if name in known.LOADERS:
            return Loader(self._module, call, str(name), derived=False)
        owner = self._module.value(call.func).node
        if not isinstance(owner, cst.ClassDef):
            return None
        base = next((base for base in self._module.classes.bases(owner) if base in known.LOADERS), None)
        if base is None:
            return None
        constructor = self._module.classes.method(owner, "__init__")
        forwards = constructor is None or self._forwards_arguments(constructor)
        return Loader(self._module, call, base, derived=True) if forwards else None

    def _forwards_arguments(self, constructor: cst.FunctionDef) -> bool:
        """Whether a constructor is ``def __init__(self, *args, **kwargs): super().__init__(*args, **kwargs)``."""
        params = constructor.params
        if len(params.params) != 1 or params.kwonly_params or not isinstance(params.star_arg, cst.Param):
            return False
        if params.star_kwarg is None:
            return False
        for name in (params.star_arg.name, params.star_kwarg.name):
            binding = self._module.binding_of(name)
            uses = self._module.uses(binding) if binding else []
            unpacked = [isinstance(p := self._module.parent(use), cst.Arg) and p.star != "" for use in uses]
            if unpacked != [True]:
                return False
        return True
