"""What annotations say of values about which nothing else is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.engine.frames import Class, Object, Scope
from torchlint.engine.union import join_all
from torchlint.engine.values import (
    ELEMENT,
    FLAG,
    MASK,
    NUMBER,
    TEXT,
    UNKNOWN,
    Device,
    Kind,
    Value,
    leaves,
    sequence,
    tensor,
)
from torchlint.knowledge import following as known

if TYPE_CHECKING:
    from torchlint.engine.arguments import Arguments
    from torchlint.engine.protocol import Engine
    from torchlint.program.modules import Module

_PLAIN = {"int": NUMBER, "float": NUMBER, "bool": FLAG, "str": TEXT, "ndarray": Value(Kind.ARRAY)}
_LISTS = frozenset(
    "tuple Tuple list List Sequence Iterable Iterator set Set frozenset deque MutableSequence Collection".split()
)
_DICTS = frozenset("dict Dict Mapping MutableMapping OrderedDict defaultdict".split())
_WRAPPERS = frozenset("Annotated Final ClassVar Required NotRequired".split())


class Annotations:
    """Reads annotations."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state
        self._made: dict[Class, Value] = {}
        self._fields: dict[Class, dict[str, ast.expr]] = {}
        self._names: dict[Module, frozenset[str]] = {}

    def said(self, value: Value, arg: ast.arg, scope: Scope) -> Value:
        """What is passed to a parameter, as far as its name and its annotation say more of it, or something else."""
        if value.kind in (Kind.TENSOR, Kind.ARRAY):
            declared = self.value(arg.annotation, scope, arg.arg)
            other = declared.kind in (Kind.TENSOR, Kind.ARRAY) and declared.kind is not value.kind
            return declared if other else on_host(value, arg.arg)
        is_known = value.kind is not Kind.UNKNOWN or value.detail is not None
        return value if is_known else self.value(arg.annotation, scope, arg.arg)

    def value(self, node: ast.expr | None, scope: Scope, name: str = "") -> Value:
        """What something of this name is that is annotated so."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = _parsed(node.value)
        if isinstance(node, ast.BinOp):
            return self._any([node.left, node.right], scope, name)
        if isinstance(node, ast.Subscript):
            return self._generic(node, scope, name)
        text = _dotted(node)
        last = text.rpartition(".")[2]
        if known.TENSOR_ANNOTATION.fullmatch(text):
            kept = self._is_on_host(name, scope.module)
            return tensor(Device.HOST if kept else Device.UNKNOWN, detail=MASK if "mask" in name else None)
        if last in _PLAIN or node is None or not last:
            return _PLAIN.get(last, UNKNOWN)
        if known.LOADER.search(last):
            origin = self._state.origin("batch", node)
            return Value(Kind.LOADER, element=tensor(Device.HOST, detail=ELEMENT.detail, origin=origin))
        found = self._engine.expressions.safely(node, scope)
        if any(each.kind is not Kind.CLASS for each in found.members):
            return UNKNOWN
        return join_all(self._object(each.target) for each in found.members)

    def _is_on_host(self, name: str, module: Module) -> bool:
        """Whether the name of a tensor, perhaps without its first words, says that it is on the host."""
        kept = self._kept(module)
        return known.ON_HOST.search(name) is not None or name in kept or any(e.endswith(f"_{name}") for e in kept)

    def _kept(self, module: Module) -> frozenset[str]:
        """The names of what a file, or one that it mentions, keeps on the host: ``sizes=field(keep_on_cpu=True)``."""
        if module not in self._names:
            names = {
                name
                for other, kept in self._keeping.items()
                if other is module or other.name.rpartition(".")[2].encode() in module.content
                for name in kept
            }
            self._names[module] = frozenset(names)
        return self._names[module]

    @cached_property
    def _keeping(self) -> dict[Module, list[str]]:
        """The names of what each file keeps on the host."""
        every = self._engine.program.containing(b"on_cpu=True")
        return {each: list(_kept_on_host(each.tree)) for each in every}

    def _any(self, nodes: list[ast.expr], scope: Scope, name: str) -> Value:
        """One of several, perhaps None: a tensor if it is one or holds some, and else what all of them are."""
        given = [each for each in nodes if not (isinstance(each, ast.Constant) and each.value is None)]
        values = [self.value(each, scope, name) for each in given]
        held = [leaf for value in values for leaf in leaves(value)]
        tensors = all(leaf.kind is Kind.TENSOR for leaf in held)
        alike = len({value.kind for value in values}) == 1
        found = held[0] if held and tensors and not alike else join_all(values) if alike else UNKNOWN
        return found.or_none() if len(given) < len(nodes) else found

    def _generic(self, node: ast.Subscript, scope: Scope, name: str) -> Value:
        last = _dotted(node.value).rpartition(".")[2]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if last in ("Optional", "Union"):
            return self._any([*parts, *([ast.Constant(None)] if last == "Optional" else [])], scope, name)
        if last == "Literal":
            return TEXT if all(isinstance(getattr(each, "value", 0), str) for each in parts) else UNKNOWN
        if last in _WRAPPERS:
            return self.value(parts[0], scope, name)
        if last.lower() == "tuple" and not (isinstance(parts[-1], ast.Constant) and parts[-1].value is ...):
            return sequence([self.value(each, scope, name) for each in parts])
        if last in _LISTS or last in _DICTS:
            element = self.value(parts[-1 if last in _DICTS else 0], scope, name)
            if element.kind is Kind.TENSOR and not self._engine.program.world.hot:
                return UNKNOWN  # they may be data on the host
            element_known = element if element.kind is not Kind.UNKNOWN else None
            return Value(Kind.DICT if last in _DICTS else Kind.LIST, element=element_known)
        return self.value(node.value, scope, name)

    def _object(self, class_: Class) -> Value:
        """An object of a class: as it makes itself, or with the fields that it declares."""
        if class_ not in self._made:
            self._made[class_] = UNKNOWN
            made = Value(Kind.INSTANCE, class_.node.name, target=Object(class_))
            for name in self._declared(class_):
                default = self._engine.classes.method(made, name)
                if default is not None and default.is_none:
                    made.target.fields[name] = self.field(made.target, name)
            if self._engine.classes.method(made, "__init__") is not None:
                made = self._engine.classes.assumed(class_)
            self._made[class_] = made
        return self._made[class_]

    def field(self, owner: Object, name: str) -> Value:
        """What the class of an object declares a field to be."""
        for class_ in self._engine.classes.lineage(owner.class_)[0] if owner.class_ is not None else ():
            if name in self._declared(class_):
                return self.value(self._declared(class_)[name], class_.scope, name)
        return UNKNOWN

    def is_read_tensor(self, given: Arguments) -> bool:
        """Whether a method reads something unknown in a module that hot functions run: what that gets are tensors."""
        if not self._state.asking or given.name not in known.READING:
            return False
        scope: Scope | None = given.scope
        while scope is not None and (scope.function is None or scope.function.class_ is None):
            scope = scope.up
        class_ = scope.function.class_ if scope is not None and scope.function is not None else None
        name = _last(given.node.func)
        kept = self._is_on_host(name, given.scope.module)
        return class_ is not None and not kept and self._engine.classes.makes_modules(class_)

    def _declared(self, class_: Class) -> dict[str, ast.expr]:
        if class_ not in self._fields:
            declared = [each for each in class_.node.body if isinstance(each, ast.AnnAssign)]
            self._fields[class_] = {ast.unparse(each.target): each.annotation for each in declared}
        return self._fields[class_]


def on_host(value: Value, name: str) -> Value:
    """A value that something of this name has: people call a tensor of the host so."""
    if value.kind is Kind.TENSOR and value.device is not Device.HOST and known.ON_HOST.search(name):
        return tensor(Device.HOST, sure=value.sure, detail=value.detail, origin=value.origin)
    return value


def _dotted(node: ast.expr | None) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _last(node: ast.expr) -> str:
    """The name of what a chain of methods is called on: ``x`` of ``a["x"].flatten().tolist``."""
    while isinstance(node, (ast.Attribute, ast.Call)):
        inner = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(node, ast.Attribute) and isinstance(inner, ast.Name) and inner.id == "self":
            return node.attr
        node = inner
    if isinstance(node, ast.Subscript):
        return str(node.slice.value) if isinstance(node.slice, ast.Constant) else _last(node.value)
    return getattr(node, "id", "")


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _kept_on_host(tree: ast.AST) -> Iterator[str]:
    """Names of what is declared with ``keep_on_cpu=True``, or with another word of this end."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            named = [(_last(target), node.value) for target in node.targets]
        elif isinstance(node, ast.Dict):
            named = [(getattr(key, "value", ""), value) for key, value in zip(node.keys, node.values, strict=True)]
        else:
            named = [(node.arg or "", node.value)] if isinstance(node, ast.keyword) else []
        for name, value in named:
            words = value.keywords if isinstance(value, ast.Call) else []
            if any(str(w.arg).endswith("on_cpu") and getattr(w.value, "value", None) is True for w in words):
                yield str(name)
