"""The table ``world`` of the configuration: what a normal run of the programs is like."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from torchlint.base.globs import GlobProblem, compiled
from torchlint.config.values import WrongValue, advice, entries, globs, kind, quote, strings
from torchlint.program.world import Setting, World, option_name

# The keys of the table, with descriptions.
WORLD: Mapping[str, str] = {
    "options": "Values of options of the programs in a normal run, by name.",
    "programs": "Globs of the files that are programs; by default torchlint finds them.",
    "accelerators": "How many accelerators the machine has; 0 for none.",
    "hot": "Functions that are steps although no loop shows it: `Class.method`, `*.method`, `@decorator`.",
    "allowed-waits": "Contexts, and comments that begin with #, whose waits are accepted.",
    "upload-helper": "The function of the project that copies to the device, which messages name as the repair.",
}
_OPTION = re.compile(r"-{0,2}[^\W\d][\w-]*")


def world(value: object) -> World:
    """The world that a table describes."""
    if not isinstance(value, dict):
        raise WrongValue(f"must be a table, not {kind(value)}; write accelerators = 4 in it")
    return World(**{key.replace("-", "_"): given for key, given in entries(value, _read).items()})


def _read(key: str, value: object) -> Any:
    if key not in WORLD:
        raise WrongValue(f"has no key {quote(key)}{advice(key, WORLD, 'keys')}")
    try:
        return _READERS[key](value)
    except WrongValue as wrong:
        raise WrongValue(*(f"at {key} {each}" for each in wrong.args)) from None


def _options(value: object) -> tuple[tuple[str, Setting], ...]:
    if not isinstance(value, dict):
        raise WrongValue(f"must be a table of options, not {kind(value)}; write {{ use-wandb = true }}")
    found: dict[str, Setting] = {}

    def read(written: str, given: object) -> None:
        if not _OPTION.fullmatch(written):
            raise WrongValue(f"holds {quote(written)}, which is not the name of an option; write one such as use-wandb")
        if not isinstance(given, (bool, int, float, str)) or (isinstance(given, float) and not math.isfinite(given)):
            shown = kind(given) if not isinstance(given, float) else str(given)
            raise WrongValue(f"must give {quote(written)} a boolean, a number or a string, not {shown}")
        if option_name(written) in found:
            raise WrongValue(f"holds {quote(written)} twice, in two spellings; remove one")
        found[option_name(written)] = given

    entries(value, read)
    return tuple(found.items())


def _programs(value: object) -> tuple[str, ...]:
    found = globs(value)
    try:
        compiled(found)
    except GlobProblem as problem:
        raise WrongValue(str(problem)) from None
    return found


def _accelerators(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongValue(f"must be a number of accelerators, not {kind(value)}; write 1, or 0 for none")
    if value < 0:
        raise WrongValue(f"must not be {value}; write 0 for no accelerator")
    return value


def _names(pattern: str, example: str) -> Callable[[object], tuple[str, ...]]:
    def read(value: object) -> tuple[str, ...]:
        found = strings(value)
        wrong = next((each for each in found if not re.fullmatch(pattern, each)), None)
        if wrong is not None:
            raise WrongValue(f"holds {quote(wrong)}; write one such as {example}")
        return found

    return read


def _helper(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(_DOTTED, value):
        raise WrongValue('must be the dotted name of a function; write "package.utils.to_device"')
    return value


_DOTTED = r"[^\W\d]\w*(\.[^\W\d]\w*)*"
_READERS: Mapping[str, Callable[[object], Any]] = {
    "options": _options,
    "programs": _programs,
    "accelerators": _accelerators,
    "hot": _names(r"@?[\w*?]+(\.[\w*?]+)*", '"Worker.execute", "*.build" or "@step"'),
    "allowed-waits": _names(rf"{_DOTTED}|# *\w[\w-]*:?", '"sync_allowed" or "# sync-ok"'),
    "upload-helper": _helper,
}
