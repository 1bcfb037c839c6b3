"""LocalClasses defined in the file: bases, attributes and instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Path
from torchlint.analysis.scopes.names import canonical
from torchlint.analysis.syntax.calls import literal, method, positional
from torchlint.analysis.values.lattice import Device, Kind, Value, join
from torchlint.knowledge.tensors import MODULE_BASES, PARAMETERS

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values


class LocalClasses:
    """Queries on the classes defined in one module."""

    def __init__(self, values: Values) -> None:
        self._values, self._code = values, values.code
        self._assigned: dict[tuple[cst.ClassDef, str], list[tuple[cst.CSTNode, Path]]] = {}
        self._variables: dict[cst.ClassDef, dict[str, list[tuple[cst.CSTNode, Path]]]] = {}
        self._methods: dict[cst.ClassDef, dict[str, cst.FunctionDef]] = {}

    def bases(self, owner: cst.ClassDef) -> Iterator[str]:
        """The qualified names of all bases, including those of base classes in the file."""
        seen: set[cst.CSTNode] = set()
        stack = [owner]
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            for base in current.bases:
                name = self._code.qualified(base.value) or self._replaced(current, base.value)
                if name:
                    yield name
                value = self._values.value(base.value)
                if isinstance(value.node, cst.ClassDef):
                    stack.append(value.node)

    def _replaced(self, owner: cst.ClassDef, base: cst.BaseExpression) -> str | None:
        """The imported base of a class that takes its name, as in ``class Dataset(Dataset)``."""
        if not isinstance(base, cst.Name) or base.value != owner.name.value:
            return None
        before = self._code.definitions(base)
        imported = before[0] if len(before) == 1 and before[0].kind == "import" else None
        return canonical(imported.qualified) if imported is not None and imported.qualified else None

    def derives(self, owner: cst.ClassDef, names: Iterable[str]) -> bool:
        """Whether the class derives from one of these, directly or through classes of the file."""
        wanted = set(names)
        return any(base in wanted for base in self.bases(owner))

    def inherits(self, owner: cst.ClassDef, base: cst.ClassDef) -> bool:
        """Whether one of two classes of the file derives from the other."""
        return base in self._lineage(owner) or owner in self._lineage(base)

    def is_module(self, owner: cst.ClassDef) -> bool:
        """Whether the class derives from ``nn.Module`` or from one of torch's own modules."""
        return any(b in MODULE_BASES or b.startswith("torch.nn.") for b in self.bases(owner))

    def itself(self, owner: cst.ClassDef) -> Value:
        """The value of ``self`` in a method."""
        if self.is_module(owner):
            return Value(Kind.MODULE, Device.UNKNOWN, node=owner, source=owner.name.value)
        return Value(Kind.INSTANCE, node=owner, source=owner.name.value)

    def instance(self, owner: cst.ClassDef, call: cst.Call) -> Value:
        """The value of a call of the class."""
        if self.is_module(owner):
            return Value(Kind.MODULE, Device.CPU, node=owner, origin=call, source=owner.name.value)
        return Value(Kind.INSTANCE, node=owner, origin=call, source=owner.name.value)

    def method(self, owner: cst.ClassDef, name: str) -> cst.FunctionDef | None:
        """The method with this name in the class, or in a base class in the file."""
        for current in self._lineage(owner):
            if current not in self._methods:
                functions = [s for s in reversed(current.body.body) if isinstance(s, cst.FunctionDef)]
                self._methods[current] = {function.name.value: function for function in functions}
            if name in self._methods[current]:
                return self._methods[current][name]
        return None

    def _lineage(self, owner: cst.ClassDef) -> Iterator[cst.ClassDef]:
        seen: set[cst.CSTNode] = set()
        stack: list[cst.CSTNode | None] = [owner]
        while stack:
            current = stack.pop(0)
            if isinstance(current, cst.ClassDef) and current not in seen:
                seen.add(current)
                yield current
                stack += [self._values.value(base.value).node for base in current.bases]

    def reads(self, owner: cst.ClassDef, name: str) -> list[cst.Attribute]:
        """The reads of ``self.<name>`` in the methods of the class."""
        named = self._code.attributes_named(name, owner)
        return [n for n in named if isinstance(n.value, cst.Name) and n.value.value == "self"]

    def attribute(self, owner: cst.ClassDef, name: str) -> Value:
        """The join of everything assigned to the attribute in the class; a method with this name comes first."""
        found = self.method(owner, name)
        if found is not None:
            if any(self._code.qualified(d.decorator) == "builtins.property" for d in found.decorators):
                return self._values.return_value(found)
            return Value(Kind.FUNCTION, node=found, origin=found)
        return join(self._reached(value, path) for value, path in self.assignments(owner, name))

    def module_state(self, owner: cst.ClassDef, name: str) -> Value | None:
        """A parameter or buffer of a module: a tensor that is moved with the module."""
        if not self.is_module(owner):
            return None
        stored = [value for value, _ in self.assignments(owner, name)]
        if (stored and all(map(self._makes_state, stored))) or (not stored and name in self._buffers(owner)):
            origin = stored[0] if stored else None
            return Value(Kind.TENSOR, Device.VARIABLE, sure=True, origin=origin, source="state of a module")
        return None

    def is_state(self, owner: cst.ClassDef, name: str) -> bool:
        """Whether an attribute may be a parameter or buffer, which is moved with its module."""
        stored = (value for value, _ in self.assignments(owner, name))
        return any(map(self._makes_state, stored)) or name in self._buffers(owner)

    def _makes_state(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Call) and self._code.qualified(node.func) in PARAMETERS

    def _buffers(self, owner: cst.ClassDef) -> frozenset[str]:
        """The names that ``register_buffer`` is called with in the class."""
        calls = self._code.within(owner, cst.Call, frozenset(("register_buffer",)))
        names = (positional(call, 0) for call in calls if method(call) == "register_buffer")
        return frozenset(str(literal(name)) for name in names if name is not None)

    def _reached(self, node: cst.CSTNode, path: Path) -> Value:
        value = self._values.value(node)
        for step in path:
            value = value.at(step)
        return value

    def assignments(self, owner: cst.ClassDef, name: str) -> list[tuple[cst.CSTNode, Path]]:
        """Everything assigned to ``self.<name>`` or to the class variable, in the class and its bases.

        Each item is an expression and its unpacking path; an augmented assignment is represented by the statement
        itself, whose value is unknown.
        """
        found: list[tuple[cst.CSTNode, Path]] = []
        for current in self._lineage(owner):
            if (current, name) not in self._assigned:
                self._assigned[current, name] = list(self._collect(current, name))
            found += self._assigned[current, name]
        return found

    def _collect(self, owner: cst.ClassDef, name: str) -> Iterator[tuple[cst.CSTNode, Path]]:
        kinds: tuple[type[cst.CSTNode], ...] = (cst.Assign, cst.AnnAssign, cst.AugAssign)
        stores = [node for kind in kinds for node in self._code.with_key(kind, _stores, name, owner)]
        if len(stores) > 1:
            stores.sort(key=self._code.order)
        for node in stores:
            for target, value in _assigned(node):
                yield from ((value, path) for attribute, path in _attributes(target) if attribute == name)
        yield from self._variables_of(owner).get(name, ())

    def _variables_of(self, owner: cst.ClassDef) -> dict[str, list[tuple[cst.CSTNode, Path]]]:
        """The class variables: assignments to names in the class body."""
        if owner not in self._variables:
            found: dict[str, list[tuple[cst.CSTNode, Path]]] = {}
            for statement in owner.body.body:
                for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
                    for target, value in _assigned(small):
                        if isinstance(target, cst.Name):
                            found.setdefault(target.value, []).append((value, ()))
            self._variables[owner] = found
        return self._variables[owner]


def _stores(node: cst.CSTNode) -> dict[str, None]:
    """The attributes of ``self`` that an assignment sets."""
    return {attribute: None for target, _ in _assigned(node) for attribute, _ in _attributes(target)}


def _assigned(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """The targets of an assignment with their values."""
    if isinstance(node, cst.Assign):
        for target in node.targets:
            yield target.target, node.value
    elif isinstance(node, cst.AnnAssign) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, cst.AugAssign):
        yield node.target, node


def _attributes(target: cst.CSTNode, path: Path = ()) -> Iterator[tuple[str, Path]]:
    """The attributes of ``self`` in an assignment target, including tuple targets."""
    if target.__class__ is cst.Attribute:
        assert isinstance(target, cst.Attribute)
        if isinstance(target.value, cst.Name) and target.value.value == "self":
            yield target.attr.value, path
    elif target.__class__ is not cst.Name and isinstance(target, (cst.Tuple, cst.List)):
        for i, element in enumerate(target.elements):
            step = "*" if isinstance(element, cst.StarredElement) else i
            yield from _attributes(element.value, (*path, step))
