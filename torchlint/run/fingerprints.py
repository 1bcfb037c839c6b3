"""Fingerprints, by which a finding is known again in another run.

Paths in them are relative to the outermost folder around the file that has a configuration, and without any to the
current one: so they stay the same wherever torchlint is run in a project, and differ between its packages.
"""

from __future__ import annotations

from torchlint.config.config import Config
from torchlint.config.select import relative_to
from torchlint.model import Finding
from torchlint.text.lines import split_lines


def with_fingerprints(findings: list[Finding], text: str, config: Config) -> list[Finding]:
    """Fingerprints survive moved lines: rule, path, the text of the line, and its number among equals."""
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
    """A finding with the fingerprint of a line that is the one with this number among equals."""
    from torchlint.base.digests import blake2b

    path = relative_to(config.top or config.root, finding.path)
    parts = "\0".join((finding.rule, path, line, str(number)))
    digest = blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return finding._replace(fingerprint=digest)
