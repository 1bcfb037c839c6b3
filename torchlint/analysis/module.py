"""SourceModule: one parsed file and the questions a rule may ask of it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import libcst as cst

from torchlint.analysis import depth
from torchlint.analysis.bindings import Binding
from torchlint.analysis.classes import Classes
from torchlint.analysis.dominance import exclusive
from torchlint.analysis.evaluate import Evaluator
from torchlint.analysis.functions import Functions, Parameters, annotation_value
from torchlint.analysis.guards import Guard, Guards
from torchlint.analysis.heat import Heats
from torchlint.analysis.identifiers import Spellings, normalised, spelled_as_written
from torchlint.analysis.index import Index, Keys, Unit, last_part, written
from torchlint.analysis.light.expressions import Unsupported
from torchlint.analysis.light.statements import Lines
from torchlint.analysis.names import Names
from torchlint.analysis.pieces import Pieces
from torchlint.analysis.positions import Layout, Positions
from torchlint.analysis.reaching import Reaching
from torchlint.analysis.signs import Signs
from torchlint.analysis.syntax import SyntaxProblem, syntax_problem
from torchlint.analysis.testing import Testing
from torchlint.analysis.values import UNKNOWN, Value
from torchlint.contents import Contents
from torchlint.knowledge.libraries import LIBRARIES
from torchlint.model import Evidence, Heat, Span
from torchlint.patterns import Pattern
from torchlint.project import Project, View
from torchlint.words import Words, whole_name

if TYPE_CHECKING:
    from collections.abc import Callable

NodeT = TypeVar("NodeT", bound=cst.CSTNode)
SharedT = TypeVar("SharedT")


__all__ = ["SourceModule", "SyntaxProblem", "Unsupported"]


class SourceModule:
    """A parsed file. Whatever is expensive is computed when it is first asked for."""

    def __init__(
        self,
        tree: cst.Module,
        text: str,
        path: str,
        target_torch: str | None = None,
        project: View | None = None,
        light: tuple[Sequence[Unit], Lines] | None = None,
        contents: Contents | None = None,
    ) -> None:
        self.tree = tree
        self.text = text
        self.path = path
        self.target_torch = target_torch
        self.project = project or View(Project(), path)
        self._shared: dict[object, object] = {}
        self._spellings: Spellings = []
        units: Sequence[Unit] = light[0] if light is not None else ()
        self._statement_lines = light[1] if light is not None else None
        self.contents = contents or Contents.of_text(text)
        self._index = Index(tree, text, units, self.contents.vocabulary)

    @classmethod
    def parse(
        cls,
        text: str,
        path: str,
        *,
        target_torch: str | None = None,
        project: View | None = None,
        layout: bool = True,
        searched: bool = True,
        contents: Contents | None = None,
    ) -> SourceModule:
        """Parse a text, of which something may be known already.

        Without ``layout`` the nodes hold no whitespace, commas and parentheses, and function bodies are made
        when somebody looks; :class:`Unsupported` is raised, then or later, for what that way of parsing
        cannot do. Unless the text may be ``searched``, they are all made at once. Raises :class:`SyntaxProblem`
        when the text is no valid Python, or nested deeper than the parser survives.
        """
        if not layout:
            from torchlint.analysis.light.parse import parse

            tree, units, lines = parse(text, at_once=not searched)
            return cls(tree, text, path, target_torch, project, (units, lines), contents)
        too_deep = depth.problem(text)
        if too_deep is not None:
            raise SyntaxProblem(too_deep.message, too_deep.line, 1)
        try:
            tree = depth.with_room(text, lambda: cst.parse_module(text))
        except (cst.ParserSyntaxError, cst.CSTValidationError, cst.CSTLogicError) as error:
            raise syntax_problem(text, error) from None
        spellings = normalised(tree, text)
        module = cls(tree, text, path, target_torch, project, contents=contents)
        module._spellings = spellings
        return module

    def close(self) -> None:
        """Forget everything, so that all of it is freed at once: the parts of a module know one another."""
        self._index.close()
        self.__dict__.clear()

    def shared(self, kind: Callable[[SourceModule], SharedT]) -> SharedT:
        """The one instance of an analysis of this file that several rules ask."""
        found = self._shared.get(kind)
        if found is None:
            found = self._shared[kind] = kind(self)
        return found  # type: ignore[return-value]

    # -- the tree --------------------------------------------------------------------------------

    def nodes_of(self, kind: type[NodeT], *groups: Words) -> list[NodeT]:
        """The nodes of exactly one class in source order.

        With groups of words, functions and methods whose text lacks a word of some group may be left out: ask so
        for nodes that stand in functions with such words.
        """
        return self._index.of(kind, *groups)

    def each(self, kind: type[NodeT], *groups: Words) -> Iterator[NodeT]:
        """The same one by one, for questions that the first fitting node answers."""
        return self._index.each(kind, *groups)

    def outside(self, kind: type[NodeT]) -> list[NodeT]:
        """The nodes of exactly one class that stand in no function; some that stand in one may be among them."""
        return self._index.of(kind, ())

    def may_hold(self, function: cst.FunctionDef, *groups: Words) -> bool:
        """A word of each group stands in the body of a function, or nobody can tell."""
        unit = self._index.unit_of(function)
        return unit is None or self._index.has(unit, groups)

    def calm_functions(self, *groups: Words, among: Container[cst.CSTNode] | None = None) -> list[cst.FunctionDef]:
        """Functions that hold a word of each group outside their error messages, as :meth:`nodes_among` takes them."""
        return self._index.calm_functions(groups, among)

    def named_from(self, names: Container[str], inside: Pattern) -> frozenset[cst.CSTNode] | None:
        """See :meth:`Index.named_from`."""
        return self._index.named_from(names, inside)

    def nodes_among(self, kind: type[NodeT], functions: Container[cst.CSTNode]) -> list[NodeT]:
        """The nodes of exactly one class in these functions and outside all; others may be left out."""
        return self._index.among(kind, functions)

    @cached_property
    def foreign_words(self) -> Words:
        """What stands in every function that calls a function of another file of the project."""
        own = {binding.name for binding in self.project_imports()}
        return self.spelled(("import ", *sorted(own)))

    @cached_property
    def foreign_made(self) -> Words:
        """The names of what calls of such functions outside functions give."""
        every = [binding for bindings in self.names.module.found.values() for binding in bindings]
        return sorted({b.name for b in every if isinstance(b.value, cst.Call) and self.foreign(b.value.func)})

    def spelled(self, words: Words) -> Words:
        """The words, and other names that something named so has by an import, an assignment or a class."""
        return self.contents.names.spelled(words)

    def within(self, owner: cst.CSTNode, kind: type[NodeT], *groups: Words) -> Iterator[NodeT]:
        """The nodes of exactly one class in and below a node; functions may be left out as by :meth:`nodes_of`."""
        return self._index.within(owner, kind, *groups)

    def named(self, word: str, owner: cst.CSTNode | None = None) -> list[cst.Name]:
        """The names written so, in all of the file or in and below a node, in source order."""
        return list(self._index.keyed(cst.Name, written, word, owner, (word,)))

    def attributes(self, name: str, owner: cst.CSTNode | None = None) -> list[cst.Attribute]:
        """The attributes called so, in all of the file or in and below a node, in source order."""
        return list(self._index.keyed(cst.Attribute, last_part, name, owner, (whole_name(f".{name}"),)))

    def keyed(self, kind: type[NodeT], keys: Keys, key: str, owner: cst.CSTNode, words: Words) -> Iterator[NodeT]:
        """The nodes of exactly one class in and below a node to which ``keys`` gives a key; see :meth:`Index.keyed`."""
        return self._index.keyed(kind, keys, key, owner, words)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node around a node; None for the module."""
        return self._index.parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, from the inside out; of the branches before an ``elif`` only the first."""
        current = self._index.around(node)
        while current is not None:
            yield current
            current = self._index.around(current)

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The innermost function around a node; its decorators and defaults belong outside."""
        scope = self.names.scope_at(node)
        while scope.parent is not None:
            if isinstance(scope.node, cst.FunctionDef):
                return scope.node
            scope = scope.parent
        return None

    def class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """The class whose body directly holds a method (or the innermost class around other nodes)."""
        for around in self.ancestors(node):
            if isinstance(around, cst.ClassDef):
                return around
            if isinstance(around, cst.FunctionDef) and isinstance(node, cst.FunctionDef):
                return None
        return None

    def statement_of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The small statement or compound header in which a node stands."""
        return self._reaching.anchor(node) or node

    def order(self, node: cst.CSTNode) -> tuple[int, int]:
        """The place of a node in the text, which only means something beside others."""
        return self._index.order(node)

    def comes_before(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """In the text, ``one`` begins before ``other``."""
        return self._index.order(one) < self._index.order(other)

    # -- places ----------------------------------------------------------------------------------

    @cached_property
    def positions(self) -> Layout:
        """Where every node stands."""
        if self._statement_lines is not None:
            return Pieces(self.text, self._index, self._statement_lines)
        with spelled_as_written(self._spellings):
            return Positions(self.tree)

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands."""
        return self.positions.span(node)

    def line(self, node: cst.CSTNode) -> int:
        """The line on which a node begins."""
        return self.span(node).line

    def code(self, node: cst.CSTNode) -> str:
        """The source text of a node."""
        return self.positions.text(node)

    def statement_lines(self, node: cst.CSTNode) -> tuple[int, int]:
        """The first and last line of the statement around a node; of a compound statement only of the header."""
        first, last = self.positions.lines_of(self.statement_of(node))
        own = self.span(node)
        # A decorator stands above the line on which its function begins.
        return min(first, own.line), max(last, own.end_line)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    def comments(self, first: int, last: int) -> str:
        """The comments on these lines and the block of comment lines right above them."""
        while first > 1 and self._lines[first - 2].lstrip().startswith("#"):
            first -= 1
        return "\n".join(line.partition("#")[2] for line in self._lines[first - 1 : last])

    def evidence(self, node: cst.CSTNode, text: str) -> Evidence:
        """A fact and the place it stands at."""
        span = self.span(node)
        return Evidence(span.line, span.column, text)

    # -- names -----------------------------------------------------------------------------------

    @cached_property
    def names(self) -> Names:
        """Scopes, bindings and imports."""
        return Names(self.tree, self._index)

    @cached_property
    def _reaching(self) -> Reaching:
        return Reaching(self.names, self._index)

    def qualified(self, node: cst.CSTNode) -> str | None:
        """The dotted library name a name or attribute stands for, None when it is not certain."""
        return self.names.qualified(node)

    def foreign(self, node: cst.CSTNode) -> str | None:
        """The dotted name of something that another file of the project may define; None for libraries."""
        name = self.names.qualified(node)
        if name is None or ("." not in name.lstrip(".") and not name.startswith(".")):
            return None
        return None if name.partition(".")[0] in LIBRARIES else name

    def foreign_method(self, call: cst.Call) -> str | None:
        """The dotted name of a method called on an instance of a class that another file may define."""
        base = call.func.value if isinstance(call.func, cst.Attribute) else None
        bindings = self.definitions(base) if isinstance(base, cst.Name) else ()
        made = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
        owner = self.foreign(made.func) if isinstance(made, cst.Call) else None
        return f"{owner}.{call.func.attr.value}" if owner and isinstance(call.func, cst.Attribute) else None

    def project_imports(self) -> list[Binding]:
        """The imports of the module level that no library accounts for."""
        every = [b for bindings in self.names.module.bindings.values() for b in bindings if b.kind == "import"]
        return [b for b in every if b.qualified and b.qualified.partition(".")[0] not in LIBRARIES]

    def definitions(self, name: cst.Name) -> tuple[Binding, ...]:
        """The bindings a name may hold where it is read."""
        return self._reaching.at(name)

    def uses(self, binding: Binding) -> list[cst.Name]:
        """The reads that may see a binding, in source order."""
        return self._reaching.uses(binding)

    def binding_of(self, target: cst.Name) -> Binding | None:
        """The binding made at a target, parameter, ``def`` or ``class`` name."""
        scope = self.names.lookup_scope(target.value, self.names.scope_at(target))
        found = scope.bindings[target.value] if scope else []
        return next((b for b in found if b.node is target), None)

    # -- meaning ---------------------------------------------------------------------------------

    @cached_property
    def evaluator(self) -> Evaluator:
        """Value inference."""
        return Evaluator(self)

    def value(self, node: cst.CSTNode | None) -> Value:
        """What is proved about an expression."""
        return self.evaluator.value(node)

    def annotated(self, annotation: cst.Annotation | None) -> Value:
        """What an annotation promises."""
        return annotation_value(self, annotation.annotation) if annotation is not None else UNKNOWN

    @cached_property
    def classes(self) -> Classes:
        """Classes of the file."""
        return Classes(self)

    @cached_property
    def functions(self) -> Functions:
        """Functions of the file and their callers."""
        return Functions(self)

    @cached_property
    def parameters(self) -> Parameters:
        """What parameters can be."""
        return Parameters(self)

    @cached_property
    def signs(self) -> Signs:
        """Signs of an accelerator."""
        return Signs(self)

    @cached_property
    def heats(self) -> Heats:
        return Heats(self)

    def heat(self, node: cst.CSTNode) -> Heat:
        """How often a node runs."""
        return self.heats.of(node)

    def every_step(self, node: cst.CSTNode) -> bool:
        """The node runs in every step of something that is not merely an evaluation."""
        return self.heat(node).rank >= Heat.STEP.rank and not self.heats.evaluates(self.heats.step_around(node))

    @cached_property
    def _guards(self) -> Guards:
        return Guards(self._index.parents, self.qualified)

    def guards(self, node: cst.CSTNode, *, stop: cst.CSTNode | None = None) -> Iterator[Guard]:
        """The conditions under which a node runs, from the inside out."""
        return self._guards.of(node, stop=stop)

    def any_guard(self, node: cst.CSTNode, accepts: Callable[[Guard], bool]) -> bool:
        """A guard of a node is accepted."""
        return self._guards.any(node, accepts)

    def guards_after(self, block: cst.BaseSuite) -> Iterator[Guard]:
        """The conditions that hold at the end of a block, by what stands directly in it."""
        return self._guards.after(block)

    @cached_property
    def sets_default_device(self) -> bool:
        """The file changes where factories put tensors."""
        return "set_default_device" in self.text or "set_default_tensor_type" in self.text

    def in_test(self, node: cst.CSTNode) -> bool:
        """The node belongs to a test."""
        return self.shared(Testing).covers(node)

    def never_runs(self, node: cst.CSTNode) -> bool:
        """No way leads to a node: it stands after ``return``, under ``if False`` or ``if TYPE_CHECKING``."""
        return self._guards.keep_out(node) or not self._reaching.runs(node)

    def exclusive(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """The two never run in the same pass through the code: they stand in different branches."""
        return exclusive(self, one, other)
