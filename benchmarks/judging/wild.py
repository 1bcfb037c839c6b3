"""Findings in checkouts of public repositories, and the code around them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from torchlint.config.config import Config
from torchlint.model import SYNTAX_ERROR, Finding
from torchlint.run import session
from torchlint.run.discovery import discover
from torchlint.text.visible import visible, visible_lines

_AROUND = 6  # lines before and after a finding that are shown
_CALLERS = 5  # callers that are shown


class Repository(NamedTuple):
    """A repository, as ``owner/name``, its commit, and its checkout."""

    name: str
    commit: str
    root: Path


class Found(NamedTuple):
    """A finding in a repository; ``place`` is where, relative to its root."""

    repository: Repository
    finding: Finding
    place: str


class Missing(Exception):
    """A repository that cannot be linted, and why."""


def repositories(folder: Path, listed: Path | None) -> list[Repository]:
    """The checkouts in a folder, ``owner+name`` each: all of them, or those that a file lists. Raises :class:`Missing`.

    The file has ``owner/name`` on each line, or the JSON of ``benchmarks/survey/repositories.jsonl``.
    """
    if listed is not None:
        return [
            _checkout(folder, line.strip()) for line in listed.read_text(encoding="utf-8").splitlines() if line.strip()
        ]
    found = sorted(path.name for path in folder.iterdir() if path.is_dir() and "+" in path.name)
    return [_checkout(folder, name.replace("+", "/", 1)) for name in found]


def _checkout(folder: Path, line: str) -> Repository:
    row = json.loads(line) if line.startswith("{") else {"repository": line}
    name = row["repository"]
    root = (folder / name.replace("/", "+", 1)).resolve()
    if not root.is_dir():
        raise Missing(f"{root} is missing: check out {name} there")
    commit = row.get("commit") or _head(root)
    if not commit:
        raise Missing(f"{root} is not a git checkout: list {name} with its commit")
    return Repository(name, commit, root)


def _head(root: Path) -> str:
    command = ["git", "-C", str(root), "rev-parse", "--show-toplevel", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    top, _, commit = done.stdout.strip().partition("\n")
    return commit if done.returncode == 0 and Path(top).resolve() == root else ""


def findings(repository: Repository, rules: Sequence[str]) -> list[Found]:
    """What the rules find in a checkout, linted as one project without its own configuration."""
    root = str(repository.root)
    plan = session.plan(Config(select=tuple(rules), root=root))
    paths, *_ = discover.files([root], plan.scopes.configurations, root)
    found = (each for each in session.run(paths, plan).findings if each.rule != SYNTAX_ERROR)
    return [Found(repository, each, _place(each, root)) for each in found]


def _place(finding: Finding, root: str) -> str:
    path = Path(os.path.relpath(finding.path, root)).as_posix()
    cell = f":{finding.cell}" if finding.cell is not None else ""
    return f"{path}{cell}:{finding.span.line}:{finding.span.column}"


def shown(found: Found) -> str:
    """A finding with its source, its evidence and the calls of the function that it is in, as text."""
    finding = found.finding
    said = [
        f"{found.repository.name}  {visible(found.place)}",
        f"{finding.rule} {finding.name} [{finding.severity.value}]",
    ]
    said += visible_lines(finding.message)
    said += [f"  line {each.line}: {visible(each.text)}" for each in finding.evidence]
    if finding.cell is None:
        text = Path(finding.path).read_text(encoding="utf-8", errors="replace")
        said += _source(text, finding)
        said += [f"  called at {visible(call)}" for call in _callers(found, text)]
    return "\n".join(said) + "\n"


def _source(text: str, finding: Finding) -> Iterator[str]:
    lines = text.splitlines()
    first, last = max(finding.span.line - _AROUND, 1), min(finding.span.end_line + _AROUND, len(lines))
    for number in range(first, last + 1):
        mark = ">" if finding.span.line <= number <= finding.span.end_line else " "
        yield f"{mark} {number:5} | {visible(lines[number - 1])}"


def _callers(found: Found, text: str) -> list[str]:
    """Where the project names the function around a finding in a call, as far as names tell."""
    name = _function_around(text, found.finding.span.line)
    if name is None:
        return []
    calls: list[str] = []
    for path in sorted(path for path in found.repository.root.rglob("*.py") if path.is_file()):
        other = path.read_text(encoding="utf-8", errors="replace")
        if name not in other:
            continue
        shown_path = path.relative_to(found.repository.root).as_posix()
        lines = other.splitlines()
        calls += [f"{shown_path}:{number}: {lines[number - 1].strip()}" for number in _calls_of(name, other)]
        if len(calls) > _CALLERS:
            return [*calls[:_CALLERS], "more places"]
    return calls


def _function_around(text: str, line: int) -> str | None:
    """The name of the innermost function around a line; that of the class for a method that Python calls."""
    name = None
    for node in _nodes(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            special = node.name.startswith("__") or node.name == "forward"
            if node.lineno <= line <= (node.end_lineno or node.lineno) and not special:
                name = node.name
    return name


def _calls_of(name: str, text: str) -> list[int]:
    calls = (node for node in _nodes(text) if isinstance(node, ast.Call))
    return sorted({call.lineno for call in calls if _called(call.func) == name})


def _called(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def _nodes(text: str) -> Iterable[ast.AST]:
    try:
        return ast.walk(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return ()
