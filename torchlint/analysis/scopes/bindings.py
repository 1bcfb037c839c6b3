"""Bindings: every place in a module that binds a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from torchlint.analysis.syntax.walk import Nodes

Path = tuple["int | str", ...]


class Binding:
    """A place that binds a name.

    ``kind`` is assign, augment, import, function, class, parameter, loop, with, except, walrus, match, annotation or
    delete; ``several`` for a binding that stands for all bindings of its name. ``value`` is the bound expression, if
    there is one, and ``path`` is how it is unpacked: ``(1,)`` means its second element.
    """

    __slots__ = ("kind", "name", "node", "path", "qualified", "statement", "value")

    def __init__(
        self,
        name: str,
        kind: str,
        node: cst.CSTNode,
        statement: cst.CSTNode,
        value: cst.BaseExpression | None = None,
        path: Path = (),
        qualified: str | None = None,
    ) -> None:
        self.name, self.kind, self.node, self.statement = name, kind, node, statement
        self.value, self.path, self.qualified = value, path, qualified


def collect(nodes: Nodes) -> list[Binding]:
    """All bindings, grouped by class of statement; within one class in source order."""
    found: list[Binding] = []
    for kind, finder in _FINDERS.items():
        for node in nodes.get(kind, ()):
            found.extend(finder(node))
    return found


def dotted(node: cst.CSTNode | None) -> str | None:
    """``a.b.c`` for a chain of names; None for any other expression."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr.value}" if base else None
    return None


def targets(target: cst.CSTNode, path: Path = ()) -> Iterator[tuple[cst.Name, Path]]:
    """The names that a target binds, and their paths in the unpacked value."""
    if isinstance(target, cst.Name):
        yield target, path
    elif isinstance(target, (cst.Tuple, cst.List)):
        star = False
        for i, element in enumerate(target.elements):
            if isinstance(element, cst.StarredElement):
                star = True
                yield from targets(element.value, (*path, "*"))
            else:
                yield from targets(element.value, (*path, "?" if star else i))
    elif isinstance(target, cst.StarredElement):
        yield from targets(target.value, (*path, "*"))


def _bind(
    kind: str, target: cst.CSTNode, statement: cst.CSTNode, value: cst.BaseExpression | None, path: Path = ()
) -> Iterator[Binding]:
    for name, way in targets(target, path):
        yield Binding(name.value, kind, name, statement, value, way)


def _assign(node: cst.Assign) -> Iterator[Binding]:
    for target in node.targets:
        yield from _bind("assign", target.target, node, node.value)


def _ann_assign(node: cst.AnnAssign) -> Iterator[Binding]:
    yield from _bind("assign" if node.value else "annotation", node.target, node, node.value)


def _aug_assign(node: cst.AugAssign) -> Iterator[Binding]:
    yield from _bind("augment", node.target, node, node.value)


def _for(node: cst.For | cst.CompFor) -> Iterator[Binding]:
    yield from _bind("loop", node.target, node, node.iter, ("each",))


def _with(node: cst.WithItem) -> Iterator[Binding]:
    if node.asname:
        yield from _bind("with", node.asname.name, node, node.item)


def _except(node: cst.ExceptHandler | cst.ExceptStarHandler) -> Iterator[Binding]:
    if node.name:
        yield from _bind("except", node.name.name, node, None)


def _walrus(node: cst.NamedExpr) -> Iterator[Binding]:
    yield from _bind("walrus", node.target, node, node.value)


def _delete(node: cst.Del) -> Iterator[Binding]:
    yield from _bind("delete", node.target, node, None)


def _function(node: cst.FunctionDef) -> Iterator[Binding]:
    yield Binding(node.name.value, "function", node.name, node)


def _class(node: cst.ClassDef) -> Iterator[Binding]:
    yield Binding(node.name.value, "class", node.name, node)


def _param(node: cst.Param) -> Iterator[Binding]:
    yield Binding(node.name.value, "parameter", node.name, node, node.default)


def _import(node: cst.Import) -> Iterator[Binding]:
    for alias in node.names:
        full = dotted(alias.name)
        if full and alias.asname and isinstance(alias.asname.name, cst.Name):
            yield Binding(alias.asname.name.value, "import", alias.asname.name, node, qualified=full)
        elif full:
            root = full.split(".")[0]
            yield Binding(root, "import", alias, node, qualified=root)


def _import_from(node: cst.ImportFrom) -> Iterator[Binding]:
    module = "." * len(node.relative) + (dotted(node.module) or "")
    if isinstance(node.names, cst.ImportStar):
        yield Binding("*", "import", node, node, qualified=module)
        return
    for alias in node.names:
        full = f"{module}.{dotted(alias.name)}" if not module.endswith(".") else f"{module}{dotted(alias.name)}"
        name = alias.asname.name if alias.asname else alias.name
        if isinstance(name, cst.Name):
            yield Binding(name.value, "import", name, node, qualified=full)


def _match_name(node: cst.MatchAs | cst.MatchStar) -> Iterator[Binding]:
    if node.name:
        yield from _bind("match", node.name, node, None)


def _match_rest(node: cst.MatchMapping) -> Iterator[Binding]:
    if node.rest:
        yield from _bind("match", node.rest, node, None)


_FINDERS: dict[type[cst.CSTNode], Callable[..., Iterator[Binding]]] = {
    cst.Param: _param,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
    cst.Assign: _assign,
    cst.AnnAssign: _ann_assign,
    cst.AugAssign: _aug_assign,
    cst.For: _for,
    cst.CompFor: _for,
    cst.WithItem: _with,
    cst.ExceptHandler: _except,
    cst.ExceptStarHandler: _except,
    cst.NamedExpr: _walrus,
    cst.Del: _delete,
    cst.MatchAs: _match_name,
    cst.MatchStar: _match_name,
    cst.MatchMapping: _match_rest,
}
