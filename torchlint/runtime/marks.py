"""Marks: flagged expressions, rewritten so that their evaluations are counted and timed.

``EXPR`` becomes ``end(begin(i), EXPR)``. Arguments are evaluated in order and nothing moves to another scope, so
assignment expressions, ``yield``, ``await`` and ``super()`` keep their meaning; tracebacks show the original positions.
Findings on statements get a call before (and after) the statement. Code is compiled in memory: neither source files nor
cached bytecode are modified.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns
from types import CodeType, ModuleType
from typing import Any

import torch

from torchlint.runtime.files import Files
from torchlint.runtime.phases import Ledger
from torchlint.runtime.recorder import Count
from torchlint.runtime.values import tensors_in

_BEGIN, _END, _PASS = "_torchlint_begin", "_torchlint_end", "_torchlint_pass"
_Span = tuple[int, int, int, int]


@dataclass
class Mark:
    """A flagged span: its findings, its file, its position in the ``ast``, what to record, and what was recorded.

    ``begun`` and ``ended`` count evaluations, ``changed`` those that changed a backend flag, ``tensors`` those whose
    result contains a tensor, ``graphs`` those whose result contains one with an autograd graph. ``leaves`` says that
    the span is a statement whose end is not seen, such as ``return``.
    """

    ids: list[str]
    path: str
    span: _Span
    evaluations: Count
    notes: set[str] = field(default_factory=set)
    placed: bool = False
    begun: int = 0
    ended: int = 0
    changed: int = 0
    tensors: int = 0
    graphs: int = 0
    leaves: bool = False

    def written(self) -> dict[str, Any]:
        """The counts as plain data."""
        return {
            "placed": self.placed,
            "begun": self.begun,
            "ended": self.ended,
            "changed": self.changed,
            "tensors": self.tensors,
            "graphs": self.graphs,
            "evaluations": self.evaluations.written(),
        }

    def look_at(self, value: Any) -> None:
        """Record whether a result has an autograd graph."""
        found = [tensor.grad_fn is not None for tensor in tensors_in(value)]
        self.tensors += bool(found)
        self.graphs += any(found)


class Marks:
    """The marks of all files, and the functions that marked code calls.

    Evaluations in steps that are ``excluded``, since they are profiled, are counted without their time.
    """

    def __init__(self, wanted: Mapping[str, Sequence[Mapping[str, Any]]], ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self.by_file: dict[str, list[Mark]] = {}
        self._all: list[Mark] = []
        for path, places in wanted.items():
            own: dict[_Span, Mark] = {}
            for place in places:
                line, column, end_line, end_column = place["span"]
                span = (line, column, end_line, end_column)
                mark = own.get(span)
                if mark is None:
                    mark = own[span] = Mark([], os.path.realpath(path), span, Count(self._ledger))
                    self._all.append(mark)
                mark.ids.append(place["id"])
                if place.get("notes"):
                    mark.notes.add(place["notes"])
            self.by_file[os.path.realpath(path)] = list(own.values())
        self.files = Files(self.by_file)
        self._numbers = {id(mark): number for number, mark in enumerate(self._all)}
        self._before: dict[int, Any] = {}
        self.excluded = False
        self.other: Callable[[bytes, str], CodeType | None] = lambda source, path: None

    def forked(self) -> None:
        """Reset the counts in a child process."""
        self.excluded = False
        for mark in self._all:
            mark.begun = mark.ended = mark.changed = mark.tensors = mark.graphs = 0
            mark.evaluations = Count(self._ledger)

    def written(self) -> dict[str, dict[str, Any]]:
        """What was counted, by the id of the finding."""
        return {
            name: {**mark.written(), "loaded": self.files.loaded(mark.path)} for mark in self._all for name in mark.ids
        }

    # -- what marked code calls --------------------------------------------------------------------

    def install(self) -> None:
        """Make the functions available to marked code."""
        marks = self._all
        is_compiling, now = torch.compiler.is_compiling, perf_counter_ns

        def begin(number: int) -> int:
            if is_compiling():
                return 0
            marks[number].begun += 1
            return now()

        def end(start: int, number: int, value: Any) -> Any:
            if not start:  # a graph is being traced
                return value
            spent = now() - start
            mark = marks[number]
            mark.ended += 1
            mark.evaluations.add(0, 0 if self.excluded else spent)
            if "graphs" in mark.notes:
                mark.look_at(value)
            return value

        for name, function in ((_BEGIN, begin), (_END, end), (_PASS, self._passing(is_compiling))):
            setattr(builtins, name, function)

    def _passing(self, is_compiling: Any) -> Any:
        def passing(number: int, *, after: bool) -> None:
            if is_compiling():
                return
            mark = self._all[number]
            if not after:
                mark.begun += 1
                if mark.leaves:
                    mark.evaluations.add(0, 0)
                self._before[number] = (perf_counter_ns(), flags_now() if "flags" in mark.notes else None)
                return
            started, before = self._before.pop(number, (perf_counter_ns(), None))
            mark.ended += 1
            mark.evaluations.add(0, 0 if self.excluded else perf_counter_ns() - started)
            if "flags" in mark.notes and before != flags_now():
                mark.changed += 1

        return passing

    # -- rewriting ---------------------------------------------------------------------------------

    def compile(self, source: bytes, path: str) -> CodeType:
        """Compile a file with its marks, or as ``other`` compiles it. Raises what compiling raises."""
        found = self.other(source, path)
        if found is not None:
            return found
        marks = self.by_file.get(os.path.realpath(path), [])
        tree = ast.parse(source, path)
        if marks:
            place(tree, {mark.span: (self._numbers[id(mark)], mark) for mark in marks})
        code: CodeType = compile(tree, path, "exec", dont_inherit=True)
        return code


def place(tree: ast.Module, wanted: dict[_Span, tuple[int, Mark]]) -> None:
    """Mark the expressions with these spans; if there is no such expression, mark the statement."""
    _Expressions(wanted).visit(tree)
    left = {span: found for span, found in wanted.items() if not found[1].placed}
    if left:
        _statements(tree, left)


class _Expressions(ast.NodeTransformer):
    def __init__(self, wanted: dict[_Span, tuple[int, Mark]]) -> None:
        self._wanted = wanted

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Skip f-strings, whose positions are not reliable before Python 3.12."""
        return self.generic_visit(node) if sys.version_info >= (3, 12) else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Skip annotations, which are not evaluated like expressions."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Wrap a flagged expression."""
        super().generic_visit(node)
        if not isinstance(node, ast.expr) or isinstance(node, (ast.Starred, ast.FormattedValue)):
            return node
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return node
        number, mark = self._wanted.get(span_of(node), (0, None))
        if mark is None or mark.placed or "flags" in mark.notes:
            return node
        mark.placed = True
        return _at(node, _call(_END, [_call(_BEGIN, [ast.Constant(number)]), ast.Constant(number), node]))


def span_of(node: ast.expr | ast.stmt) -> _Span:
    """The span of a node."""
    return (node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)


def _call(name: str, arguments: list[ast.expr], **keywords: bool) -> ast.Call:
    given = [ast.keyword(key, ast.Constant(value)) for key, value in keywords.items()]
    return ast.Call(ast.Name(name, ast.Load()), arguments, given)


def _at(place: ast.expr | ast.stmt, made: Any) -> Any:
    """Give new nodes the position of ``place``; others keep theirs."""
    for node in ast.walk(made):
        if isinstance(node, (ast.expr, ast.stmt, ast.keyword)) and not hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return made


def _statements(tree: ast.Module, wanted: dict[_Span, tuple[int, Mark]]) -> None:
    """Mark the smallest statement that contains each span."""
    for span, (number, mark) in wanted.items():
        found = _smallest(tree, span)
        if found is None:
            continue
        body, index = found
        statement = body[index]
        before = _at(statement, ast.Expr(_call(_PASS, [ast.Constant(number)], after=False)))
        after = _at(statement, ast.Expr(_call(_PASS, [ast.Constant(number)], after=True)))
        mark.leaves = isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue))
        body[index : index + 1] = [before, statement] if mark.leaves else [before, statement, after]
        mark.placed = True


def _smallest(tree: ast.AST, span: _Span) -> tuple[list[ast.stmt], int] | None:
    best: tuple[list[ast.stmt], int] | None = None
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            for index, statement in enumerate(body):
                if isinstance(statement, ast.stmt) and _holds(statement, span) and not _is_first(node, index, body):
                    best = (body, index)
    return best


def _holds(statement: ast.stmt, span: _Span) -> bool:
    own = span_of(statement)
    return own[:2] <= span[:2] and span[2:] <= own[2:]


def _is_first(node: ast.AST, index: int, body: list[ast.stmt]) -> bool:
    """A docstring or an import from ``__future__``, before which nothing can be inserted."""
    statement = body[index]
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return True
    named = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    return named and index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def layer_flags() -> tuple[bool, ...]:
    """The current flags that layers depend on: cuDNN's enabled, benchmark and deterministic, and the algorithms'."""
    c = torch._C
    return (
        c._get_cudnn_enabled(),
        c._get_cudnn_benchmark(),
        c._get_cudnn_deterministic(),
        c._get_deterministic_algorithms(),
    )


def flags_now() -> tuple[object, ...]:
    """The current backend flags."""
    c = torch._C
    return (
        *layer_flags(),
        _quietly(c._get_cudnn_allow_tf32),
        _quietly(c._get_cublas_allow_tf32),
        _quietly(c._get_float32_matmul_precision),
        torch.is_anomaly_enabled(),
    )


def _quietly(read: Any) -> object:
    try:
        return read()
    except RuntimeError:  # the old and new interfaces for TF32 were mixed
        return None


class Finder(importlib.abc.MetaPathFinder):
    """An import hook that compiles files with their marks, and writes no bytecode."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find marked files; leave all others to the other finders."""
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        plain = spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader
        if spec is None or not plain or not spec.origin:
            return None
        if os.path.realpath(spec.origin) not in self._marks.by_file:
            return None
        spec.loader = _Loader(name, spec.origin, self._marks)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, marks: Marks) -> None:
        super().__init__(name, path)
        self._marks = marks

    def get_code(self, fullname: str) -> CodeType:
        """Compile with marks, ignoring cached bytecode."""
        path = self.get_filename(fullname)
        return self._marks.compile(self.get_data(path), path)
