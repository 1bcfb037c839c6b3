"""No regular expression can be made slow: what is long and repetitive takes time in proportion."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import torchlint
from torchlint.base import limits
from torchlint.prefilter.needs import Spelled, Text, compiled
from torchlint.text import comments

Compiled = re.Pattern[Any]
APART = ("torchlint.runtime", "torchlint.pytest_plugin", "torchlint.__main__")
SIZE = 20_000
# Nothing is quadratic that takes less than so many seconds for a text of that size.
HARMLESS = 0.01
REPEATED = [
    "a",
    "a ",
    "a.",
    "a,",
    "a(",
    "a[",
    "a-",
    "_",
    "0",
    " ",
    "\t",
    "\n",
    "\n ",
    "\r",
    "\r\n",
    "\\",
    "\\\n",
    "'",
    '"',
    "#",
    "# ",
    "(#",
    "([",
    "([0 ",
    "(\n#",
    "( x",
    ")#\n",
    "*[",
]


def modules() -> Iterator[ModuleType]:
    """Every module of the static side."""
    for found in pkgutil.walk_packages(torchlint.__path__, "torchlint."):
        if not found.name.startswith(APART):
            yield importlib.import_module(found.name)


def patterns_in(value: object, depth: int = 0) -> Iterator[Compiled]:
    """The compiled patterns in a value, also inside classes, records and collections."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (Spelled, Text)):
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


def pieces(pattern: Compiled) -> list[str]:
    """Words of the pattern itself, which take a search furthest into it."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    words = re.findall(r"[A-Za-z_]{2,}|\\?[^\w\s\\]", re.sub(r"\(\?[^)]*?[:>=!]|\\[bswdSWDAZ]|\[[^\]]*\]", " ", text))
    plain = {word.removeprefix("\\") for word in words}
    return sorted(plain)[:40]


def attacks(pattern: Compiled) -> Iterator[tuple[str, str]]:
    """Repetitive texts: what could open a match, and what is repeated after it."""
    own = pieces(pattern)
    openings = [piece + end for piece in own for end in ("", "_", " ")]
    return product(["", *openings[:50]], [*REPEATED, *own, *(f"{piece} " for piece in own)])


def seconds(pattern: Compiled, opening: str, unit: str, size: int) -> float:
    """The time of a search for all matches in a text of that size; the least of three where it is long."""
    text = opening + unit * (size // len(unit)) + "\x01"
    subject: Any = text if isinstance(pattern.pattern, str) else text.encode("latin-1")
    best = float("inf")
    for _ in range(3):
        start = time.thread_time()
        for _ in pattern.finditer(subject):
            pass
        best = min(best, time.thread_time() - start)
        if best < HARMLESS:
            break
    return best


def is_slow(pattern: Compiled, opening: str, unit: str) -> bool:
    """Whether four times the text take much more than four times as long: 16 times where it is quadratic."""
    spent = [seconds(pattern, opening, unit, size) for size in (200, SIZE)]
    if max(spent) < HARMLESS:
        return False
    return seconds(pattern, opening, unit, 4 * SIZE) > 9 * spent[1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no alarm could end a search that does not end")
@pytest.mark.parametrize("pattern", every_pattern(), ids=lambda pattern: str(pattern.pattern)[:40])
def test_no_text_makes_a_search_slow(pattern: Compiled) -> None:
    slow = limits.within(60, lambda: next((a for a in attacks(pattern) if is_slow(pattern, *a)), None))
    assert slow is None, f"{pattern.pattern!r} is slow on {slow[0]!r} and repetitions of {slow[1]!r}"


def test_every_pattern_is_collected() -> None:
    found = {str(pattern.pattern) for pattern in every_pattern()}
    assert any("noqa" in text for text in found)  # of a module
    assert any("zero_grad" in text for text in found)  # of what a rule needs
    assert any(r"\\N\{" in text for text in found)  # compiled when first needed
