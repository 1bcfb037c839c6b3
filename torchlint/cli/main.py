"""The main function of the command line."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.base.version import __version__
from torchlint.cli import disguised
from torchlint.cli.output import CLEAN, FAILED, INTERRUPTED, Failure

if TYPE_CHECKING:
    from torchlint.config.config import ConfigError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        disguised.refuse(given)
        if given in (["--version"], ["-V"]):
            print(f"torchlint {__version__}")
            return CLEAN
        status = _run(given)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("torchlint: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return FAILED
    except Failure as failure:
        return _failed(*failure.args)
    except OSError as error:
        _drop_output()
        return _failed(f"{error.filename or _nameless()}: {error.strerror or type(error).__name__}")


def _failed(*reasons: str) -> int:
    """Print why torchlint cannot do its work, each reason in one escaped line."""
    from torchlint.text.visible import visible

    for reason in reasons:
        print(f"torchlint: error: {visible(reason)}", file=sys.stderr)
    return FAILED


def _nameless() -> str:
    """The subject of a system error that names no file."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib costs start-up
    except OSError:
        return "the current folder"
    return "standard output"


def _drop_output() -> None:
    """Discard the remaining output, which has no reader; Python would try to write it at exit."""
    with contextlib.suppress(OSError, ValueError):  # standard output may not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(given: list[str]) -> int:
    from torchlint.cli import options
    from torchlint.config.config import ConfigError

    given, program = options.split_program(options.with_command(given))
    arguments = options.parser(given[0] if given[0] in options.COMMANDS else None).parse_args(given)
    try:
        if arguments.command in options.COMPANION:
            from torchlint.base import interrupts
            from torchlint.cli import companion

            interrupts.give_back()  # signals reach the program being run, and folders are cleaned up
            return companion.run(arguments, program)
        if arguments.command == "scan":
            from torchlint.base import interrupts
            from torchlint.cli import scan

            interrupts.give_back()  # the processes of Ray are ended in order
            return scan.run(arguments)
        if arguments.command == "check":
            from torchlint.cli import check

            return check.run(arguments)
        if arguments.command == "server":
            from torchlint.cli import server

            return server.run(arguments)
        from torchlint.cli import lookups

        status: int = getattr(lookups, arguments.command)(arguments)
        return status
    except ConfigError as error:
        raise Failure(*_mistakes(error)) from None


def _mistakes(error: ConfigError) -> tuple[str, ...]:
    """Everything that is wrong with a configuration, also names that are no rules."""
    from torchlint.config.config import ConfigError
    from torchlint.config.scopes import every_mistake
    from torchlint.run.rules import registry

    try:
        return every_mistake(error, registry.load()) if error.rest is not None else error.messages
    except ConfigError as other:  # of a package with rules
        return (*error.messages, *other.messages)


if __name__ == "__main__":
    sys.exit(main())
