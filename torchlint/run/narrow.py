"""Narrows a run to the findings that are to be reported: those outside of baselines, and on changed lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torchlint.model import Finding, RunResult
from torchlint.run.baselines.accepted import AcceptedFindings
from torchlint.run.discovery.changed import ChangedLines

Versions = Mapping[str, tuple[bytes, bytes]]
_NOTHING: Versions = {}


class Narrowing(NamedTuple):
    """Which findings of a run are reported, and therefore fixed.

    ``contents`` is linted instead of what is on disk. Nothing in the files ``left_alone`` is fixed, for a reason.
    """

    accepted: AcceptedFindings | None = None
    changed: ChangedLines | None = None
    contents: Mapping[str, bytes] = {}
    left_alone: Mapping[str, str] = {}

    def reports(self, finding: Finding, fixed: tuple[bytes, bytes] | None = None) -> bool:
        """Whether a finding is reported; ``fixed`` is its file before and after the fixes so far."""
        return not self._is_accepted(finding) and self._is_changed(finding, fixed)

    def narrowed(self, run: RunResult, fixed: Versions = _NOTHING) -> RunResult:
        """The run with the findings that are reported, and the numbers of those that are not."""
        new = [finding for finding in run.findings if not self._is_accepted(finding)]
        kept = [finding for finding in new if self._is_changed(finding, fixed.get(finding.path))]
        obsolete = self.accepted.obsolete(run) if self.accepted is not None else ()
        return run._replace(
            findings=tuple(kept),
            baselined=len(run.findings) - len(new),
            unchanged=len(new) - len(kept),
            obsolete=tuple(obsolete),
        )

    def _is_accepted(self, finding: Finding) -> bool:
        return self.accepted is not None and self.accepted.has(finding)

    def _is_changed(self, finding: Finding, fixed: tuple[bytes, bytes] | None) -> bool:
        return self.changed is None or self.changed.has(finding, fixed)


EVERYTHING = Narrowing()
