"""Converts statements of :mod:`ast` to LibCST nodes; function bodies are converted lazily."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from torchlint.analysis.syntax.from_ast.expressions import (
    ASYNCHRONOUS,
    BINARY_KINDS,
    Expressions,
    annotation_of,
    from_,
    name,
)
from torchlint.analysis.syntax.from_ast.make import Maker, Node, maker, operators
from torchlint.analysis.syntax.from_ast.patterns import pattern_of
from torchlint.analysis.syntax.from_ast.source import Part, Source
from torchlint.project.followed import Place

_AUGMENTED = operators({operator: getattr(cst, f"{kind.__name__}Assign") for operator, kind in BINARY_KINDS.items()})
_DOT = maker(cst.Dot)()

_line = maker(cst.SimpleStatementLine, "body")
_block = maker(cst.IndentedBlock, "body")
_suite = maker(cst.SimpleStatementSuite, "body")
_function = maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "type_parameters", "asynchronous")
_class = maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators", "type_parameters")
_decorator = maker(cst.Decorator, "decorator")
_arg = maker(cst.Arg, "value", "keyword", "star")
_if = maker(cst.If, "test", "body", "orelse")
_else = maker(cst.Else, "body")
_for = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_while = maker(cst.While, "test", "body", "orelse")
_with = maker(cst.With, "items", "body", "asynchronous")
_with_item = maker(cst.WithItem, "item", "asname")
_as = maker(cst.AsName, "name")
_try = maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_try_star = maker(cst.TryStar, "body", "handlers", "orelse", "finalbody")
_handler = maker(cst.ExceptHandler, "body", "type", "name")
_handler_star = maker(cst.ExceptStarHandler, "body", "type", "name")
_finally = maker(cst.Finally, "body")
_match = maker(cst.Match, "subject", "cases")
_case = maker(cst.MatchCase, "pattern", "body", "guard")
_type_parameters = maker(cst.TypeParameters, "params")
_type_parameter = maker(cst.TypeParam, "param", "default")
_type_var = maker(cst.TypeVar, "name", "bound")
_type_var_tuple = maker(cst.TypeVarTuple, "name")
_param_spec = maker(cst.ParamSpec, "name")
_type_alias = maker(cst.TypeAlias, "name", "value", "type_parameters")
_expression = maker(cst.Expr, "value")
_assign = maker(cst.Assign, "targets", "value")
_target = maker(cst.AssignTarget, "target")
_annotated = maker(cst.AnnAssign, "target", "annotation", "value")
_augmented = maker(cst.AugAssign, "target", "operator", "value")
_return = maker(cst.Return, "value")
_raise = maker(cst.Raise, "exc", "cause")
_assert = maker(cst.Assert, "test", "msg")
_delete = maker(cst.Del, "target")
_global = maker(cst.Global, "names")
_nonlocal = maker(cst.Nonlocal, "names")
_name_item = maker(cst.NameItem, "name")
_import = maker(cst.Import, "names")
_import_from = maker(cst.ImportFrom, "module", "names", "relative")
_alias = maker(cst.ImportAlias, "name", "asname")
_star = maker(cst.ImportStar)
_attribute = maker(cst.Attribute, "value", "attr")
_pass, _break, _continue = maker(cst.Pass), maker(cst.Break), maker(cst.Continue)


_FROM = re.compile(r"from(?:[ \t\f.]|\\\n)*")
Deferred = Callable[["Statements", Sequence[ast.stmt]], Node]


class Statements(Expressions):
    """Converts the statements of one text to nodes.

    ``defer`` creates the lazy block of a top-level function or method from this object and the statements of the body;
    without it, function bodies are ordinary blocks.
    """

    def __init__(self, source: Source, defer: Deferred | None) -> None:
        super().__init__(source)
        self._defer = defer

    def module(self, tree: ast.Module) -> cst.Module:
        """The module node."""
        return cst.Module(self.body(tree.body, outermost=True), default_newline=self.source.newline)

    def body(self, statements: Sequence[ast.stmt], *, outermost: bool = False) -> list[Node]:
        """The statements of a block; simple statements that share a line form one node."""
        found: list[Node] = []
        shared: list[Node] = []
        end = 0
        for statement in statements:
            if statement.__class__ not in _SMALL:
                found.append(self._compound(statement, outermost))
                self.places[found[-1]] = statement
                end = 0
                continue
            node = self._small(statement)
            if statement.lineno == end:
                shared.append(node)
            else:
                shared = [node]
                found.append(_line(shared))
            end = statement.end_lineno or 0
        return found

    def _small(self, node: ast.stmt) -> Node:
        made = _SMALL[node.__class__](self, node)
        self.places[made] = node
        return made

    def _compound(self, node: ast.stmt, outermost: bool) -> Node:
        if node.__class__ is ast.ClassDef:
            return self._class(node, outermost)
        if node.__class__ in (ast.FunctionDef, ast.AsyncFunctionDef):
            return self._function(node, outermost)
        return _COMPOUND[node.__class__](self, node)

    def suite(self, statements: Sequence[ast.stmt]) -> Node:
        """A block, indented or on the line of its header."""
        if self.source.starts_line(statements[0]):
            return _block(self.body(statements))
        return _suite([self._small(statement) for statement in statements])

    def _orelse(self, statements: Sequence[ast.stmt]) -> Node:
        return _else(self.suite(statements)) if statements else None

    # -- definitions -----------------------------------------------------------------------------

    def _decorators(self, nodes: list[ast.expr]) -> list[Node]:
        return [_decorator(self.of(node)) for node in nodes]

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, outermost: bool) -> Node:
        deferred = self._defer if outermost and self.source.starts_line(node.body[0]) else None
        whole = deferred(self, node.body) if deferred is not None else None
        returns = annotation_of(self.of(node.returns)) if node.returns is not None else None
        turn = ASYNCHRONOUS if node.__class__ is ast.AsyncFunctionDef else None
        return _function(
            name(node.name),
            self.parameters(node.args),
            whole if whole is not None else self.suite(node.body),
            self._decorators(node.decorator_list),
            returns,
            self._type_parameters(node),
            turn,
        )

    def _class(self, node: ast.ClassDef, outermost: bool) -> Node:
        given = self.arguments(node.bases, node.keywords)
        named = [arg.keyword is not None or arg.star == "**" for arg in given]
        indented = self.source.starts_line(node.body[0])
        return _class(
            name(node.name),
            _block(self.body(node.body, outermost=outermost)) if indented else self.suite(node.body),
            [arg for arg, is_keyword in zip(given, named, strict=True) if not is_keyword],
            [arg for arg, is_keyword in zip(given, named, strict=True) if is_keyword],
            self._decorators(node.decorator_list),
            self._type_parameters(node),
        )

    # -- compound statements ---------------------------------------------------------------------

    def _if_statement(self, node: ast.If) -> Node:
        test, body, rest = self.of(node.test), self.suite(node.body), node.orelse
        if len(rest) == 1 and rest[0].__class__ is ast.If and self.source.says(rest[0], "elif"):
            other = self._if_statement(rest[0])
            self.places[other] = rest[0]
            return _if(test, body, other)
        return _if(test, body, self._orelse(rest))

    def _for(self, node: ast.For | ast.AsyncFor) -> Node:
        turn = ASYNCHRONOUS if node.__class__ is ast.AsyncFor else None
        target, iterable = self.of(node.target), self.of(node.iter)
        return _for(target, iterable, self.suite(node.body), self._orelse(node.orelse), turn)

    def _while(self, node: ast.While) -> Node:
        return _while(self.of(node.test), self.suite(node.body), self._orelse(node.orelse))

    def _with(self, node: ast.With | ast.AsyncWith) -> Node:
        turn = ASYNCHRONOUS if node.__class__ is ast.AsyncWith else None
        items = [_with_item(self.of(item.context_expr), self._as(item.optional_vars)) for item in node.items]
        return _with(items, self.suite(node.body), turn)

    def _as(self, node: ast.expr | None) -> Node:
        return _as(self.of(node)) if node is not None else None

    def _try(self, node: Any) -> Node:
        starred = node.__class__ is not ast.Try
        make = _try_star if starred else _try
        handlers = [self._handler(part, _handler_star if starred else _handler) for part in node.handlers]
        last = _finally(self.suite(node.finalbody)) if node.finalbody else None
        return make(self.suite(node.body), handlers, self._orelse(node.orelse), last)

    def _handler(self, node: ast.ExceptHandler, make: Maker) -> Node:
        made = make(self.suite(node.body), self.optional(node.type), _as(name(node.name)) if node.name else None)
        self.places[made] = node
        return made

    def _match(self, node: ast.Match) -> Node:
        return _match(self.of(node.subject), [self._case(part) for part in node.cases])

    def _case(self, node: ast.match_case) -> Node:
        return _case(pattern_of(self, node.pattern), self.suite(node.body), self.optional(node.guard))

    # -- type parameters, of Python 3.12 ---------------------------------------------------------

    def _type_parameters(self, node: Any) -> Node:
        given = getattr(node, "type_params", None)
        return _type_parameters([self._type_parameter(part) for part in given]) if given else None

    def _type_parameter(self, node: Any) -> Node:
        kind = node.__class__.__name__
        plain = {"TypeVarTuple": _type_var_tuple, "ParamSpec": _param_spec}.get(kind)
        made = plain(name(node.name)) if plain is not None else _type_var(name(node.name), self.optional(node.bound))
        return _type_parameter(made, self.optional(getattr(node, "default_value", None)))

    def _type_alias(self, node: Any) -> Node:
        return _type_alias(self.of(node.name), self.of(node.value), self._type_parameters(node))

    # -- small statements ------------------------------------------------------------------------

    def _expression(self, node: ast.Expr) -> Node:
        return _expression(self.of(node.value))

    def _assign(self, node: ast.Assign) -> Node:
        return _assign([_target(self.of(target)) for target in node.targets], self.of(node.value))

    def _annotated(self, node: ast.AnnAssign) -> Node:
        return _annotated(self.of(node.target), annotation_of(self.of(node.annotation)), self.optional(node.value))

    def _augmented(self, node: ast.AugAssign) -> Node:
        return _augmented(self.of(node.target), _AUGMENTED[node.op.__class__], self.of(node.value))

    def _return(self, node: ast.Return) -> Node:
        return _return(self.optional(node.value))

    def _raise(self, node: ast.Raise) -> Node:
        cause = from_(self.of(node.cause)) if node.cause is not None else None
        return _raise(self.optional(node.exc), cause)

    def _assert(self, node: ast.Assert) -> Node:
        return _assert(self.of(node.test), self.optional(node.msg))

    def _delete(self, node: ast.Delete) -> Node:
        return _delete(self.of(node.targets[0]) if len(node.targets) == 1 else self.tuple_of(node.targets))

    def _names(self, node: ast.Global | ast.Nonlocal) -> Node:
        make = _global if node.__class__ is ast.Global else _nonlocal
        return make([_name_item(name(item)) for item in node.names])

    def _import(self, node: ast.Import) -> Node:
        return _import([self._alias(alias) for alias in node.names])

    def _import_from(self, node: ast.ImportFrom) -> Node:
        star = node.names[0].name == "*"
        names = _star() if star else [self._alias(alias) for alias in node.names]
        module = self._dotted(node.module, self._module_place(node)) if node.module is not None else None
        return _import_from(module, names, [_DOT] * node.level)

    def _module_place(self, node: ast.ImportFrom) -> Part:
        text = self.source.segment(node)
        start = _FROM.match(text)
        return self.source.within(node, text, start.end() if start is not None else 0, len(text))

    def _alias(self, alias: ast.alias) -> Node:
        return _alias(self._dotted(alias.name, alias), self._asname(alias) if alias.asname else None)

    def _asname(self, alias: ast.alias) -> Node:
        made = name(alias.asname)
        line, end = alias.end_lineno or 0, alias.end_col_offset or 0
        self.places[made] = Part(line, end - len((alias.asname or "").encode()), line, end)
        return _as(made)

    def _dotted(self, text: str, start: Place) -> Node:
        first, *rest = text.split(".")
        line, column = start.lineno, start.col_offset
        end = column + len(first.encode())
        node = name(first)
        self.places[node] = Part(line, column, line, end)
        for part in rest:
            end += 1 + len(part.encode())
            node = _attribute(node, name(part))
            self.places[node] = Part(line, column, line, end)
        return node

    def _plain(self, node: ast.stmt) -> Node:
        return _PLAIN[node.__class__]()


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, including its decorators."""
    decorators = getattr(statement, "decorator_list", None)
    return min(statement.lineno, decorators[0].lineno) if decorators else statement.lineno


_PLAIN = {ast.Pass: _pass, ast.Break: _break, ast.Continue: _continue}
_SMALL: dict[type[ast.AST], Callable[[Statements, Any], Node]] = {
    ast.Expr: Statements._expression,
    ast.Assign: Statements._assign,
    ast.AnnAssign: Statements._annotated,
    ast.AugAssign: Statements._augmented,
    ast.Return: Statements._return,
    ast.Raise: Statements._raise,
    ast.Assert: Statements._assert,
    ast.Delete: Statements._delete,
    ast.Global: Statements._names,
    ast.Nonlocal: Statements._names,
    ast.Import: Statements._import,
    ast.ImportFrom: Statements._import_from,
    ast.Pass: Statements._plain,
    ast.Break: Statements._plain,
    ast.Continue: Statements._plain,
}
_COMPOUND: dict[type[ast.AST], Callable[[Statements, Any], Node]] = {
    ast.If: Statements._if_statement,
    ast.For: Statements._for,
    ast.AsyncFor: Statements._for,
    ast.While: Statements._while,
    ast.With: Statements._with,
    ast.AsyncWith: Statements._with,
    ast.Try: Statements._try,
    ast.Match: Statements._match,
}
if hasattr(ast, "TryStar"):
    _COMPOUND[ast.TryStar] = Statements._try
if hasattr(ast, "TypeAlias"):
    _SMALL[ast.TypeAlias] = Statements._type_alias
