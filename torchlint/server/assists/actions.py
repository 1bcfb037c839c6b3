"""Code actions: fixes, suppressions, and switching a rule off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lsprotocol import types

from torchlint.model import SYNTAX_ERROR, UNUSED_SUPPRESSION, Finding, Safety
from torchlint.server.assists import edits
from torchlint.server.checker import Checked
from torchlint.server.diagnostics import Client, Diagnostics
from torchlint.server.texts.positions import Lines, touch

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.torchlint"
KINDS = (types.CodeActionKind.QuickFix, FIX_ALL)


class Lazy(NamedTuple):
    """An action whose edit is made when the user chooses it: all fixes, or switching ``rule`` off."""

    uri: str
    rule: str | None = None


class Actions:
    """Makes the code actions for one request."""

    def __init__(self, client: Client, diagnostics: Diagnostics, checked: Checked) -> None:
        self._client, self._diagnostics, self._settings = client, diagnostics, checked.settings
        self._document, self._findings = checked.document, checked.findings

    def at(self, cell: int | None, range_: types.Range, only: Sequence[str] | None) -> list[types.CodeAction]:
        """The actions for the findings that touch a range of a text, of the kinds that are wanted."""
        found: list[types.CodeAction] = []
        part = self._document.part(cell)
        if part is not None and _wanted(types.CodeActionKind.QuickFix, only):
            lines = Lines(part.text, self._client.encoding)
            here = [f for f in self._findings if f.cell == cell and touch(lines.range(f.span), range_)]
            for make in (self._fix, self._suppression, self._switch):
                found += [action for finding in here for action in make(finding)]
        fixable = any(f.fix is not None and f.fix.safety is Safety.SAFE for f in self._findings)
        if fixable and self._settings.fix_all and _wanted(FIX_ALL, only):
            data = Lazy(self._document.uri)._asdict()
            found.append(types.CodeAction("torchlint: make all safe fixes", kind=FIX_ALL, data=data))
        return _unique(found)

    def _fix(self, finding: Finding) -> Iterator[types.CodeAction]:
        fix = finding.fix
        if fix is None:
            return
        safe = fix.safety is Safety.SAFE
        if safe or self._settings.unsafe_fixes:
            caveat = "" if safe else f"; unsafe: {fix.caveat or 'results may change'}"
            title = f"torchlint: {fix.title} ({finding.rule}{caveat})"
            changes = edits.of_edits(self._document, fix.edits, self._client.encoding)
            yield self._quick(title, finding, changes, preferred=safe)

    def _suppression(self, finding: Finding) -> Iterator[types.CodeAction]:
        if finding.rule in (SYNTAX_ERROR, UNUSED_SUPPRESSION):
            return
        changes = edits.of_suppression(self._document, finding, self._client.encoding)
        if changes:
            yield self._quick(f"torchlint: suppress {finding.rule} here, with a reason", finding, changes)

    def _switch(self, finding: Finding) -> Iterator[types.CodeAction]:
        if finding.rule != SYNTAX_ERROR:
            action = self._quick(f"torchlint: switch {finding.rule} {finding.name} off in the configuration", finding)
            action.data = Lazy(self._document.uri, finding.rule)._asdict()
            yield action

    def _quick(
        self, title: str, finding: Finding, changes: edits.Changes | None = None, *, preferred: bool = False
    ) -> types.CodeAction:
        return types.CodeAction(
            title=title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=self._diagnostics.of(self._document, finding.cell, [finding]),
            is_preferred=preferred or None,
            edit=edits.workspace_edit(changes, versioned=self._client.versioned) if changes else None,
        )


def lazy_of(action: types.CodeAction) -> Lazy | None:
    """What is to be done for an action whose edit is still to be made."""
    data = action.data
    if not isinstance(data, dict) or action.edit is not None or not isinstance(uri := data.get("uri"), str):
        return None
    rule = data.get("rule")
    return Lazy(uri, rule if isinstance(rule, str) else None)


def _wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a client that asks for these kinds asks for this one: a kind includes those below it."""
    return not only or any(not each or kind == each or kind.startswith(f"{each}.") for each in only)


def _unique(found: list[types.CodeAction]) -> list[types.CodeAction]:
    """Without actions that do the same as an earlier one."""
    return list({f"{action.title}{action.edit}": action for action in reversed(found)}.values())[::-1]
