"""Installs packages with rules for tests: their code, and metadata with an entry point."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

HEADINGS = "\n".join(f"## {heading}" for heading in ("What it finds", "Why it costs", "Instead"))
RULE = '''
from torchlint import on
from torchlint.model import Edit, Fix, Recipe, Safety, Severity
from torchlint.rule import Rule
from torchlint.prefilter import concepts


class {cls}(Rule):
    """{headings}"""

    id = "{id}"
    name = "{name}"
    summary = "{name} is found"
    severity = Severity.WARNING
    needs = (concepts.TORCH,)
    layout = False
{facts}

    @on.call("torch.load")
    def found(self, node):
        {body}
'''
REPORT = 'self.report(node, "a call of torch.load")'


def rule(
    rule_id: str = "ACME001", name: str = "acme-load", *, facts: str = "", body: str = REPORT, headings: str = HEADINGS
) -> str:
    """The source of a rule."""
    indented = "".join(f"    {line}\n" for line in facts.splitlines())
    cls = "".join(part.capitalize() for part in name.split("-"))
    return RULE.format(cls=cls, id=rule_id, name=name, headings=headings, facts=indented, body=body)


def metadata(name: str, version: str = "1.0", more: str = "") -> str:
    """The core metadata of a distribution."""
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{more}"


def entry_points(points: Mapping[str, str]) -> str:
    """The entry points for rules, as a distribution lists them."""
    return "[torchlint.rules]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())


def install(
    folder: Path, files: Mapping[str, str], entry: str = "my_rules", *, dist: str = "my-rules", more: str = ""
) -> None:
    """Write a package with an entry point for rules into a folder of the module path."""
    for name, code in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, encoding="utf-8")
        sys.modules.pop(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."), None)
    info = folder / f"{dist.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata(dist, more=more), encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points({"ours": entry}), encoding="utf-8")
