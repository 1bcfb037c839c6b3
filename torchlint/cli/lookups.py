"""The commands that look something up: ``rule``, ``rules`` and ``completion``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.cli.output import CLEAN, Failure

if TYPE_CHECKING:
    import argparse

    from torchlint.model import RuleInfo


def _infos() -> tuple[RuleInfo, ...]:
    from torchlint.run import results
    from torchlint.run.rules import registry

    return results.infos(registry.load())


def rule(arguments: argparse.Namespace) -> int:
    """Explain one rule, or all of them."""
    from torchlint import docs

    if arguments.all and arguments.name is not None:
        raise Failure(f"--all explains all rules: leave out {arguments.name!r}, or --all")
    if not (arguments.all or arguments.name):
        raise Failure("name a rule, such as `torchlint rule TL101`, or give --all; `torchlint rules` lists them")
    found = _infos() if arguments.all else [_named(arguments.name)]
    pages = docs.as_json(found) if arguments.output_format == "json" else "\n".join(map(docs.page, found))
    print(pages, end="")
    return CLEAN


def _named(name: str) -> RuleInfo:
    """The rule with this id or name. Raises :class:`Failure` with what was probably meant."""
    from torchlint.config.values import nearest
    from torchlint.retired import why_retired

    infos = _infos()
    found = next((r for r in infos if name in (r.id, r.name)), None)
    if found is None:
        close = nearest(name, [word for r in infos for word in (r.id, r.name)])
        advice = f"did you mean {close!r}?" if close else "`torchlint rules` lists them"
        raise Failure(why_retired(name) or f"there is no rule {name!r}; {advice}")
    return found


def rules(arguments: argparse.Namespace) -> int:
    """List the rules, or those that some selectors select."""
    from torchlint import docs
    from torchlint.cli.settings import selectors
    from torchlint.config.select import selected

    infos = selected(selectors("rules", arguments.rules), _infos()) if arguments.rules else _infos()
    print(docs.as_json(infos) if arguments.output_format == "json" else docs.listing(infos), end="")
    return CLEAN


def completion(arguments: argparse.Namespace) -> int:
    """Print a completion script."""
    from torchlint.cli.completion import script

    print(script(arguments.shell))
    return CLEAN
