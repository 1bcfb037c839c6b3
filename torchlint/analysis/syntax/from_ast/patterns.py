"""Converts the patterns of ``match`` statements to LibCST nodes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import libcst as cst

from torchlint.analysis.syntax.from_ast.expressions import Expressions, name
from torchlint.analysis.syntax.from_ast.make import Node, maker

_value = maker(cst.MatchValue, "value")
_singleton = maker(cst.MatchSingleton, "value")
_list = maker(cst.MatchList, "patterns")
_tuple = maker(cst.MatchTuple, "patterns")
_element = maker(cst.MatchSequenceElement, "value")
_star = maker(cst.MatchStar, "name")
_mapping = maker(cst.MatchMapping, "elements", "rest")
_mapped = maker(cst.MatchMappingElement, "key", "pattern")
_class = maker(cst.MatchClass, "cls", "patterns", "kwds")
_keyword = maker(cst.MatchKeywordElement, "key", "pattern")
_as = maker(cst.MatchAs, "pattern", "name")
_or = maker(cst.MatchOr, "patterns")
_alternative = maker(cst.MatchOrElement, "pattern")


def pattern_of(maker: Expressions, node: ast.pattern) -> Node:
    """The node for a pattern."""
    made = _PATTERNS[node.__class__](maker, node)
    maker.places[made] = node
    return made


def _name(given: str | None) -> Node:
    return name(given) if given is not None else None


def _of_sequence(maker: Expressions, node: ast.MatchSequence) -> Node:
    make = _tuple if maker.source.segment(node).startswith("(") else _list
    return make([_part(maker, part) for part in node.patterns])


def _part(maker: Expressions, node: ast.pattern) -> Node:
    if isinstance(node, ast.MatchStar):
        return _star(_name(node.name))
    return _element(pattern_of(maker, node))


def _of_mapping(maker: Expressions, node: ast.MatchMapping) -> Node:
    pairs = zip(node.keys, node.patterns, strict=True)
    return _mapping([_mapped(maker.of(key), pattern_of(maker, part)) for key, part in pairs], _name(node.rest))


def _of_class(maker: Expressions, node: ast.MatchClass) -> Node:
    named = zip(node.kwd_attrs, node.kwd_patterns, strict=True)
    return _class(
        maker.of(node.cls),
        [_part(maker, part) for part in node.patterns],
        [_keyword(name(key), pattern_of(maker, part)) for key, part in named],
    )


def _of_as(maker: Expressions, node: ast.MatchAs) -> Node:
    return _as(pattern_of(maker, node.pattern) if node.pattern is not None else None, _name(node.name))


_PATTERNS: dict[type[ast.AST], Callable[[Expressions, Any], Node]] = {
    ast.MatchValue: lambda maker, node: _value(maker.of(node.value)),
    ast.MatchSingleton: lambda _, node: _singleton(name(repr(node.value))),
    ast.MatchSequence: _of_sequence,
    ast.MatchMapping: _of_mapping,
    ast.MatchClass: _of_class,
    ast.MatchAs: _of_as,
    ast.MatchOr: lambda maker, node: _or([_alternative(pattern_of(maker, part)) for part in node.patterns]),
}
