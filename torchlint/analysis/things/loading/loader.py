"""Data loaders: the calls that construct them, and their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import bind, literal
from torchlint.knowledge import loaders as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Loader:
    """A call that constructs a ``DataLoader``, or a subclass that forwards its arguments.

    ``name`` is the qualified name of the library's class, which for a subclass in the file (``derived``) is that of its
    base.
    """

    def __init__(self, call: cst.Call, name: str, *, derived: bool) -> None:
        self.call, self.name, self.derived = call, name, derived
        self._given = bind(call, known.PARAMETERS)

    def argument(self, parameter: str) -> cst.BaseExpression | None:
        """What the call passes for a parameter itself."""
        return self._given.get(parameter)

    @property
    def default_collation(self) -> bool:
        """Whether no ``collate_fn`` is given, so that batches are new tensors in standard containers."""
        given = self._given.get("collate_fn")
        return not self._given.opaque and (given is None or literal(given) is None)


class DataLoaders:
    """The data loaders that one module constructs, in source order."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        calls = module.nodes_of(cst.Call, module.aliases(known.CLASS_NAMES))
        self.all = [loader for call in calls if (loader := self._loader_made_by(call)) is not None]

    def _loader_made_by(self, call: cst.Call) -> Loader | None:
        name = self._module.qualified(call.func)
        if name in known.LOADERS:
            return Loader(call, str(name), derived=False)
        owner = self._module.value(call.func).node
        if not isinstance(owner, cst.ClassDef):
            return None
        base = next((base for base in self._module.classes.bases(owner) if base in known.LOADERS), None)
        if base is None:
            return None
        constructor = self._module.classes.method(owner, "__init__")
        forwards = constructor is None or self._forwards_arguments(constructor)
        return Loader(call, base, derived=True) if forwards else None

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
