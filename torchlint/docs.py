"""Shows the pages of rules, and generates documents from rules: the table of all rules, the presets, and signposts.

The text of a page stands once, beside the module of the rule. Findings link to ``docs/rules``, so a signpost there has
the facts about the rule and a link to the text, in whose place the site shows the text itself. ``python -m
torchlint.docs`` writes the documents; a test fails when they are stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from torchlint.config.presets import PRESETS
from torchlint.config.select import selected
from torchlint.groups import GROUPS
from torchlint.model import RuleInfo
from torchlint.rule import is_core

SIGNPOSTS = Path("docs", "rules")
TABLE = Path("docs", "rules.md")
PRESETS_PAGE = Path("docs", "presets.md")


def page(info: RuleInfo) -> str:
    """The page of one rule with the facts about it, in Markdown."""
    return f"{_head(info)}\n{info.documentation.strip()}\n"


def signpost(info: RuleInfo) -> str:
    """What stands in ``docs/rules``: the facts about a rule, and a link to its page."""
    return f"{_head(info)}\n[Why it costs, what to write instead, and when to leave it](../../{info.page.path})\n"


def _head(info: RuleInfo) -> str:
    default = "yes" if info.default else "no"
    facts = (
        f"{info.summary}.\n\n"
        "| topic | group | severity | on by default | fix | since |\n| --- | --- | --- | --- | --- | --- |\n"
        f"| {info.topic} | {info.group} | {info.severity.value} | {default} | {info.fix} | {info.since} |\n"
    )
    origin = "" if is_core(info.id) else f"\nA rule of the package {info.package}.\n"
    return f"# {info.id} `{info.name}`\n\n{facts}{origin}"


def brief(info: RuleInfo) -> str:
    """A rule in three lines: what it finds, why that costs, when to leave it; and a link to its page, if it has one.

    A rule of another package may say less.
    """
    text = info.documentation
    why, leave = (_beginning(text, title) for title in ("Why it costs", "When to leave it"))
    lines = [
        f"**{info.id} {info.name}**: {info.summary}.",
        *([f"Why it costs: {why}"] if why else []),
        *([f"When to leave it: {leave}"] if leave else []),
        *([f"[The page of the rule]({info.url})"] if info.url else []),
    ]
    return "\n\n".join(lines)


def _beginning(documentation: str, title: str) -> str:
    """The first sentence of a section."""
    _, _, section = f"\n{documentation}\n".partition(f"\n## {title}\n")
    paragraph = " ".join(section.strip().partition("\n\n")[0].split())
    sentence = paragraph.partition(". ")[0]
    return f"{sentence.rstrip(':.')}." if sentence and not sentence.startswith("#") else ""


def table(infos: Iterable[RuleInfo]) -> str:
    """The table of all rules, in Markdown."""
    rows = ["| rule | name | finds | group | severity | fix |", "| --- | --- | --- | --- | --- | --- |"]
    for info in infos:
        severity = info.severity.value if info.default else f"{info.severity.value}, off by default"
        link = f"[{info.name}]({SIGNPOSTS.name}/{info.name}.md)"
        rows.append(f"| {info.id} | {link} | {info.summary} | {info.group} | {severity} | {info.fix} |")
    return "\n".join(rows) + "\n"


def listing(infos: Sequence[RuleInfo]) -> str:
    """All rules, one line each; those of other packages with the package."""
    widest, width = (max(map(len, words)) for words in zip(*((info.id, info.name) for info in infos), strict=True))
    return "".join(f"{_line(info, widest, width)}\n" for info in infos)


def _line(info: RuleInfo, widest: int, width: int) -> str:
    state = info.severity.value if info.default else "off"
    origin = "" if is_core(info.id) else f"  ({info.package})"
    return f"{info.id:<{widest}}  {info.name:<{width}}  {info.group:<11}  {state:<7}  {info.summary}{origin}"


def as_json(infos: Iterable[RuleInfo]) -> str:
    """The facts about rules as JSON."""
    import json

    return json.dumps([_facts(info) for info in infos], indent=2) + "\n"


def _facts(info: RuleInfo) -> dict[str, object]:
    """The facts about a rule, with the text of its page in the place of where that stands."""
    shown = ("documentation" if fact == "page" else fact for fact in info._fields)
    return {fact: getattr(info, fact) for fact in shown}


def presets(infos: Sequence[RuleInfo]) -> str:
    """The presets and which rules they have, in Markdown."""
    having = {name: {info.id for info in selected([name], infos)} for name in PRESETS}
    purposes = ["| preset | rules | for |", "| --- | --- | --- |"]
    purposes += [f"| `{name}` | {len(having[name])} | {preset.purpose} |" for name, preset in PRESETS.items()]
    rows = [f"| rule | {' | '.join(PRESETS)} |", f"| --- |{' :-: |' * len(PRESETS)}"]
    for info in infos:
        marks = " | ".join("•" if info.id in having[name] else " " for name in PRESETS)
        rows.append(f"| [{info.id} {info.name}]({SIGNPOSTS.name}/{info.name}.md) | {marks} |")
    return "\n".join([*purposes, "", *rows]) + "\n"


def groups(infos: Sequence[RuleInfo]) -> str:
    """The groups, what they promise and which rules they have, in Markdown."""
    rows = ["| group | promise | rules |", "| --- | --- | --- |"]
    for name, group in GROUPS.items():
        ids = [info.id for info in infos if info.group == name]
        rows.append(f"| `{name}` | {group.promise} | {', '.join(ids)} |")
    return "\n".join(rows) + "\n"


def marked(text: str, what: str, generated: str) -> str:
    """A document with what was generated between its markers, ``<!-- WHAT:begin -->`` and ``<!-- WHAT:end -->``."""
    begin, end = f"<!-- {what}:begin -->", f"<!-- {what}:end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{generated}{end}{after}"


def documents(infos: Sequence[RuleInfo]) -> dict[Path, str]:
    """Every generated document by its path in the repository."""
    found = {SIGNPOSTS / f"{info.name}.md": signpost(info) for info in infos}
    text = TABLE.read_text(encoding="utf-8")
    found[TABLE] = marked(marked(text, "groups", groups(infos)), "rules", table(infos))
    found[PRESETS_PAGE] = marked(PRESETS_PAGE.read_text(encoding="utf-8"), "presets", presets(infos))
    return found


def main() -> None:
    """Write every document, and delete the signposts to rules that no longer exist."""
    from torchlint.run import results
    from torchlint.run.rules import registry

    wanted = documents(results.infos(registry.core()))
    for path in SIGNPOSTS.glob("*.md"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
