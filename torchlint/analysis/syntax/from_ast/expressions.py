"""Converts expressions of :mod:`ast` to LibCST nodes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import libcst as cst

from torchlint.analysis.syntax.from_ast.make import Node, maker, operators
from torchlint.analysis.syntax.from_ast.source import Source
from torchlint.analysis.syntax.from_ast.strings import Strings, is_simple, simple
from torchlint.project.followed import Place

BINARY_KINDS: dict[type[ast.AST], type[cst.BaseBinaryOp]] = {
    ast.Add: cst.Add,
    ast.Sub: cst.Subtract,
    ast.Mult: cst.Multiply,
    ast.Div: cst.Divide,
    ast.FloorDiv: cst.FloorDivide,
    ast.Mod: cst.Modulo,
    ast.Pow: cst.Power,
    ast.LShift: cst.LeftShift,
    ast.RShift: cst.RightShift,
    ast.BitOr: cst.BitOr,
    ast.BitAnd: cst.BitAnd,
    ast.BitXor: cst.BitXor,
    ast.MatMult: cst.MatrixMultiply,
}
_BINARY = operators(BINARY_KINDS)
_BOOLEAN = operators({ast.And: cst.And, ast.Or: cst.Or})
_UNARY = operators(
    {
        ast.Not: cst.Not,
        ast.USub: cst.Minus,
        ast.UAdd: cst.Plus,
        ast.Invert: cst.BitInvert,
    }
)
_COMPARED = operators(
    {
        ast.Eq: cst.Equal,
        ast.NotEq: cst.NotEqual,
        ast.Lt: cst.LessThan,
        ast.LtE: cst.LessThanEqual,
        ast.Gt: cst.GreaterThan,
        ast.GtE: cst.GreaterThanEqual,
        ast.Is: cst.Is,
        ast.IsNot: cst.IsNot,
        ast.In: cst.In,
        ast.NotIn: cst.NotIn,
    }
)
ASYNCHRONOUS = maker(cst.Asynchronous)()

name = maker(cst.Name, "value")
annotation_of = maker(cst.Annotation, "annotation")
_attribute = maker(cst.Attribute, "value", "attr")
_call = maker(cst.Call, "func", "args")
_arg = maker(cst.Arg, "value", "keyword", "star")
_integer = maker(cst.Integer, "value")
_float = maker(cst.Float, "value")
_imaginary = maker(cst.Imaginary, "value")
_ellipsis = maker(cst.Ellipsis)
_binary = maker(cst.BinaryOperation, "left", "operator", "right")
_boolean = maker(cst.BooleanOperation, "left", "operator", "right")
_unary = maker(cst.UnaryOperation, "operator", "expression")
_comparison = maker(cst.Comparison, "left", "comparisons")
_target = maker(cst.ComparisonTarget, "operator", "comparator")
_if = maker(cst.IfExp, "test", "body", "orelse")
_walrus = maker(cst.NamedExpr, "target", "value")
_await = maker(cst.Await, "expression")
_yield = maker(cst.Yield, "value")
from_ = maker(cst.From, "item")
_subscript = maker(cst.Subscript, "value", "slice")
_subscript_element = maker(cst.SubscriptElement, "slice")
_index = maker(cst.Index, "value", "star")
_slice = maker(cst.Slice, "lower", "upper", "step")
_list = maker(cst.List, "elements")
_tuple = maker(cst.Tuple, "elements")
_set = maker(cst.Set, "elements")
_dict = maker(cst.Dict, "elements")
element = maker(cst.Element, "value")
_starred = maker(cst.StarredElement, "value")
_dict_element = maker(cst.DictElement, "key", "value")
_starred_dict = maker(cst.StarredDictElement, "value")
_list_comp = maker(cst.ListComp, "elt", "for_in")
_set_comp = maker(cst.SetComp, "elt", "for_in")
_generator = maker(cst.GeneratorExp, "elt", "for_in")
_dict_comp = maker(cst.DictComp, "key", "value", "for_in")
_comp_for = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_comp_if = maker(cst.CompIf, "test")
_lambda = maker(cst.Lambda, "params", "body")
_parameters = maker(cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params")
_param = maker(cst.Param, "name", "annotation", "default", "star")
_param_star = maker(cst.ParamStar)


class Expressions:
    """Converts the expressions of one text to nodes; ``places`` is where those of expressions and statements are."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.places: dict[cst.CSTNode, Place] = {}

    def of(self, node: ast.expr) -> Node:
        """The node for an expression."""
        made = _FINDERS[node.__class__](self, node)
        self.places[made] = node
        return made

    def optional(self, node: ast.expr | None) -> Node:
        """The node for an expression, or None for None."""
        return self.of(node) if node is not None else None

    # -- atoms -----------------------------------------------------------------------------------

    def _name(self, node: ast.Name) -> Node:
        return name(node.id)

    def _constant(self, node: ast.Constant) -> Node:
        value = node.value
        kind = value.__class__
        if kind is str or kind is bytes:
            return self._string(node)
        if kind is int:
            return _integer(self.source.segment(node))
        if kind is float:
            return _float(self.source.segment(node))
        if kind is complex:
            return _imaginary(self.source.segment(node))
        return _ellipsis() if value is ... else name(repr(value))

    def _string(self, node: ast.Constant | ast.JoinedStr) -> Node:
        text = self.source.segment(node)
        if is_simple(text):
            return simple(text)

        def placed(made: Node, start: int, end: int) -> None:
            self.places[made] = self.source.within(node, text, start, end)

        return Strings(text, lambda start, end: self._field(node, text, start, end), placed).whole()

    def _field(self, node: ast.expr, text: str, start: int, end: int) -> Node:
        """The expression of a replacement field; before Python 3.12, ``ast`` does not always say where it is."""
        # A comment may end the text.
        found = ast.parse(f"({text[start:end]}\n)", mode="eval").body
        bare = found.elts if isinstance(found, ast.Tuple) and (found.lineno, found.col_offset) == (1, 0) else None
        around = self.source.within(node, text, start, end)
        for part in ast.walk(found):
            if isinstance(part, (ast.expr, ast.keyword, ast.arg)):
                _move(part, around)
        return self.tuple_of(bare) if bare else self.of(found)

    # -- operators -------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> Node:
        return _attribute(self.of(node.value), name(node.attr))

    def _binary(self, node: ast.BinOp) -> Node:
        return _binary(self.of(node.left), _BINARY[node.op.__class__], self.of(node.right))

    def _boolean(self, node: ast.BoolOp) -> Node:
        operator = _BOOLEAN[node.op.__class__]
        found = self.of(node.values[0])
        for value in node.values[1:]:
            found = _boolean(found, operator, self.of(value))
        return found

    def _unary(self, node: ast.UnaryOp) -> Node:
        return _unary(_UNARY[node.op.__class__], self.of(node.operand))

    def _comparison(self, node: ast.Compare) -> Node:
        left = self.of(node.left)
        sides = zip(node.ops, node.comparators, strict=True)
        return _comparison(left, [_target(_COMPARED[op.__class__], self.of(side)) for op, side in sides])

    def _if(self, node: ast.IfExp) -> Node:
        return _if(self.of(node.test), self.of(node.body), self.of(node.orelse))

    def _walrus(self, node: ast.NamedExpr) -> Node:
        return _walrus(self.of(node.target), self.of(node.value))

    def _await(self, node: ast.Await) -> Node:
        return _await(self.of(node.value))

    def _yield(self, node: ast.Yield) -> Node:
        return _yield(self.optional(node.value))

    def _yield_from(self, node: ast.YieldFrom) -> Node:
        return _yield(from_(self.of(node.value)))

    # -- calls and subscripts --------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Node:
        return _call(self.of(node.func), self.arguments(node.args, node.keywords))

    def arguments(self, args: list[ast.expr], keywords: list[ast.keyword]) -> list[Node]:
        """The arguments in source order."""
        if not keywords:
            return [self._argument(arg) for arg in args]
        places: list[Any] = [*args, *keywords]
        if args and (args[-1].lineno, args[-1].col_offset) > (keywords[0].lineno, keywords[0].col_offset):
            places.sort(key=lambda part: (part.lineno, part.col_offset))
        return [self._keyword(p) if p.__class__ is ast.keyword else self._argument(p) for p in places]

    def _argument(self, arg: ast.expr) -> Node:
        if arg.__class__ is ast.Starred:
            return _arg(self.of(arg.value), None, "*")
        return _arg(self.of(arg), None, "")

    def _keyword(self, keyword: ast.keyword) -> Node:
        value = self.of(keyword.value)
        return _arg(value, None, "**") if keyword.arg is None else _arg(value, self.named(keyword.arg, keyword), "")

    def named(self, word: str, node: ast.keyword | ast.arg | ast.alias) -> Node:
        """The name that a node begins with."""
        made = name(word)
        self.places[made] = node
        return made

    def _subscript(self, node: ast.Subscript) -> Node:
        value, where = self.of(node.value), node.slice
        if where.__class__ is ast.Tuple and not self.source.is_parenthesized(where):
            return _subscript(value, [_subscript_element(self._slice(part)) for part in where.elts])
        return _subscript(value, [_subscript_element(self._slice(where))])

    def _slice(self, node: ast.expr) -> Node:
        if node.__class__ is ast.Slice:
            lower, upper, step = node.lower, node.upper, node.step
            return _slice(self.optional(lower), self.optional(upper), self.optional(step))
        if node.__class__ is ast.Starred:
            return _index(self.of(node.value), "*")
        return _index(self.of(node), None)

    # -- collections -----------------------------------------------------------------------------

    def _elements(self, nodes: list[ast.expr]) -> list[Node]:
        return [self.of(node) if node.__class__ is ast.Starred else element(self.of(node)) for node in nodes]

    def _starred(self, node: ast.Starred) -> Node:
        return _starred(self.of(node.value))

    def _list(self, node: ast.List) -> Node:
        return _list(self._elements(node.elts))

    def _tuple(self, node: ast.Tuple) -> Node:
        return _tuple(self._elements(node.elts))

    def tuple_of(self, nodes: list[ast.expr]) -> Node:
        """A tuple without parentheses, such as the targets of ``del``."""
        return _tuple(self._elements(nodes))

    def _set(self, node: ast.Set) -> Node:
        return _set(self._elements(node.elts))

    def _dict(self, node: ast.Dict) -> Node:
        return _dict(
            [
                _dict_element(self.of(key), self.of(value)) if key is not None else _starred_dict(self.of(value))
                for key, value in zip(node.keys, node.values, strict=True)
            ]
        )

    # -- comprehensions and lambdas --------------------------------------------------------------

    def _list_comp(self, node: ast.ListComp) -> Node:
        return _list_comp(self.of(node.elt), self._loops(node.generators))

    def _set_comp(self, node: ast.SetComp) -> Node:
        return _set_comp(self.of(node.elt), self._loops(node.generators))

    def _generator(self, node: ast.GeneratorExp) -> Node:
        return _generator(self.of(node.elt), self._loops(node.generators))

    def _dict_comp(self, node: ast.DictComp) -> Node:
        return _dict_comp(self.of(node.key), self.of(node.value), self._loops(node.generators))

    def _loops(self, generators: list[ast.comprehension]) -> Node:
        inner = None
        for part in reversed(generators):
            ifs = [_comp_if(self.of(test)) for test in part.ifs]
            turn = ASYNCHRONOUS if part.is_async else None
            inner = _comp_for(self.of(part.target), self.of(part.iter), ifs, inner, turn)
        return inner

    def _lambda(self, node: ast.Lambda) -> Node:
        return _lambda(self.parameters(node.args), self.of(node.body))

    def parameters(self, given: ast.arguments) -> Node:
        """The parameters of a function or lambda."""
        plain = [*given.posonlyargs, *given.args]
        defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
        params = [self._param(arg, default) for arg, default in zip(plain, defaults, strict=True)]
        named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        keyword_only = [self._param(arg, default) for arg, default in named]
        star: Node = cst.MaybeSentinel.DEFAULT
        if given.vararg is not None:
            star = self._param(given.vararg, None, "*")
        elif keyword_only:
            star = _param_star()
        rest = self._param(given.kwarg, None, "**") if given.kwarg is not None else None
        split = len(given.posonlyargs)
        return _parameters(params[split:], star, keyword_only, rest, params[:split])

    def _param(self, arg: ast.arg, default: ast.expr | None, star: str = "") -> Node:
        promised = annotation_of(self.of(arg.annotation)) if arg.annotation is not None else None
        return _param(self.named(arg.arg, arg), promised, self.optional(default), star)


def _move(node: ast.expr | ast.keyword | ast.arg, around: Place) -> None:
    """Move a node of text that was parsed in parentheses to where the text is."""
    if node.lineno == 1:
        node.col_offset += around.col_offset - 1
    if node.end_lineno == 1:
        node.end_col_offset = (node.end_col_offset or 0) + around.col_offset - 1
    node.lineno += around.lineno - 1
    node.end_lineno = (node.end_lineno or 1) + around.lineno - 1


_FINDERS: dict[type[ast.AST], Callable[[Expressions, Any], Node]] = {
    ast.Name: Expressions._name,
    ast.Constant: Expressions._constant,
    ast.JoinedStr: Expressions._string,
    ast.Attribute: Expressions._attribute,
    ast.BinOp: Expressions._binary,
    ast.BoolOp: Expressions._boolean,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._comparison,
    ast.IfExp: Expressions._if,
    ast.NamedExpr: Expressions._walrus,
    ast.Await: Expressions._await,
    ast.Yield: Expressions._yield,
    ast.YieldFrom: Expressions._yield_from,
    ast.Call: Expressions._call,
    ast.Subscript: Expressions._subscript,
    ast.Starred: Expressions._starred,
    ast.List: Expressions._list,
    ast.Tuple: Expressions._tuple,
    ast.Set: Expressions._set,
    ast.Dict: Expressions._dict,
    ast.ListComp: Expressions._list_comp,
    ast.SetComp: Expressions._set_comp,
    ast.GeneratorExp: Expressions._generator,
    ast.DictComp: Expressions._dict_comp,
    ast.Lambda: Expressions._lambda,
}
