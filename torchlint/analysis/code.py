"""Code: the text, syntax tree, positions and names of one file, without any value inference."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.scopes.guards import Guard, Guards
from torchlint.analysis.scopes.names import Names
from torchlint.analysis.scopes.reaching import ReachingDefinitions
from torchlint.analysis.syntax.followed import FollowedNodes
from torchlint.analysis.syntax.from_ast.parse import Made, exact, parse
from torchlint.analysis.syntax.positions import Positions
from torchlint.analysis.syntax.tree import Identifiers, Keys, NodeIndex, attribute_key, spelling_key
from torchlint.knowledge.packages import LIBRARIES
from torchlint.model import Evidence, Span
from torchlint.prefilter.text_index import TextIndex
from torchlint.project.merged import Project
from torchlint.project.view import ProjectView

if TYPE_CHECKING:
    from collections.abc import Callable


NodeT = TypeVar("NodeT", bound=cst.CSTNode)
SharedT = TypeVar("SharedT")
CodeT = TypeVar("CodeT", bound="Code")


class Code:
    """A parsed file. Expensive properties are computed on first use."""

    def __init__(
        self,
        made: Made,
        text: str,
        path: str,
        target_torch: str | None = None,
        project: ProjectView | None = None,
        text_index: TextIndex | None = None,
    ) -> None:
        self.tree = made.tree
        self.text = text
        self.path = path
        self.target_torch = target_torch
        self.project = project or ProjectView(Project(), path)
        self._shared: dict[object, object] = {}
        self._made = made
        self.text_index = text_index or TextIndex.of_text(text)
        self._index = NodeIndex(made.tree, made.bodies)

    @classmethod
    def parse(
        cls: type[CodeT],
        text: str,
        path: str,
        *,
        target_torch: str | None = None,
        project: ProjectView | None = None,
        layout: bool = True,
        lazy: bool = True,
        text_index: TextIndex | None = None,
        content: bytes | None = None,
    ) -> CodeT:
        """Parse the text of a file, whose ``content`` may have been parsed already.

        Without ``layout`` the nodes hold no whitespace, commas or parentheses, and function bodies are made lazily
        unless ``lazy`` is false. Raises :class:`SyntaxProblem`, now or later, if this Python does not parse the text,
        and ``RecursionError`` and ``MemoryError`` if it is nested too deeply.
        """
        made = exact(text, content) if layout else parse(text, content, at_once=not lazy)
        return cls(made, text, path, target_torch, project, text_index)

    def close(self) -> None:
        """Drop all references, so that the memory is freed at once despite reference cycles."""
        self._index.close()
        self.__dict__.clear()

    def shared(self: CodeT, kind: Callable[[CodeT], SharedT]) -> SharedT:
        """The one instance of an analysis class for this file, shared by all rules."""
        found = self._shared.get(kind)
        if found is None:
            found = self._shared[kind] = kind(self)
        return found  # type: ignore[return-value]

    def has_torch(self, since: str) -> bool:
        """Whether the target version of torch, the newest unless the configuration names one, is at least this one."""
        return self.target_torch is None or _version(since) <= _version(self.target_torch)

    # -- the tree --------------------------------------------------------------------------------

    def nodes_of(self, kind: type[NodeT], *groups: Identifiers) -> list[NodeT]:
        """The nodes of exactly this class, in source order.

        With groups of identifiers, function bodies that lack an identifier of some group may be skipped. Pass groups
        only for nodes that cannot occur in such functions.
        """
        return self._index.nodes_of(kind, *groups)

    def iter_nodes(self, kind: type[NodeT], *groups: Identifiers) -> Iterator[NodeT]:
        """Like :meth:`nodes_of`, but lazily, for queries that stop at the first match."""
        return self._index.iter_nodes(kind, *groups)

    def nodes_outside_functions(self, kind: type[NodeT]) -> list[NodeT]:
        """The nodes of exactly this class outside functions, and some inside functions that have been parsed."""
        return self._index.nodes_of(kind, frozenset())

    def may_contain(self, function: cst.FunctionDef, *groups: Identifiers) -> bool:
        """Whether the body of a function may contain an identifier of every group."""
        lazy_body = self._index.lazy_body_of(function)
        return lazy_body is None or self._index.body_has(lazy_body, groups)

    @cached_property
    def project_symbol_names(self) -> frozenset[str]:
        """Identifiers of which at least one occurs in every function that calls a function of another project file."""
        if self._star_modules:
            return self._index.identifiers  # any name may come from such a module
        return self.aliases({"import", *(binding.name for binding in self.project_imports())})

    def aliases(self, names: Identifiers) -> frozenset[str]:
        """The names and their aliases in this file, through imports, assignments and base classes."""
        return self.names.aliases(frozenset(names))

    def within(self, owner: cst.CSTNode, kind: type[NodeT], *groups: Identifiers) -> Iterator[NodeT]:
        """The nodes of exactly this class in and below a node; functions may be skipped as by :meth:`nodes_of`."""
        return self._index.within(owner, kind, *groups)

    def names_spelled(self, word: str, owner: cst.CSTNode | None = None) -> list[cst.Name]:
        """The names with this spelling in and below a node, or in the whole file, in source order."""
        return list(self._index.with_key(cst.Name, spelling_key, word, owner))

    def attributes_named(self, name: str, owner: cst.CSTNode | None = None) -> list[cst.Attribute]:
        """The attributes with this name in and below a node, or in the whole file, in source order."""
        return list(self._index.with_key(cst.Attribute, attribute_key, name, owner))

    def with_key(self, kind: type[NodeT], keys: Keys, key: str, owner: cst.CSTNode) -> Iterator[NodeT]:
        """The nodes of one class in and below a node that are indexed under a key; see :meth:`NodeIndex.with_key`."""
        return self._index.with_key(kind, keys, key, owner)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The parent of a node; None for the module."""
        return self._index.parents.get(node)

    def call_with_argument(self, node: cst.CSTNode) -> cst.Call | None:
        """The call that has a node as an argument, or None."""
        arg = self.parent(node)
        call = self.parent(arg) if isinstance(arg, cst.Arg) else None
        return call if isinstance(call, cst.Call) else None

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The ancestors of a node, innermost first; of an ``elif`` chain only the first ``if``."""
        current = self._index.enclosing(node)
        while current is not None:
            yield current
            current = self._index.enclosing(current)

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The innermost function around a node; its decorators and defaults belong to the scope outside."""
        scope = self.names.scope_at(node)
        while scope.parent is not None:
            if isinstance(scope.node, cst.FunctionDef):
                return scope.node
            scope = scope.parent
        return None

    def class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """The class that a method is defined in; for other nodes, the innermost enclosing class."""
        for around in self.ancestors(node):
            if isinstance(around, cst.ClassDef):
                return around
            if isinstance(around, cst.FunctionDef) and isinstance(node, cst.FunctionDef):
                return None
        return None

    def statement_of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The simple statement, or the compound statement whose header, contains a node."""
        return self._reaching.anchor(node) or node

    def order(self, node: cst.CSTNode) -> tuple[int, int]:
        """A key that sorts nodes in source order."""
        return self._index.order(node)

    def comes_before(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether ``one`` begins before ``other`` in the text."""
        return self._index.order(one) < self._index.order(other)

    # -- places ----------------------------------------------------------------------------------

    @cached_property
    def positions(self) -> Positions:
        """The positions of all nodes."""
        return Positions(self.text, self._made, self._index.parents)

    def span(self, node: cst.CSTNode) -> Span:
        """The span of a node."""
        return self.positions.span(node)

    def line(self, node: cst.CSTNode) -> int:
        """The line on which a node begins."""
        return self.span(node).line

    def line_in_words(self, node: cst.CSTNode) -> str:
        """The line on which a node begins: ``line 12``; in a notebook with its cell."""
        from torchlint.text.cells import in_words

        return in_words(self.text, [self.line(node)])

    def code(self, node: cst.CSTNode) -> str:
        """The source text of a node."""
        return self.positions.text(node)

    def statement_lines(self, node: cst.CSTNode) -> tuple[int, int]:
        """The first and last line of the statement around a node; of a compound statement, those of its header."""
        first, last = self.positions.lines_of(self.statement_of(node))
        own = self.span(node)
        # A decorator is above the line on which its function begins.
        return min(first, own.line), max(last, own.end_line)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    def comments(self, first: int, last: int) -> str:
        """The comments on these lines, and the block of comment lines directly above them."""
        while first > 1 and self._lines[first - 2].lstrip().startswith("#"):
            first -= 1
        return "\n".join(line.partition("#")[2] for line in self._lines[first - 1 : last])

    def evidence(self, node: cst.CSTNode, text: str) -> Evidence:
        """Evidence at the position of a node."""
        span = self.span(node)
        return Evidence(span.line, span.column, text)

    # -- names -----------------------------------------------------------------------------------

    @cached_property
    def names(self) -> Names:
        """The scopes, bindings and imports of the file."""
        return Names(self.tree, self._index)

    @cached_property
    def _reaching(self) -> ReachingDefinitions:
        return ReachingDefinitions(self.names, self._index)

    def qualified(self, node: cst.CSTNode) -> str | None:
        """The dotted library name that a name or attribute refers to; None if it is not certain."""
        return self.names.qualified(node)

    def project_symbol(self, node: cst.CSTNode) -> str | None:
        """The dotted name of something that another project file may define; None for names of libraries.

        If star imports may provide it, their modules are written in front: ``*losses|utils*.name``.
        """
        name = self.names.qualified(node)
        if name is None:
            return self._starred(node)
        if "." not in name.lstrip(".") and not name.startswith("."):
            return None
        return None if name.partition(".")[0] in LIBRARIES else name

    @cached_property
    def _star_modules(self) -> list[str]:
        """The modules imported with ``import *`` that no known library provides."""
        return [module for module in self.names.star_imports() if module.partition(".")[0] not in LIBRARIES]

    def _starred(self, node: cst.CSTNode) -> str | None:
        name = dotted(node) if self._star_modules else None
        while isinstance(node, cst.Attribute):
            node = node.value
        if name is None or not isinstance(node, cst.Name) or self.names.bindings(node):
            return None
        return f"*{'|'.join(self._star_modules)}*.{name}"

    @cached_property
    def followed(self) -> FollowedNodes:
        """What following the programs of the project tells of the nodes of this file."""
        return FollowedNodes(lambda: self.positions, self.project.followed())

    def project_imports(self) -> list[Binding]:
        """The module-level imports of names that no known library provides."""
        every = [b for bindings in self.names.module.bindings.values() for b in bindings if b.kind == "import"]
        return [b for b in every if b.qualified and b.qualified.partition(".")[0] not in LIBRARIES]

    def definitions(self, name: cst.Name) -> tuple[Binding, ...]:
        """The definitions of a name that reach this use."""
        return self._reaching.definitions(name)

    def uses(self, binding: Binding) -> list[cst.Name]:
        """The uses that a binding reaches, in source order."""
        return self._reaching.uses(binding)

    def binding_of(self, target: cst.Name) -> Binding | None:
        """The binding at an assignment target, parameter, ``def`` or ``class`` name."""
        return self.names.at_target(target)

    @cached_property
    def _guards(self) -> Guards:
        return Guards(self._index.parents, self.qualified)

    def guards(self, node: cst.CSTNode, *, stop: cst.CSTNode | None = None) -> Iterator[Guard]:
        """The conditions that dominate a node, innermost first."""
        return self._guards.of(node, stop=stop)

    def any_guard(self, node: cst.CSTNode, accepts: Callable[[Guard], bool]) -> bool:
        """Whether some guard of a node satisfies a predicate."""
        return self._guards.any(node, accepts)

    def guards_after(self, block: cst.BaseSuite | cst.Module) -> Iterator[Guard]:
        """The conditions that hold at the end of a block, established by statements directly in it."""
        return self._guards.after(block)

    @cached_property
    def sets_default_device(self) -> bool:
        """Whether the file may change the default device of factory functions."""
        return "set_default_device" in self.text or "set_default_tensor_type" in self.text

    def never_runs(self, node: cst.CSTNode) -> bool:
        """Whether a node is unreachable: after ``return``, under ``if False`` or under ``if TYPE_CHECKING``."""
        return self._guards.contradict(node) or not self._reaching.is_reachable(node)


def _version(text: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
