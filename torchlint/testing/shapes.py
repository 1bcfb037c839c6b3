"""Other forms of a source text that must not change what is found: indentation, suppressions, parts of it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def with_tabs(text: str) -> str:
    """Indentation by tabs, outside strings of several lines."""
    inside = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno
        for line in range(node.lineno + 1, node.end_lineno + 1)
    }
    done = []
    for number, line in enumerate(text.split("\n"), 1):
        body = line.lstrip(" ")
        width = len(line) - len(body)
        done.append(line if number in inside or width % 4 else "\t" * (width // 4) + body)
    return "\n".join(done)


def suppressed(text: str, lines: Iterable[int], rule_id: str) -> str:
    """A suppression on each of these lines, one form or the other in turn."""
    rewritten = text.split("\n")
    for line, comment in zip(sorted(set(lines)), itertools.cycle(("torchlint: ignore[{}]", "noqa: {}"))):
        if not rewritten[line - 1].endswith("\\"):
            rewritten[line - 1] += f"  # {comment.format(rule_id)}"
    return "\n".join(rewritten)


def unreachable(text: str) -> Iterator[str]:
    """The text so that none of it can run."""
    text = text.removeprefix("from __future__ import annotations\n")
    yield f"raise SystemExit\n{text}"
    indented = "".join(f"    {line}" for line in text.splitlines(keepends=True))
    yield f"if False:\n{indented}\n    pass\n"


def flagged_definitions(text: str) -> Iterator[tuple[str, str]]:
    """The functions and classes with marks by name, each as a text of its own with the imports of the whole."""
    lines = text.split("\n")
    tree = ast.parse(text)
    imported = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    imports = [line for node in imported for line in _lines(node, lines)]
    for node in tree.body:
        if isinstance(node, _DEFINITIONS) and any("# flag" in line for line in _lines(node, lines)):
            own = [line.partition("  # flag")[0] for line in _lines(node, lines)]
            yield node.name, "\n".join([*imports, "", "", *own, ""])


def _lines(node: ast.stmt, lines: list[str]) -> list[str]:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return lines[first - 1 : node.end_lineno]


def innocent_definitions(text: str, flagged: Iterable[int]) -> list[str]:
    """The functions and classes in which no line is flagged, by name."""
    guilty = set(flagged)
    return [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, _DEFINITIONS) and guilty.isdisjoint(range(node.lineno, (node.end_lineno or 0) + 1))
    ]
