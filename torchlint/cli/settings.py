"""The settings of a run: the configuration with the changes of the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from torchlint.cli.output import Failure

if TYPE_CHECKING:
    import argparse

    from torchlint.config.config import Config
    from torchlint.config.configurations import Configurations
    from torchlint.run.plan import Plan


class Changes(NamedTuple):
    """What options change in every configuration: replaced and added values."""

    replaced: Mapping[str, Any]
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()

    def made(self, config: Config) -> Config:
        """The configuration with these changes."""
        config = config._replace(**self.replaced)
        extended = (*config.extend_select, *self.extend_select)
        return config._replace(ignore=(*config.ignore, *self.ignore), extend_select=extended)


def configured(arguments: argparse.Namespace, paths: list[str]) -> Configurations:
    """The configurations nearest to the linted files, with the changes of options."""
    from torchlint.config.configurations import configurations

    first = paths[0] if paths != ["-"] else arguments.stdin_filename or "."
    change = changes(arguments).made
    return configurations(first, change, explicit=arguments.config or None, isolated=arguments.isolated)


def changes(arguments: argparse.Namespace) -> Changes:
    """The changes by options, as far as the command has them."""
    from torchlint.config.config import Given, read_value

    options = vars(arguments)
    replaced: dict[str, Any] = {}
    if options.get("select"):
        replaced |= {"select": selectors("--select", arguments.select), "ignore": ()}
    for name in ("target_torch", "fail_on"):
        if given := options.get(name):
            key = name.replace("_", "-")
            replaced[name] = read_value(key, given, f"--{key}")
    if options.get("no_baseline"):
        replaced["baseline"] = None
    if options.get("baseline"):
        replaced["baseline"] = os.path.abspath(arguments.baseline)  # noqa: PTH100
    for flag in ("force_exclude", "preview"):
        if options.get(flag):
            replaced[flag] = True
    exclude, ignores = options.get("exclude") or [], options.get("per_file_ignores") or []
    if exclude or ignores:
        read_value("exclude", exclude, "--exclude")
        replaced["given"] = Given(os.getcwd(), tuple(exclude), tuple(_per_file(ignores)))  # noqa: PTH109
    ignore = selectors("--ignore", options.get("ignore") or [])
    return Changes(replaced, ignore, selectors("--extend-select", options.get("extend_select") or []))


def selectors(option: str, given: list[str]) -> tuple[str, ...]:
    """The selectors of an option that may be repeated and takes comma-separated lists."""
    from torchlint.config.select import check
    from torchlint.run.rules.registry import load

    if not given:
        return ()
    listed = tuple(part.strip() for text in given for part in text.split(",") if part.strip())
    if not listed:
        raise Failure(f"{option}: names no rule; `torchlint rules` lists them")
    check(listed, load(), option)
    return listed


def _per_file(given: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    found = []
    for text in given:
        glob, colon, rules = text.rpartition(":")
        if not colon or not glob:
            raise Failure(f"--per-file-ignores: {text!r} is not GLOB:RULES, such as 'tests/**:TL7,TL101'")
        found.append((glob, selectors("--per-file-ignores", [rules])))
    return found


def shown(what: Plan) -> str:
    """The effective settings of a run, as JSON."""
    from torchlint.report.shared import dump

    config = what.config
    settings = {
        "source": config.source,
        "extends": [each.source for each in config.chain()][1:],
        "root": config.root,
        "rules": sorted(what.active),
        "preview": config.preview,
        "per-file-ignores": {glob: list(rules) for glob, rules in _both(config, "per_file_ignores")},
        "exclude": list(_both(config, "exclude")),
        "force-exclude": config.force_exclude,
        "severity": {selector: severity.value for selector, severity in config.severity},
        "target-torch": config.target_torch,
        "fail-on": config.fail_on.value if config.fail_on else "never",
        "time-limit": config.time_limit,
        "baseline": os.path.join(config.root, config.baseline) if config.baseline else None,  # noqa: PTH118
        "world": {
            "options": dict(config.world.options),
            "programs": config.world.programs,
            "accelerators": config.world.accelerators,
            "hot": config.world.hot,
            "allowed-waits": config.world.allowed_waits,
            "upload-helper": config.world.upload_helper,
        },
        "rule-options": {name: dict(options) for name, options in config.rules.items()},
    }
    return dump(settings)


def _both(config: Config, field: str) -> tuple[Any, ...]:
    """The values of the files, the last of which wins, and of the command line."""
    files = [value for each in reversed(list(config.chain())) for value in getattr(each, field)]
    return (*files, *getattr(config.given, field))
