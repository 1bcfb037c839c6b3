"""The settings of a run: the configuration, with what the command line changes in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.output import Failure

if TYPE_CHECKING:
    import argparse

    from torchlint.config import Config
    from torchlint.session import Plan


def configured(arguments: argparse.Namespace, paths: list[str]) -> Config:
    """The configuration file nearest to the first path, overridden by options."""
    from torchlint.config import load, read_value

    first = (arguments.stdin_filename or ".") if paths == ["-"] else paths[0]
    config = load(first, explicit=arguments.config or None, isolated=arguments.isolated)
    changes: dict[str, object] = {}
    if arguments.select:
        changes["select"] = _selectors("--select", arguments.select)
        changes["ignore"] = ()
    if arguments.ignore:
        changes["ignore"] = (*config.ignore, *_selectors("--ignore", arguments.ignore))
    if arguments.extend_select:
        added = _selectors("--extend-select", arguments.extend_select)
        changes["extend_select"] = (*config.extend_select, *added)
    if arguments.per_file_ignores:
        changes["per_file_ignores"] = (*config.per_file_ignores, *_per_file(arguments.per_file_ignores))
    if arguments.exclude:
        changes["exclude"] = (*config.exclude, *arguments.exclude)
    if arguments.target_torch:
        changes["target_torch"] = read_value("target-torch", arguments.target_torch, "--target-torch")
    if arguments.fail_on:
        changes["fail_on"] = read_value("fail-on", arguments.fail_on, "--fail-on")
    if arguments.force_exclude:
        changes["force_exclude"] = True
    return config._replace(**changes)  # type: ignore[arg-type]


def _selectors(option: str, given: list[str]) -> tuple[str, ...]:
    """The selectors of an option that may be repeated and takes comma-separated lists."""
    from torchlint.registry import load
    from torchlint.select import check

    listed = tuple(part.strip() for text in given for part in text.split(",") if part.strip())
    check(listed, load(), option)
    return listed


def _per_file(given: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    found = []
    for text in given:
        glob, colon, rules = text.rpartition(":")
        if not colon or not glob:
            raise Failure(f"--per-file-ignores: {text!r} is not GLOB:RULES, such as 'tests/**:TL7,TL101'")
        found.append((glob, _selectors("--per-file-ignores", [rules])))
    return found


def shown(what: Plan) -> str:
    """What a run would go by, as JSON."""
    import json

    config = what.config
    settings = {
        "source": config.source,
        "root": config.root,
        "rules": sorted(what.active),
        "per-file-ignores": {glob: list(rules) for glob, rules in config.per_file_ignores},
        "exclude": list(config.exclude),
        "force-exclude": config.force_exclude,
        "target-torch": config.target_torch,
        "fail-on": config.fail_on.value if config.fail_on else "never",
        "time-limit": config.time_limit,
        "rule-options": {name: dict(options) for name, options in config.rules.items()},
    }
    return json.dumps(settings, indent=2) + "\n"
