"""What a rule is about, in a few lines with a link to its page, shown over its findings."""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types

from torchlint import docs
from torchlint.model import RuleInfo
from torchlint.server.checker import Checked
from torchlint.server.diagnostics import Client
from torchlint.server.texts.positions import Lines, touch


def at(
    checked: Checked, uri: str, position: types.Position, infos: Mapping[str, RuleInfo], client: Client
) -> types.Hover | None:
    """What the rules are about that found something at a position of a text; None if there is nothing."""
    cell = checked.document.cell_of(uri)
    part = checked.document.part(cell)
    if part is None:
        return None
    lines, place = Lines(part.text, client.encoding), types.Range(position, position)
    ranges = [(f.rule, lines.range(f.span)) for f in checked.findings if f.cell == cell]
    here = {rule: range_ for rule, range_ in ranges if touch(range_, place)}
    rules = [docs.brief(infos[rule]) for rule in here if rule in infos]
    if not rules:
        return None
    kind = types.MarkupKind.Markdown if client.markdown else types.MarkupKind.PlainText
    first = next(iter(here.values()))
    return types.Hover(types.MarkupContent(kind, "\n\n---\n\n".join(rules)), first)
