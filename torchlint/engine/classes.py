"""Classes of the project: their bases, methods and objects."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from torchlint.engine.arguments import OTHERS
from torchlint.engine.containers import BATCHES
from torchlint.engine.frames import Class, Object, Scope
from torchlint.engine.state import Left, Returned
from torchlint.engine.union import join_all
from torchlint.engine.values import NUMBER, TEXT, UNKNOWN, Device, Kind, Value, collection, tensor
from torchlint.knowledge import following as known

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_OBJECTS = 24  # of a class; further ones share a few


class Classes:
    """Resolves bases and methods, makes objects, and applies decorators."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state
        self.all: list[Class] = []
        self._objects: dict[object, Object] = {}
        self._assumed: dict[Class, Value] = {}

    # -- bases and methods -------------------------------------------------------------------------

    def lineage(self, class_: Class) -> tuple[tuple[Class, ...], frozenset[str]]:
        """A class and its bases in the project, in the order of lookup; and its bases in libraries, dotted."""
        if class_.lineage is None:
            class_.lineage = (class_,), frozenset()  # while its bases are looked up
            order: list[Class] = []
            libraries: set[str] = set()
            self._collect(class_, order, libraries)
            class_.lineage = tuple(order), frozenset(libraries)
        return class_.lineage

    def _collect(self, class_: Class, order: list[Class], libraries: set[str]) -> None:
        order.append(class_)
        for base in class_.node.bases:
            for value in self._engine.expressions.safely(base, class_.scope).members:
                if value.kind is Kind.CLASS and value.target not in order:
                    if value.target.scope.module.library:
                        libraries.add(f"{value.target.scope.module.name}.{value.target.node.name}")
                    self._collect(value.target, order, libraries)
                elif value.kind is Kind.LIBRARY:
                    libraries.add(value.detail)

    def libraries_of(self, value: Value) -> frozenset[str]:
        """The bases in libraries of an object."""
        class_ = value.target.class_
        return self.lineage(class_)[1] if class_ is not None else frozenset()

    def method(self, owner: Value, name: str) -> Value | None:
        """A method of an object, bound; or what its class has under this name."""
        class_ = owner.target.class_
        for each in self.lineage(class_)[0] if class_ is not None else ():
            found = each.fields.get(name)
            if found is not None:
                return self._bound(found, name, owner)
        return None

    def _bound(self, found: Value, name: str, owner: Value) -> Value:
        if found.kind is not Kind.FUNCTION or found.target.kind == "static":
            return found
        receiver = owner if found.target.kind != "class" else Value(Kind.CLASS, target=owner.target.class_)
        return Value(Kind.FUNCTION, name, target=found.target, receiver=receiver)

    def is_module(self, value: Value) -> bool:
        """Whether an object is an ``nn.Module``."""
        return value.target.class_ is not None and self.makes_modules(value.target.class_)

    def makes_modules(self, class_: Class) -> bool:
        """Whether the objects of a class are modules; those of an unknown library are, with a forward."""
        order, libraries = self.lineage(class_)
        computes = any("forward" in each.fields for each in order)
        bases = (name for name in libraries if name.startswith(known.MODULE_BASES) or (computes and _is_foreign(name)))
        return any(self._engine.libraries.named(name).kind is Kind.LIBRARY for name in bases)  # and no class of a stub

    # -- objects -----------------------------------------------------------------------------------

    def instantiate(
        self, class_: Class, args: list[Value], kwargs: dict[str, Value], node: ast.AST, scope: Scope
    ) -> Value:
        """An object of a class, constructed."""
        order, libraries = self.lineage(class_)
        if any(name.endswith("Enum") for name in libraries):
            return TEXT
        made = self._allocate(class_, node)
        value = Value(Kind.INSTANCE, class_.node.name, target=made)
        construct = self.method(value, "__init__")
        if construct is not None:
            self._engine.call(construct, args, kwargs, node, scope)
        elif _is_mapping(libraries, order):
            return Value(Kind.DICT, fields=dict(kwargs))
        else:
            self._fill(made, order, args, kwargs)
        if self._is_loader(order, libraries):
            dataset = made.fields.get("dataset") or (args[0] if args else kwargs.get("dataset", UNKNOWN))
            named = kwargs if construct is None else {**kwargs, OTHERS: UNKNOWN}
            batch = made.fields.get(BATCHES) or self._engine.loaders.batch(dataset, named, node, scope)
            value = Value(Kind.LOADER, element=batch, fields=dict(kwargs), target=made)
        if self._state.assuming:
            self._assumed[class_] = value
        return value

    def assumed(self, class_: Class) -> Value:
        """The object on which methods are called by assumption: as its users make it, or without arguments."""
        if class_ not in self._assumed:
            making = self._state.new_frame(class_.scope.module, "<made>")
            making.assumed = True
            with self._state.at(making):
                return self.instantiate(class_, [], {}, class_.node, class_.scope)
        return self._assumed[class_]

    def objects_of(self, class_: Class) -> Value | None:
        """The objects of a class that have been made; None if there are none."""
        every = dict.fromkeys(made for made in self._objects.values() if made.class_ is class_)
        return join_all(Value(Kind.INSTANCE, class_.node.name, target=made) for made in every) if every else None

    def _fill(self, made: Object, order: tuple[Class, ...], args: list[Value], kwargs: dict[str, Value]) -> None:
        """The fields of a dataclass or named tuple, from its arguments."""
        names = [
            statement.target.id
            for each in reversed(order)
            for statement in each.node.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        ]
        for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
            self._state.set_field(made, name, value)

    def _is_loader(self, order: tuple[Class, ...], libraries: frozenset[str]) -> bool:
        derived = any(known.LOADER.search(name.rpartition(".")[2]) for name in libraries)
        return derived and not any("__iter__" in each.fields for each in order)

    def _allocate(self, class_: Class, node: ast.AST) -> Object:
        """One object for each place of creation and each owner, up to a number; in a stub, for each call of it.

        Where it is assumed that something calls what is followed, all objects of a class are one.
        """
        entry = self._state.entry if self._state.frame.module.library else None
        place: object = (node, class_, self._state.frame.receiver, entry)
        if self._state.assuming and not class_.scope.module.library:
            place = class_
        found = self._objects.get(place)
        if found is not None:
            found.option = found.option and self._state.option
            return found
        class_.created += 1
        shared = (class_, class_.created % 4) if class_.created > _OBJECTS else place
        found = self._objects.get(shared)
        if found is None:
            found = self._objects[shared] = Object(class_, node)
            found.option = self._state.option
            if any(name.startswith("torch.optim") for name in self.lineage(class_)[1]):
                _fill_optimizer(found)
        self._objects[place] = found
        return found

    def namespace(self, key: object) -> Object:
        """An object without a class, made once for a key."""
        return self._objects.setdefault(key, Object(None))

    # -- decorators --------------------------------------------------------------------------------

    def decorated(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, value: Value, scope: Scope
    ) -> Value:
        """Decorators of the project run, as registries and wrappers do; those of libraries are looked through."""
        for decorator in reversed(node.decorator_list):
            name = _last_name(decorator)
            if name in _KINDS and value.kind is Kind.FUNCTION:
                value.target.kind = _KINDS[name]
                continue
            if name == "setter":
                return value
            applied = self._applied(decorator, value, scope)
            if applied is not None:
                value = applied
        return value

    def _applied(self, decorator: ast.expr, value: Value, scope: Scope) -> Value | None:
        function = self._engine.expressions.safely(decorator, scope)
        if function.kind not in (Kind.FUNCTION, Kind.INSTANCE, Kind.CLASS, Kind.PARTIAL):
            return None
        if function.kind is Kind.INSTANCE and self.is_module(function):
            return None
        try:
            made = self._engine.call(function, [value], {}, decorator, scope)
        except (Returned, Left):
            return None
        of_library = made.kind is Kind.INSTANCE and made.target.class_ and made.target.class_.scope.module.library
        replaces = value.kind is Kind.FUNCTION and (made.kind is Kind.CLASS or of_library)
        return made if made.kind is value.kind or replaces else None


def _is_foreign(name: str) -> bool:
    """Whether a class is neither of torch nor of Python itself."""
    top = name.partition(".")[0]
    return top not in ("torch", "builtins") and top not in sys.stdlib_module_names


def _fill_optimizer(made: Object) -> None:
    """The parameters and the state of an optimizer of the project, as ``torch.optim.Optimizer`` has them."""
    parameter = tensor(Device.ACCELERATOR)
    group = Value(Kind.DICT, fields={"params": collection(parameter)}, element=NUMBER)
    made.fields["param_groups"] = collection(group)
    made.fields["state"] = Value(Kind.DICT, element=Value(Kind.DICT, fields={"step": NUMBER}, element=parameter))


def _is_mapping(libraries: frozenset[str], order: tuple[Class, ...]) -> bool:
    annotated = any(isinstance(statement, ast.AnnAssign) for each in order for statement in each.node.body)
    return not annotated and any("dict" in name.lower() for name in libraries)


def _last_name(node: ast.expr) -> str:
    function = node.func if isinstance(node, ast.Call) else node
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


_KINDS = {
    "staticmethod": "static",
    "classmethod": "class",
    "property": "property",
    "cached_property": "property",
    "getter": "property",
}
