"""Fingerprints identify a finding across runs.

They use paths relative to the outermost folder above the file with a configuration, or to the current folder if there
is none. So they do not depend on the folder in which torchlint runs, and differ between packages of a project.
"""

from __future__ import annotations

from torchlint.base.paths import relative_to
from torchlint.config.config import Config
from torchlint.model import Finding
from torchlint.text.lines import split_lines


def with_fingerprints(findings: list[Finding], text: str, config: Config) -> list[Finding]:
    """Add fingerprints, which survive moved lines: a hash of rule, path, line text, and number among equal lines."""
    if not findings:
        return findings
    lines = split_lines(text)
    seen: dict[tuple[str, str], int] = {}
    done = []
    for finding in sorted(findings, key=lambda f: f.sort_key):
        line = lines[finding.span.line - 1].strip() if finding.span.line <= len(lines) else ""
        number = seen.get((finding.rule, line), 0)
        seen[(finding.rule, line)] = number + 1
        done.append(fingerprinted(finding, line, number, config))
    return done


def fingerprinted(finding: Finding, line: str, number: int, config: Config) -> Finding:
    """Add the fingerprint for a line that is the one with this number among equal lines."""
    return finding._replace(fingerprint=fingerprint(finding.rule, finding.path, line, number, config))


def fingerprint(rule: str, path: str, line: str, number: int, config: Config) -> str:
    """The fingerprint of a finding: of its rule, path, stripped line, and number among equal lines from 0."""
    from hashlib import blake2b

    parts = "\0".join((rule, relative_to(config.top or config.root, path), line, str(number)))
    return blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
