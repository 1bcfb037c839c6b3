"""No regular expression can be made slow: none can read a repetitive text in two ways, which its form tells."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import torchlint
from tests.regex_growth import ambiguity
from torchlint.prefilter.needs import TextPattern, compiled
from torchlint.text import comments

Compiled = re.Pattern[Any]
APART = ("torchlint.runtime", "torchlint.pytest_plugin", "torchlint.__main__")


def modules() -> Iterator[ModuleType]:
    """Every module of the static side."""
    for found in pkgutil.walk_packages(torchlint.__path__, "torchlint."):
        if not found.name.startswith(APART):
            yield importlib.import_module(found.name)


def patterns_in(value: object, depth: int = 0) -> Iterator[Compiled]:
    """The compiled patterns in a value, also inside classes, records and collections."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, TextPattern):
        yield compiled(value.source)
    elif depth < 4 and isinstance(value, Mapping):
        yield from patterns_among(value.values(), depth)
    elif depth < 4 and isinstance(value, (tuple, list, set, frozenset)):
        yield from patterns_among(value, depth)
    elif depth < 4 and isinstance(value, type) and value.__module__.startswith("torchlint"):
        yield from patterns_among(getattr(value, "__dict__", {}).values(), depth)


def patterns_among(values: Iterable[object], depth: int) -> Iterator[Compiled]:
    for value in list(values):
        yield from patterns_in(value, depth + 1)


def literals(module: ModuleType) -> Iterator[Compiled]:
    """Patterns that stand in calls which search, such as ``re.split("..", text)``."""
    tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args):
        searching = ast.unparse(call.func) in ("re.search", "re.findall", "re.finditer", "re.split", "re.sub")
        if searching and isinstance(call.args[0], ast.Constant):
            yield re.compile(call.args[0].value, re.DOTALL if "DOTALL" in ast.unparse(call) else 0)


def is_searched(name: str, module: ModuleType) -> bool:
    """Whether more is done with a pattern than to hold it against one place of a text."""
    source = Path(module.__file__ or "").read_text(encoding="utf-8")
    return (
        set(re.findall(rf"\b{name}(?:\.pattern)?\.(\w+)\(", source)) - {"match", "fullmatch"} != set()
        or f"{name}." not in source
    )


@cache
def every_pattern() -> list[Compiled]:
    found = {
        pattern
        for module in modules()
        for name, value in vars(module).items()
        for pattern in patterns_in(value)
        if not isinstance(value, re.Pattern) or is_searched(name, module)
    }
    found |= {pattern for module in modules() for pattern in literals(module)}
    found |= set(patterns_in(comments._patterns()))
    return sorted(found, key=lambda pattern: str(pattern.pattern))


def test_no_text_makes_a_search_slow() -> None:
    found = {pattern.pattern: ambiguity(pattern) for pattern in every_pattern()}
    slow = {pattern: text for pattern, text in found.items() if text is not None}
    assert not slow, "each of these may read repetitions of the text behind it in two ways"


@pytest.mark.parametrize("source", [r"(?:a+)+b", r"\w*Tensor\(", r"\s*\n\s*x", r"#.*!", r"(?:\w+\.)*\w+\s*="])
def test_patterns_that_take_more_than_linear_time_are_told(source: str) -> None:
    assert ambiguity(re.compile(source)) is not None


@pytest.mark.parametrize("source", [r"a+b?", r"\bdef\s+\w+", r"\.to\(", r"(?:\A|\n)#[^\n]*\n", r"a{0,80}b"])
def test_linear_patterns_are_left_alone(source: str) -> None:
    assert ambiguity(re.compile(source)) is None


def test_every_pattern_is_collected() -> None:
    found = {str(pattern.pattern) for pattern in every_pattern()}
    assert any("noqa" in text for text in found)  # of a module
    assert any("zero_grad" in text for text in found)  # of what a rule needs
