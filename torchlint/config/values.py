"""Validation of configuration values, and error messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from torchlint.base.globs import GlobProblem, check_size
from torchlint.model import Severity

V = TypeVar("V")
SEVERITIES = ("error", "warning", "info")
FAIL_ON = (*SEVERITIES, "never")
# The keys of a budget, each a limit per step, with descriptions.
BUDGET: Mapping[str, str] = {
    "synchronizations": "Synchronizations allowed per step.",
    "uploads": "Copies to the device allowed per step.",
    "upload-bytes": "Bytes that may be copied to the device per step.",
    "pageable-uploads": "Copies to the device from pageable (not pinned) memory allowed per step.",
    "downloads": "Copies to the host allowed per step.",
    "download-bytes": "Bytes that may be copied to the host per step.",
    "idle": "Percent of a step in which a GPU may compute nothing because of copies and waits; needs profiled steps.",
}


# How much of two words must be the same for one to be a misspelling of the other.
_CLOSE = 0.7


class WrongValue(Exception):
    """What is wrong with a value: one or more messages, each of which continues a sentence that begins with its key."""


def entries(table: Mapping[str, Any], read: Callable[[str, Any], V]) -> dict[str, V]:
    """The entries of a table as ``read`` makes them of their keys and values; everything wrong is raised together."""
    found: dict[str, V] = {}
    wrong: list[str] = []
    for key, value in table.items():
        try:
            found[key] = read(key, value)
        except WrongValue as one:
            wrong += one.args
    if wrong:
        raise WrongValue(*wrong)
    return found


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """The valid word that was probably meant; none if all of them differ in more than a few letters."""
    import difflib

    by_fold = {v.casefold().replace("_", "-"): v for v in valid}
    close = difflib.get_close_matches(word[:80].casefold().replace("_", "-"), by_fold, n=1, cutoff=_CLOSE)
    return by_fold[close[0]] if close else None


def quote(word: str) -> str:
    """A word as shown in messages."""
    return repr(word if len(word) <= 80 else word[:77] + "...")


def advice(word: str, valid: Iterable[str], what: str) -> str:
    """Advice for an invalid word."""
    valid = list(valid)
    close = nearest(word, valid)
    if close:
        return f"; did you mean {close!r}?"
    return f"; remove it, or use one of the {what} {', '.join(valid)}" if valid else "; remove it"


KINDS: Mapping[type, str] = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "a table",
}


def kind(value: object) -> str:
    """The TOML name for the type of a value."""
    return KINDS.get(type(value), "a date or time")


def strings(value: object, at: str = "") -> tuple[str, ...]:
    """An array of non-empty strings."""
    if not isinstance(value, list):
        example = f"; write [{quote(value)}]" if isinstance(value, str) else ""
        raise WrongValue(f"{at}must be an array of strings, not {kind(value)}{example}")
    for item in value:
        if not isinstance(item, str):
            raise WrongValue(f"{at}must hold strings only, not {kind(item)}; put quotes around it")
        if not item.strip():
            raise WrongValue(f"{at}holds an empty string; remove it")
    return tuple(value)


def selection(value: object) -> tuple[str, ...]:
    """Selectors of the rules to run, at least one."""
    found = strings(value)
    if not found:
        raise WrongValue("selects no rule; name some, or remove the key to run those that are on by default")
    return found


def globs(value: object) -> tuple[str, ...]:
    """An array of globs of limited number and length."""
    found = strings(value)
    _check_size(found)
    return found


def _check_size(found: Iterable[str]) -> None:
    try:
        check_size(found)
    except GlobProblem as problem:
        raise WrongValue(str(problem)) from None


def flag(value: object) -> bool:
    """A boolean."""
    if not isinstance(value, bool):
        raise WrongValue(f"must be true or false, not {kind(value)}; write true or false without quotes")
    return value


def version(value: object) -> str:
    """A version of torch."""
    if not isinstance(value, str):
        raise WrongValue(f'must be a string such as "2.4", not {kind(value)}; put quotes around it')
    if not re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?", value):
        raise WrongValue(f'must be a torch version such as "2.4", not {quote(value)}')
    return value


def fail_on(value: object) -> Severity | None:
    """A severity, or None for never."""
    text = choice(value, FAIL_ON)
    return None if text == "never" else Severity(text)


def severities(value: object) -> tuple[tuple[str, Severity], ...]:
    """Severities by selector."""
    if not isinstance(value, dict):
        raise WrongValue(f'must be a table of severities, not {kind(value)}; write TL701 = "warning" in it')
    return tuple(entries(value, _severity).items())


def _severity(selector: str, value: object) -> Severity:
    try:
        return Severity(choice(value, SEVERITIES))
    except WrongValue as wrong:
        raise WrongValue(f"at {quote(selector)} {wrong}") from None


def seconds(value: object) -> float:
    """A number of seconds, 0 for no limit."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongValue(f"must be a number of seconds, not {kind(value)}; write 60, or 0 for no limit")
    if not 0 <= value <= 86_400:
        raise WrongValue("must be between 0 and 86400 seconds; write 0 for no limit")
    return float(value)


def file(value: object) -> str:
    """The name of a file."""
    if not isinstance(value, str):
        raise WrongValue(f"must be the name of a file, not {kind(value)}; put quotes around it")
    if not value.strip() or "\0" in value:
        raise WrongValue("must be the name of a file; write one, or remove the key")
    return value


def choice(value: object, choices: Sequence[object]) -> object:
    """One of a few values."""
    if any(type(value) is type(choice) and value == choice for choice in choices):
        return value
    given = quote(value) if isinstance(value, str) else kind(value)
    close = nearest(value, [c for c in choices if isinstance(c, str)]) if isinstance(value, str) else None
    hint = f"; did you mean {close!r}?" if close else ""
    raise WrongValue(f"must be one of {', '.join(map(str, choices))}, not {given}{hint}")


def ignores(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Rules by glob."""
    if not isinstance(value, dict):
        raise WrongValue(f'must be a table of globs, not {kind(value)}; write "tests/*" = ["TL101"] in it')
    _check_size(value)
    return tuple(entries(value, lambda glob, given: strings(given, f"at {quote(glob)} ")).items())


def tables(value: object) -> Mapping[str, Any]:
    """Tables by name."""
    if not isinstance(value, dict):
        raise WrongValue(f"must be a table of tables, not {kind(value)}; give each rule a table of its own")
    return entries(value, _table)


def _table(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise WrongValue(f"at {quote(name)} must be a table, not {kind(value)}; write [rules.<name>]")
    return value


def budget(value: object) -> Mapping[str, float]:
    """The limits of a budget."""
    if not isinstance(value, dict):
        raise WrongValue(f"must be a table, not {kind(value)}; write synchronizations = 1 in it")
    return entries(value, _limit)


def _limit(key: str, value: object) -> float:
    if key not in BUDGET:
        raise WrongValue(f"has no key {quote(key)}{advice(key, BUDGET, 'keys')}")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise WrongValue(f"at {key} must be a number of 0 or more, not {kind(value)}")
    return float(value)
