"""What the server knows of a folder, in the words of reports: what was found, and what was recognized."""

from __future__ import annotations

from torchlint.model import RunResult
from torchlint.report.causes import by_cause
from torchlint.report.shared import problem_line
from torchlint.report.summary import closing, not_checked, recognized

COMMAND = "torchlint.status"


def status(root: str, run: RunResult | None) -> list[str]:
    """The lines about a folder; ``run`` is None if its files have not been linted as a project."""
    if run is None:
        return [f"{root}: not linted yet."]
    lines = (closing(by_cause(run)), *not_checked(run), *recognized(run), *map(problem_line, run.problems))
    return [f"{root}: {line}" if number == 0 else line for number, line in enumerate(lines)]
