"""Findings as diagnostics of the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from lsprotocol import types

from torchlint.model import UNUSED_SUPPRESSION, Evidence, Finding, RuleInfo, Severity, Span
from torchlint.report.observed import seen_lines
from torchlint.server.texts.documents import Document
from torchlint.server.texts.positions import Lines

SOURCE = "torchlint"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


class Client(NamedTuple):
    """What the client can do, as far as it matters here."""

    encoding: str = types.PositionEncodingKind.Utf16
    pulls: bool = False
    refreshes: bool = False
    related: bool = False
    versioned: bool = False
    resolves: bool = False
    markdown: bool = True
    creates: bool = False
    configures: bool = False
    watches: bool = False
    tells_settings: bool = False
    progresses: bool = False
    hints: bool = False
    refreshes_hints: bool = False


class Diagnostics:
    """Makes diagnostics for a client. ``infos`` are the facts about rules, by id."""

    def __init__(self, client: Client, infos: Mapping[str, RuleInfo]) -> None:
        self._client, self._infos = client, infos

    def of(self, document: Document, cell: int | None, findings: Iterable[Finding]) -> list[types.Diagnostic]:
        """The diagnostics for those findings that are in one text of a document."""
        part = document.part(cell)
        here = [finding for finding in findings if finding.cell == cell]
        if part is None or not here:
            return []
        lines = Lines(part.text, self._client.encoding)
        return [self._one(document, lines, finding) for finding in here]

    def _one(self, document: Document, lines: Lines, finding: Finding) -> types.Diagnostic:
        info = self._infos.get(finding.rule)
        related = [found for each in finding.evidence if (found := self._related(document, lines, finding, each))]
        return types.Diagnostic(
            range=lines.range(finding.span),
            message="\n".join([finding.message, *seen_lines(finding)]),
            severity=_SEVERITIES[finding.severity],
            code=finding.rule,
            code_description=types.CodeDescription(info.url) if info is not None and info.url else None,
            source=SOURCE,
            tags=[types.DiagnosticTag.Unnecessary] if finding.rule == UNUSED_SUPPRESSION else None,
            related_information=related if related and self._client.related else None,
            data={"name": finding.name, "fingerprint": finding.fingerprint},
        )

    def _related(
        self, document: Document, lines: Lines, finding: Finding, evidence: Evidence
    ) -> types.DiagnosticRelatedInformation | None:
        part = document.part(evidence.cell)
        if part is None:
            return None
        if evidence.cell != finding.cell:
            lines = Lines(part.text, self._client.encoding)
        here = lines.range(Span(evidence.line, evidence.column, evidence.line, evidence.column))
        return types.DiagnosticRelatedInformation(types.Location(part.uri, here), evidence.text)


def result_id(findings: Sequence[Finding]) -> str:
    """An id that changes whenever the diagnostics change."""
    text = json.dumps(findings, default=str, separators=(",", ":"))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def client_of(capabilities: types.ClientCapabilities, encoding: str) -> Client:
    """What a client with these capabilities can do."""

    def has(*names: str) -> Any:
        found: Any = capabilities
        for name in names:
            found = getattr(found, name, None)
        return found

    resolved = has("text_document", "code_action", "resolve_support", "properties") or ()
    formats = has("text_document", "hover", "content_format")
    return Client(
        encoding=encoding,
        pulls=has("text_document", "diagnostic") is not None,
        refreshes=bool(has("workspace", "diagnostics", "refresh_support")),
        related=bool(
            has("text_document", "publish_diagnostics", "related_information")
            or has("text_document", "diagnostic", "related_information")
        ),
        versioned=bool(has("workspace", "workspace_edit", "document_changes")),
        resolves="edit" in resolved and bool(has("text_document", "code_action", "data_support")),
        markdown=formats is None or types.MarkupKind.Markdown in formats,
        creates=types.ResourceOperationKind.Create in (has("workspace", "workspace_edit", "resource_operations") or ()),
        configures=bool(has("workspace", "configuration")),
        watches=bool(has("workspace", "did_change_watched_files", "dynamic_registration")),
        tells_settings=bool(has("workspace", "did_change_configuration", "dynamic_registration")),
        progresses=bool(has("window", "work_done_progress")),
        hints=has("text_document", "inlay_hint") is not None,
        refreshes_hints=bool(has("workspace", "inlay_hint", "refresh_support")),
    )
