"""The base of the argument parser: its help, its one-line errors, and suggestions for misspelled words."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from torchlint.cli.output import Failure
from torchlint.cli.terminal import columns

_UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6}  # in microseconds


class Help(argparse.RawDescriptionHelpFormatter):
    """A help formatter as wide as the terminal; ``argparse`` creates one per option, and finds the width slowly."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=(columns() or 80) - 2)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one escaped line, even if a file name is mistaken for an option.

    Options cannot be abbreviated: what is unique today may mean another option in the next version.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        self._given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Print an error in one line and exit. A misspelled option is why a required one is missing."""
        from torchlint.text.visible import visible

        if message.startswith("the following arguments are required"):
            misspelled = (word for word in self._options() if self._meant(word))
            message = next(map(self._about, misspelled), message)
        self.exit(2, f"torchlint: error: {visible(message)}\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse the arguments of a command; an unknown one is an error with the option that was probably meant."""
        self._given = args or ()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._about(unknown[0]))
        return found, unknown

    def _options(self) -> Iterator[str]:
        """The long options given before the first word that is neither an option nor the value of one."""
        before = ""
        for word in self._given:
            if not (word.startswith("-") or before.startswith("-")):
                return
            if word.startswith("--"):
                yield word
            before = word

    def _about(self, argument: str) -> str:
        if not argument.startswith("-"):
            return f"unexpected argument {argument!r}; `{self.prog} --help` says what the command takes"
        meant = self._meant(argument)
        advice = f"did you mean {meant}?" if meant else f"`{self.prog} --help` lists the options"
        return f"unknown option {argument.partition('=')[0]}; {advice}"

    def _meant(self, argument: str) -> str | None:
        """The long option that an unknown one was probably meant to be."""
        from torchlint.config.values import nearest

        given = argument.partition("=")[0]
        if given in self._option_string_actions:
            return None
        known = [name for name, own in self._option_string_actions.items() if own.help != argparse.SUPPRESS]
        longer = [name for name in known if len(given) > 2 and name.startswith(given)]
        if longer:
            return longer[0]
        # The dashes, which all have in common, would make short words alike.
        close = nearest(given.lstrip("-"), [name[2:] for name in known if name.startswith("--")])
        return f"--{close}" if close else None


# Commands of other linters, and what they are called here.
_OTHER_NAMES = {"explain": "rule"}


def refuse_unknown(given: Sequence[str], commands: Sequence[str]) -> None:
    """Raise :class:`Failure` if the first word is neither a path nor a command, but means or resembles one."""
    word = given[0]
    if not word.isidentifier() or os.path.lexists(word):
        return
    if word in _OTHER_NAMES:
        raise Failure(f"there is no command {word!r}; write `torchlint {' '.join([_OTHER_NAMES[word], *given[1:]])}`")
    from torchlint.config.values import nearest

    names: list[str] = []
    with suppress(OSError):
        names = os.listdir()  # noqa: PTH208 - pathlib costs start-up
    meant = nearest(word, [*names, *commands, "--help", "--version"])
    if meant is not None and meant not in names:
        raise Failure(f"there is no command, file or folder {word!r}; did you mean `torchlint {meant}`?")


def microseconds(text: str) -> float:
    """The type of an option for a time: microseconds, of a number with its unit."""
    number = text.strip().rstrip("mus")
    unit = _UNITS.get(text.strip()[len(number) :])
    try:
        found = float(number) * (unit or 0.0)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; give a number with its unit: 800us, 12ms or 1.5s")
    return found
