"""Name resolution: scopes, bindings, imports and qualified names.

A name is resolved to its bindings by Python's scoping rules; :meth:`Names.qualified` follows imports and plain aliases
to the dotted name that a library documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, collect, dotted
from torchlint.analysis.syntax.tree import Identifiers, LazyBlock, LazyBody, NodeIndex
from torchlint.analysis.syntax.walk import Nodes, descendants

FUNCTIONS = (cst.FunctionDef, cst.Lambda)
COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
_BLOCKS = frozenset({cst.IndentedBlock, LazyBlock, cst.If})  # nodes for which the enclosing scope is cached
SCOPES = frozenset({*FUNCTIONS, *COMPREHENSIONS, cst.ClassDef, cst.Module})  # compared by exact class


class Scope:
    """A module, class, function, lambda or comprehension, with the names bound in it."""

    __slots__ = ("declared", "found", "lazy_body", "node", "parent", "star_import")

    def __init__(self, node: cst.CSTNode, parent: Scope | None, lazy_body: LazyBody | None = None) -> None:
        self.node, self.parent, self.lazy_body = node, parent, lazy_body
        self.star_import = False
        self.found: dict[str, list[Binding]] = {}
        self.declared: dict[str, str] = {}

    @property
    def bindings(self) -> dict[str, list[Binding]]:
        """The bindings of each name; those of one kind in source order."""
        if self.lazy_body is not None:
            self.lazy_body.statements()
        return self.found

    @property
    def outer(self) -> dict[str, str]:
        """The names declared ``global`` or ``nonlocal``, with the keyword."""
        if self.lazy_body is not None:
            self.lazy_body.statements()
        return self.declared

    @property
    def is_class(self) -> bool:
        """Whether this is a class body, whose names are not visible in nested functions."""
        return self.node.__class__ is cst.ClassDef


class Names:
    """The scopes and names of one module."""

    def __init__(self, tree: cst.Module, index: NodeIndex) -> None:
        self._index = index
        self._parents = index.parents
        self.module = Scope(tree, None)
        self._scopes: dict[cst.CSTNode, Scope] = {tree: self.module}
        self._of_blocks: dict[cst.CSTNode, Scope] = {}
        self._qualified: dict[cst.CSTNode, str | None] = {}
        self._meant: dict[tuple[Scope, str], str | None] = {}
        self._at_target: dict[cst.CSTNode, Binding] = {}
        # Functions with a `global` statement bind names of the module, so they are parsed now.
        index.nodes_of(cst.Global, frozenset(("global",)))
        self._add(index.outside)
        for lazy_body in index.bodies:
            if lazy_body.is_parsed:
                self._open(lazy_body)
        index.on_parse(self._open)
        for bindings in self.module.found.values():
            if len(bindings) > 1:
                bindings.sort(key=self._is_inside)

    def _open(self, lazy_body: LazyBody) -> None:
        """Add the bindings of a body that has been parsed, nearly always to its own scope."""
        plain = lazy_body.nodes.keys().isdisjoint(SCOPES)
        self._add(lazy_body.nodes, self.scope_of(self._parents[lazy_body.block]) if plain else None)

    def _add(self, nodes: Nodes, only: Scope | None = None) -> None:
        """Add bindings, to the scope ``only`` if it is given."""
        for kind, name in ((cst.Global, "global"), (cst.Nonlocal, "nonlocal")):
            for node in nodes.get(kind, ()):
                for item in node.names:  # type: ignore[attr-defined]
                    self.scope_at(node).declared[item.name.value] = name
        for binding in collect(nodes):
            self._bind(binding, only)

    def _is_inside(self, binding: Binding) -> tuple[int, int]:
        """A sort key that puts bindings made by functions through ``global`` after the others."""
        return (-1, -1) if self.scope_at(binding.node) is self.module else self._index.order(binding.node)

    def _bind(self, binding: Binding, only: Scope | None) -> None:
        if binding.kind == "import" and binding.name == "*":
            self.scope_at(binding.statement).star_import = True
            return
        scope = self._binding_scope(binding, only or self.scope_at(binding.node))
        scope.found.setdefault(binding.name, []).append(binding)
        self._at_target.setdefault(binding.node, binding)

    def _binding_scope(self, binding: Binding, scope: Scope) -> Scope:
        while binding.kind == "walrus" and isinstance(scope.node, COMPREHENSIONS) and scope.parent:
            scope = scope.parent
        declared = scope.declared.get(binding.name)
        if declared == "global":
            return self.module
        if declared == "nonlocal" and scope.parent:
            return self.lookup_scope(binding.name, scope.parent) or scope
        return scope

    # -- scopes ----------------------------------------------------------------------------------

    def scope_of(self, owner: cst.CSTNode) -> Scope:
        """The scope that a module, class, function, lambda or comprehension creates."""
        found = self._scopes.get(owner)
        if found is None:
            found = Scope(owner, self.scope_at(owner), self._index.lazy_body_of(owner))
            self._scopes[owner] = found
        return found

    def scope_at(self, node: cst.CSTNode) -> Scope:
        """The scope in which a node is evaluated.

        Defaults, decorators, base classes and the first iterable of a comprehension are evaluated in the scope outside.
        """
        below, current = node, self._parents.get(node)
        inner = True
        blocks: list[cst.CSTNode] = []
        while current is not None:
            kind = current.__class__
            if kind in _BLOCKS:
                if inner and current in self._of_blocks:
                    return self._found(self._of_blocks[current], blocks)
                if inner:
                    blocks.append(current)
            elif kind is cst.Param and below is not current.name:  # type: ignore[attr-defined]
                inner = False
            elif kind in SCOPES:
                if inner and not _evaluated_outside(current, below):
                    return self._found(self.scope_of(current), blocks)
                inner = True
            elif kind is cst.CompFor and below is current.iter:  # type: ignore[attr-defined]
                inner = not isinstance(self._parents.get(current), COMPREHENSIONS)
            below, current = current, self._parents.get(current)
        return self._found(self.module, blocks)

    def _found(self, scope: Scope, blocks: list[cst.CSTNode]) -> Scope:
        """Cache the scope of these blocks."""
        for block in blocks:
            self._of_blocks[block] = scope
        return scope

    def lookup_scope(self, name: str, start: Scope) -> Scope | None:
        """The scope that binds a name as seen from ``start``; None for builtins and unknown names."""
        scope: Scope | None = start
        if start.outer.get(name) == "global":
            return self.module if name in self.module.bindings else None
        while scope is not None:
            visible = scope is start or not scope.is_class
            if visible and name in scope.bindings and name not in scope.outer:
                return scope
            scope = scope.parent
        return None

    def at_target(self, target: cst.Name) -> Binding | None:
        """The binding at an assignment target, parameter, ``def`` or ``class`` name."""
        scope = self.lookup_scope(target.value, self.scope_at(target))
        # The bindings of a scope are known once they have been read.
        return self._at_target.get(target) if scope is not None and scope.bindings else None

    def bindings(self, name: cst.Name) -> list[Binding]:
        """Every binding that the name may refer to, in source order, regardless of control flow."""
        return self._seen_from(self.scope_at(name), name.value)

    def _seen_from(self, scope: Scope, name: str) -> list[Binding]:
        found = self.lookup_scope(name, scope)
        return found.bindings[name] if found else []

    def star_imports(self) -> list[str]:
        """The modules that are imported with ``from module import *``, in source order."""
        nodes = self._index.nodes_of(cst.ImportFrom, frozenset())  # Python does not allow them in functions
        stars = [node for node in nodes if isinstance(node.names, cst.ImportStar)]
        return ["." * len(node.relative) + (dotted(node.module) or "") for node in stars]

    # -- other names -----------------------------------------------------------------------------

    def aliases(self, names: Identifiers) -> frozenset[str]:
        """The names, and all aliases by which code inside functions may refer to the same things.

        Aliases come from imports, plain assignments and base classes outside functions, and from aliases of aliases.
        """
        known = set(names)
        while added := {name for name, parts in self._renamed if not parts.isdisjoint(known)} - known:
            known |= added
        return frozenset(known)

    @cached_property
    def _renamed(self) -> list[tuple[str, frozenset[str]]]:
        """Names bound at module level or as globals, with the identifiers that they are an alias for."""
        globals_ = [binding for bindings in self.module.found.values() for binding in bindings]
        found = {(b.name, _stands_for(b)) for b in (*globals_, *collect(self._index.outside))}
        return [(name, parts) for name, parts in found if parts - {name}]

    # -- qualified names -------------------------------------------------------------------------

    def qualified(self, node: cst.CSTNode) -> str | None:
        """The dotted library name of a name or attribute, such as ``torch.utils.data.DataLoader``.

        Builtins are ``builtins.len`` and so on. None if the root is not imported, or if its bindings disagree.
        """
        if node in self._qualified:
            return self._qualified[node]
        self._qualified[node] = None
        found = self._resolve(node)
        self._qualified[node] = found
        return found

    def _resolve(self, node: cst.CSTNode) -> str | None:
        if node.__class__ is cst.Attribute:
            base = self.qualified(node.value)
            return canonical(f"{base}.{node.attr.value}") if base else None
        if node.__class__ is not cst.Name:
            return None
        assert isinstance(node, cst.Name)
        return self._from(self.scope_at(node), node.value)

    def _from(self, scope: Scope, name: str) -> str | None:
        """What a name refers to in a scope; functions that do not bind it share the result of the scope that does."""
        key = scope, name
        if key not in self._meant:
            self._meant[key] = None
            found = self.lookup_scope(name, scope)
            if found is None or found is scope:
                self._meant[key] = self._meaning(scope, name)
            else:
                self._meant[key] = self._from(found, name)
        return self._meant[key]

    def _meaning(self, scope: Scope, name: str) -> str | None:
        bindings = self._seen_from(scope, name)
        if not bindings:
            builtin = name in _NEVER_SHADOWED or not any(s.star_import for s in _chain(scope))
            return f"builtins.{name}" if builtin else None
        names = {self._binding_name(binding) for binding in bindings if not _is_fallback(binding)}
        return names.pop() if len(names) == 1 else _submodule_root(bindings, name)

    def _binding_name(self, binding: Binding) -> str | None:
        if binding.kind == "import":
            return canonical(binding.qualified) if binding.qualified else None
        plain = binding.kind == "assign" and not binding.path and isinstance(binding.value, (cst.Name, cst.Attribute))
        return self.qualified(binding.value) if plain and binding.value else None


def _stands_for(binding: Binding) -> frozenset[str]:
    """The identifiers in what a binding is an alias for; empty if it is none."""
    if binding.kind == "import":
        return frozenset((binding.qualified or "").split("."))
    if binding.kind == "class" and isinstance(binding.statement, cst.ClassDef):
        return _identifiers(*(base.value for base in binding.statement.bases))
    value = binding.value
    if isinstance(value, cst.Call) and (dotted(value.func) or "").endswith("partial"):
        return _identifiers(*(arg.value for arg in value.args[:1]))
    renames = binding.kind == "assign" and isinstance(value, (cst.Name, cst.Attribute, cst.IfExp, cst.Tuple, cst.List))
    return _identifiers(value) if renames and value is not None else frozenset()


def _identifiers(*nodes: cst.CSTNode) -> frozenset[str]:
    return frozenset(part.value for node in nodes for part in descendants(node) if isinstance(part, cst.Name))


def _chain(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _evaluated_outside(owner: cst.CSTNode, below: cst.CSTNode) -> bool:
    kind = owner.__class__
    if kind is cst.FunctionDef or kind is cst.Lambda:
        return below is not owner.body and below.__class__ is not cst.Parameters  # type: ignore[attr-defined]
    return kind is cst.ClassDef and below is not owner.body  # type: ignore[attr-defined]


def _is_fallback(binding: Binding) -> bool:
    """``except ImportError: name = None``: only the imported meaning is useful."""
    return (
        binding.kind == "assign"
        and not binding.path
        and isinstance(binding.value, cst.Name)
        and binding.value.value in ("None", "False")
    )


def _submodule_root(bindings: list[Binding], name: str) -> str | None:
    """``import torch`` and ``import torch.nn`` both bind ``torch``; any other disagreement is unknown."""
    agreed = all(b.kind == "import" and b.qualified == name for b in bindings)
    return name if agreed else None


# Builtins that no star import of an array library replaces (NumPy and torch do export their own `sum` and `range`).
_NEVER_SHADOWED = frozenset(
    "enumerate zip len print iter next map isinstance property staticmethod classmethod super getattr dict list tuple "
    "exec".split()
)

# Public names of things that libraries also export elsewhere.
_ALIASES = {
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.utils.data.dataset.Dataset": "torch.utils.data.Dataset",
    "torch.autograd.variable.Variable": "torch.autograd.Variable",
    "numpy.core": "numpy",
    "lightning.pytorch": "pytorch_lightning",
    "lightning": "pytorch_lightning",
    "torch.nn.modules": "torch.nn",
}


def canonical(name: str) -> str:
    """The public form of a qualified name."""
    for alias, public in _ALIASES.items():
        if name == alias or name.startswith(alias + "."):
            return public + name[len(alias) :]
    return name
