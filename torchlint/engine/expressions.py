"""Expressions: their values, and what evaluating them does."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchlint.engine.arguments import OTHERS
from torchlint.engine.chosen import compared_text
from torchlint.engine.conditions import off, truth
from torchlint.engine.containers import forget_options
from torchlint.engine.frames import Function, Scope
from torchlint.engine.operations import compared, contained, folded, identical, is_foreign, operate
from torchlint.engine.origins import read_among
from torchlint.engine.paths import filled, joined, text_of
from torchlint.engine.state import Left, Returned
from torchlint.engine.union import join, join_all
from torchlint.engine.values import (
    FLAG,
    MASK,
    NONE,
    NUMBER,
    PLAIN,
    SEQUENCES,
    UNKNOWN,
    Counted,
    Device,
    Kind,
    Value,
    collection,
    constant,
    library,
    sequence,
    tensor,
)
from torchlint.knowledge import forms

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_ITEMS = 24  # of a list that are known one by one
_UNROLLED = 16  # rounds of a comprehension


class Expressions:
    """Evaluates expressions."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state

    def evaluate(self, node: ast.expr, scope: Scope) -> Value:
        """The value of an expression."""
        follow = _FOLLOW.get(type(node))
        if follow is not None:
            value = follow(self, node, scope)
            if value.kind is Kind.TENSOR and value.sure:
                self._state.note(value, node, scope)
            return value
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child, scope)
        return UNKNOWN

    def safely(self, node: ast.expr, scope: Scope) -> Value:
        """The value of an expression outside of the flow of statements, such as a default."""
        try:
            return self.evaluate(node, scope)
        except (Returned, Left):
            return UNKNOWN

    # -- names and literals ------------------------------------------------------------------------

    def _constant(self, node: ast.Constant, scope: Scope) -> Value:
        return constant(node.value)

    def _name(self, node: ast.Name, scope: Scope) -> Value:
        found = scope.get(node.id)
        if found is not None:
            return found
        if node.id in BUILTINS:
            return library(f"builtins.{node.id}")
        star = scope.module.names.get("*")
        return library(f"{star.detail}.{node.id}") if star is not None else UNKNOWN

    def _awaited(self, node: ast.Await, scope: Scope) -> Value:
        return self.evaluate(node.value, scope)

    def _starred(self, node: ast.Starred, scope: Scope) -> Value:
        return self.evaluate(node.value, scope)

    def _named(self, node: ast.NamedExpr, scope: Scope) -> Value:
        value = self.evaluate(node.value, scope)
        self._engine.assign(node.target, value, scope)
        return value

    def _lambda_(self, node: ast.Lambda, scope: Scope) -> Value:
        return Value(Kind.FUNCTION, "<lambda>", target=Function(node, scope, self._state.frame))

    def _yielded(self, node: ast.Yield, scope: Scope) -> Value:
        value = self.evaluate(node.value, scope) if node.value is not None else NONE
        if scope.yielded is not None:
            scope.yielded.append(value)
            for region in self._state.region.around():
                region.yields = True
        return UNKNOWN

    def _yield_from(self, node: ast.YieldFrom, scope: Scope) -> Value:
        value = self.evaluate(node.value, scope)
        if scope.yielded is not None:
            scope.yielded.append(self._engine.containers.element(value, node, scope))
            self._state.region.yields = True
            self._engine.containers.consume(value, node)
        return UNKNOWN

    # -- displays ----------------------------------------------------------------------------------

    def _tuple_display(self, node: ast.Tuple | ast.List | ast.Set, scope: Scope) -> Value:
        items: list[Value] = []
        for element in node.elts:
            value = self.evaluate(element, scope)
            items += value.items if isinstance(element, ast.Starred) and value.kind is Kind.TUPLE else [value]
        return sequence(items)

    def _list_display(self, node: ast.List, scope: Scope) -> Value:
        found = self._tuple_display(node, scope)
        known = 0 < len(found.items) <= _ITEMS and not any(isinstance(element, ast.Starred) for element in node.elts)
        return found if known else collection(join_all(found.items) if found.items else None)

    def _set_display(self, node: ast.Set, scope: Scope) -> Value:
        return collection(join_all(self._tuple_display(node, scope).items))

    def _dict_display(self, node: ast.Dict, scope: Scope) -> Value:
        found, others = Value(Kind.DICT), False
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.evaluate(item, scope)
            name = self.evaluate(key, scope) if key is not None else None
            if name is None:
                if value.kind is not Kind.DICT or value.detail == OTHERS:
                    others = True
                    forget_options(found)
                if value.kind is Kind.DICT:
                    found.fields.update(value.fields)
                    found.element = join(found.element, value.element) if value.element else found.element
            elif name.kind is Kind.CONSTANT and isinstance(name.detail, (str, int)):
                self._state.note_key(name.detail)
                found.fields[name.detail] = value
            else:
                found.element = join(found.element, value)
        return Value(Kind.DICT, OTHERS, fields=found.fields, element=found.element) if others else found

    def _formatted_string(self, node: ast.JoinedStr, scope: Scope) -> Value:
        texts = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            value = self.evaluate(inner, scope)
            if inner is not part:
                self._state.reads(value, inner, scope, forms.FORMATTED)
            texts.append(text_of(value))
        return joined(texts)

    # -- comprehensions ----------------------------------------------------------------------------

    def _list_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope) -> Value:
        return self._comprehend(node, scope, lambda inner: self._branch(node.elt, inner))

    def _dict_comprehension(self, node: ast.DictComp, scope: Scope) -> Value:
        def pair(inner: Scope) -> Value:
            self._branch(node.key, inner)
            return self._branch(node.value, inner)

        found = self._comprehend(node, scope, pair)
        return Value(Kind.DICT, element=found.element if found.kind is Kind.LIST else join_all(found.items))

    def _comprehend(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        scope: Scope,
        make: Callable[[Scope], Value],
    ) -> Value:
        inner, saved = Scope({}, scope.module, scope), self._state.region
        iterable = UNKNOWN
        try:
            for clause in node.generators:
                iterable = self.evaluate(clause.iter, inner)
                self._state.enter("loop", clause.iter)
                self._engine.containers.iterate(iterable, clause.iter)
                self._engine.assign(clause.target, self._engine.containers.element(iterable, clause.iter, inner), inner)
                for test in clause.ifs:
                    self._state.waits(self.evaluate(test, inner), test, scope, forms.CONDITION)
            first = node.generators[0]
            one_by_one = len(node.generators) == 1 and iterable.kind is Kind.TUPLE and not first.ifs
            if not one_by_one or not 1 < len(iterable.items) <= _UNROLLED:
                return collection(make(inner))
            made = []
            for item in iterable.items:
                self._engine.assign(first.target, item, inner)
                made.append(make(inner))
            return sequence(made)
        finally:
            self._state.region = saved

    # -- conditions --------------------------------------------------------------------------------

    def _conditional(self, node: ast.IfExp, scope: Scope) -> Value:
        test = self.evaluate(node.test, scope)
        self._state.waits(test, node.test, scope, forms.CONDITION)
        outcome = truth(test)
        if outcome is not None:
            return self._branch(node.body if outcome else node.orelse, scope)
        found: Value | None = None
        for holds, branch in ((True, node.body), (False, node.orelse)):
            rare = test.rarely == (1 if holds else -1)
            with self._state.inside("guard", node, holds, rare=rare, option=off(test, holds)):
                found = join(found, self._branch(branch, scope))
        return found or UNKNOWN

    def _branch(self, node: ast.expr, scope: Scope) -> Value:
        self._state.ran[node][self._state.region] = self._state.frame
        return self.evaluate(node, scope)

    def _boolean(self, node: ast.BoolOp, scope: Scope) -> Value:
        conjunction, saved = isinstance(node.op, ast.And), self._state.region
        values: list[Value] = []
        try:
            for place, operand in enumerate(node.values):
                value = self._branch(operand, scope)
                values.append(value)
                if place < len(node.values) - 1:
                    self._state.waits(value, operand, scope, forms.CONDITION)
                outcome = truth(value)
                if outcome is not None and outcome is not conjunction:
                    return (
                        value
                        if len(values) == 1 or value.kind is Kind.CONSTANT
                        else self._combined(values, conjunction)
                    )
                if outcome is conjunction and place < len(node.values) - 1:
                    values.pop()  # which decides nothing
                if value.rarely or value.option:
                    rare = value.rarely == (1 if conjunction else -1)
                    self._state.enter("guard", node, place, rare=rare, option=off(value, conjunction))
        finally:
            self._state.region = saved
        return self._combined(values, conjunction)

    def _combined(self, values: list[Value], conjunction: bool) -> Value:
        """The value of ``and`` or ``or`` that nothing decides."""
        if all(value.kind is Kind.CONSTANT and value.sure and not value.option for value in values):
            return values[-1]
        mode = 1 if conjunction else -1
        opposite = -mode if all(v.rarely == -mode for v in values) else 0
        rarely = mode if any(v.rarely == mode for v in values) else opposite
        options = [value.option for value in values if value.option is not None]
        without = [option for option in options if option.on is not conjunction]
        decides = without if conjunction else options if len(options) == len(values) else []
        option = next(iter(without or decides), None)
        others = [v for v in values if v.kind not in (*PLAIN, Kind.UNKNOWN, Kind.METHOD)]
        if not others or rarely or option:
            return Value(Kind.FLAG, rarely=rarely, option=option)
        tensors = [v.kind is Kind.TENSOR for v in values]
        if conjunction and any(tensors) and not all(tensors):
            return values[-1] if values[-1].kind is Kind.TENSOR else UNKNOWN
        return join_all(values)

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.evaluate(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return self._negated(value, node, scope)
        if value.kind is Kind.CONSTANT and isinstance(node.op, ast.USub) and isinstance(value.detail, (int, float)):
            return constant(-value.detail)
        return value if value.kind in (Kind.TENSOR, Kind.ARRAY, Kind.UNKNOWN) else NUMBER

    def _negated(self, value: Value, node: ast.UnaryOp, scope: Scope) -> Value:
        self._state.waits(value, node, scope, forms.CONDITION)
        outcome = truth(value)
        if outcome is not None:
            return constant(not outcome)
        rarely = -value.rarely or int(value.detail is Counted.REMAINDER)
        known = value.option is not None and value.option.on is not None
        option = value.option._replace(on=not value.option.on) if known and value.option else value.option
        return Value(Kind.FLAG, rarely=rarely, option=option)

    # -- comparisons -------------------------------------------------------------------------------

    def _comparison(self, node: ast.Compare, scope: Scope) -> Value:
        left = self.evaluate(node.left, scope)
        others = [self.evaluate(other, scope) for other in node.comparators]
        right, operation = others[0], node.ops[0]
        if not self._state.assuming and right.kind in _TOLD:
            left = compared_text(node.left, left, scope.module, self._engine.program)
        if isinstance(operation, (ast.Is, ast.IsNot)):
            return identical(left, right, isinstance(operation, ast.Is))
        if isinstance(operation, (ast.In, ast.NotIn)):
            return self._contained(left, right, node, scope)
        for value in (left, *others):
            self._state.uses(value, node)
        if any(value.kind is Kind.TENSOR for value in (left, *others)):
            if any(is_foreign(value) for value in (left, *others)):
                return FLAG
            found = operate(left, right, None)
            unknown = any(value.kind is Kind.UNKNOWN for value in (left, *others))
            sure = (found.sure and not unknown) or (left.sure and left.kind is Kind.TENSOR)
            return tensor(found.device or Device.UNKNOWN, sure=sure, detail=MASK, origin=found.origin)
        read = read_among([left, right])
        if read is not None and Kind.ARRAY in (left.kind, right.kind):
            return Value(Kind.ARRAY, origin=read)
        return compared(left, right, operation, len(others))

    def _contained(self, left: Value, right: Value, node: ast.Compare, scope: Scope) -> Value:
        expected = isinstance(node.ops[0], ast.In)
        options = self._state.stored.get(left.detail, _USUAL) if left.is_text else _USUAL
        found = contained(left, right, options, expected)
        if found is not None:
            return found
        if right.kind in SEQUENCES:
            self._state.waits(left, node, scope, forms.LOOKED_UP)
        if not right.is_batch and not left.is_text:
            self._state.waits(right, node, scope, forms.CONTAINED)
        return Value(Kind.FLAG, rarely=int(expected and left.detail is Counted.STEPS))

    # -- operations --------------------------------------------------------------------------------

    def _binary(self, node: ast.BinOp, scope: Scope) -> Value:
        left, right = self.evaluate(node.left, scope), self.evaluate(node.right, scope)
        for value in (left, right):
            self._state.uses(value, node)
        if isinstance(node.op, ast.Mod) and left.is_text:
            self._state.reads(right, node, scope, forms.FORMATTED)
            return filled(left, right.items if right.kind is Kind.TUPLE else [right])
        if isinstance(node.op, ast.Mult) and (left.kind in SEQUENCES or left.is_text):
            self._state.waits(right, node, scope, forms.SIZE)
        known = folded(left, right, node.op)
        return known if known is not None else operate(left, right, node.op)

    # -- members -----------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        owner = self.evaluate(node.value, scope)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices: list[Value | None] = []
        for part in parts:
            if isinstance(part, ast.Slice):
                self._bounds(owner, part, scope)
                indices.append(None)
            else:
                indices.append(self.evaluate(part, scope))
        for index in indices:
            if index is not None:
                self._state.uses(index, node)
                self._state.may_wait(index)
        return self._engine.memory.part(owner, self._engine.containers.item(owner, indices, node, scope), node)

    def _bounds(self, owner: Value, part: ast.Slice, scope: Scope) -> None:
        for bound in (part.lower, part.upper, part.step):
            value = self.evaluate(bound, scope) if bound is not None else None
            if value is not None and (owner.kind in _SLICED or owner.is_text):
                self._state.waits(value, bound, scope, forms.BOUND)  # type: ignore[arg-type]

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        return self._engine.attributes.of(self.evaluate(node.value, scope), node.attr, node, scope)

    def _call(self, node: ast.Call, scope: Scope) -> Value:
        return self._engine.calls.evaluate(node, scope)


_USUAL = (None,)  # no option: a normal run stores something under a key
_TOLD = frozenset({Kind.CONSTANT, Kind.TUPLE})  # of which options of option files may be
_SLICED = frozenset({Kind.TENSOR, Kind.LIST, Kind.TUPLE, Kind.ARRAY, Kind.TEXT})
BUILTINS = frozenset(dir(builtins))
_FOLLOW: dict[type, Callable[[Expressions, Any, Scope], Value]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Await: Expressions._awaited,
    ast.Starred: Expressions._starred,
    ast.NamedExpr: Expressions._named,
    ast.Lambda: Expressions._lambda_,
    ast.Yield: Expressions._yielded,
    ast.YieldFrom: Expressions._yield_from,
    ast.Tuple: Expressions._tuple_display,
    ast.List: Expressions._list_display,
    ast.Set: Expressions._set_display,
    ast.Dict: Expressions._dict_display,
    ast.JoinedStr: Expressions._formatted_string,
    ast.ListComp: Expressions._list_comprehension,
    ast.DictComp: Expressions._dict_comprehension,
    ast.IfExp: Expressions._conditional,
    ast.BoolOp: Expressions._boolean,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._comparison,
    ast.BinOp: Expressions._binary,
    ast.Subscript: Expressions._subscript,
    ast.Attribute: Expressions._attribute,
    ast.Call: Expressions._call,
    ast.SetComp: Expressions._list_comprehension,
    ast.GeneratorExp: Expressions._list_comprehension,
}
