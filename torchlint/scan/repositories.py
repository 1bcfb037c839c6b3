"""The table of repositories and the counts of a group, from its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from torchlint.model import SYNTAX_ERROR, Severity
from torchlint.scan import rows

#: The states of a repository.
LINTED, IN_PARTS, INCOMPLETE, NO_PYTHON, EMPTY = "linted", "in-parts", "incomplete", "no-python", "empty"

_Table = Sequence[Mapping[str, Any]]


def table(files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the repositories of these files, which are in the order of repositories.

    Rows that stand for a repository without files are removed from the files.
    """
    found = [_repository(repo, list(those)) for repo, those in groupby(files, key=lambda row: row["repo"]) if repo]
    files[:] = [row for row in files if row["status"] != rows.EMPTY]
    return found


def _repository(repo: str, files: _Table) -> dict[str, Any]:
    checked = [row for row in files if row["status"] in rows.CHECKED]
    failed = [row for row in files if row["status"] == rows.FAILED]
    parts = max(row["part"] for row in files)
    why = ""
    if failed:
        status, why = INCOMPLETE, f"{failed[0]['path']}: {failed[0]['reason']}"
    elif parts:
        status, why = IN_PARTS, f"larger than the limit of one task: facts of other files count within {parts} parts"
    elif checked:
        status = LINTED
    else:
        status = EMPTY if all(row["status"] == rows.EMPTY for row in files) else NO_PYTHON
    return {
        "repo": repo,
        "status": status,
        "reason": why,
        "parts": parts or 1,
        "files": sum(row["status"] != rows.EMPTY for row in files),
        "linted": len(checked),
        "bytes": sum(row["bytes"] for row in checked),
        "findings": sum(row.get("findings", 0) for row in checked),
    }


def counts(findings: _Table, files: _Table, repositories: _Table) -> dict[str, Any]:
    """What the manifest tells of a group. Notices of Python 2 are no findings, but the files have the status."""
    return {
        "files": Counter(row["status"] for row in files),
        "repositories": Counter(row["status"] for row in repositories),
        "findings": Counter(row["severity"] for row in findings if not _is_notice(row)),
        "bytes": sum(row["bytes"] for row in repositories),
    }


def _is_notice(row: Mapping[str, Any]) -> bool:
    return (row["rule"], row["severity"]) == (SYNTAX_ERROR, Severity.INFO.value)
