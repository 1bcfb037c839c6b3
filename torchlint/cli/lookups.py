"""The commands that look something up: ``rule``, ``rules`` and ``completion``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.cli.output import CLEAN, Failure

if TYPE_CHECKING:
    import argparse

    from torchlint.model import RuleInfo


def _infos() -> tuple[RuleInfo, ...]:
    from torchlint.run import registry, results

    return results.infos(registry.load())


def rule(arguments: argparse.Namespace) -> int:
    """Explain one rule."""
    from torchlint import docs
    from torchlint.config.values import nearest

    infos = _infos()
    found = next((r for r in infos if arguments.name in (r.id, r.name)), None)
    if found is None:
        close = nearest(arguments.name, [word for r in infos for word in (r.id, r.name)])
        advice = f"did you mean {close!r}?" if close else "`torchlint rules` lists them"
        raise Failure(f"there is no rule {arguments.name!r}; {advice}")
    print(docs.as_json([found]) if arguments.format == "json" else docs.page(found), end="")
    return CLEAN


def rules(arguments: argparse.Namespace) -> int:
    """List the rules, or those that some selectors select."""
    from torchlint import docs
    from torchlint.cli.settings import selectors
    from torchlint.config.select import selected

    infos = selected(selectors("rules", arguments.rules), _infos()) if arguments.rules else _infos()
    print(docs.as_json(infos) if arguments.format == "json" else docs.listing(infos), end="")
    return CLEAN


def completion(arguments: argparse.Namespace) -> int:
    """Print a completion script."""
    from torchlint.cli.completion import script

    print(script(arguments.shell))
    return CLEAN
