"""Output of the command line, and its error for failures. Imports nothing expensive."""

from __future__ import annotations

import os
import sys
from typing import TextIO

# The exit statuses.
CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130


class Failure(Exception):
    """torchlint cannot do its work: the reason on one line, with advice; or several such reasons."""


def need(output_format: str) -> None:
    """Refuse a format whose packages are not installed, before any work is done."""
    from torchlint.report import unavailable

    if (reason := unavailable(output_format)) is not None:
        raise Failure(reason)


def print_text(text: str, stream: TextIO | None = None) -> None:
    """Print text that may contain characters which the terminal's encoding lacks."""
    target = stream or sys.stdout
    encoding = target.encoding or "utf-8"
    target.write(text.encode(encoding, "backslashreplace").decode(encoding))


def print_bytes(data: bytes) -> None:
    """Print bytes as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_diff(text: bytes) -> None:
    """Print a diff: on a terminal, where it is not applied, without control sequences."""
    from torchlint.text.visible import visible

    if sys.stdout.isatty():
        print_text("".join(f"{visible(line)}\n" for line in text.decode("utf-8", "replace").split("\n")[:-1]))
    else:
        print_bytes(text)


def write_file(option: str, name: str, text: str) -> None:
    """Write a file atomically, or to the target of a link, a device or a pipe. Raises `Failure`."""
    from pathlib import Path

    from torchlint.base.files import replace

    target, data = Path(name), text.encode("utf-8", "backslashreplace")
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            replace(target.resolve(), data, mode=0o666)
    except OSError as error:
        raise Failure(f"{option}: {name} cannot be written: {error.strerror}") from None


def colored(wish: str, *, to_file: bool, stream: TextIO | None = None) -> bool:
    """Whether to use colors: ``always``, ``never``, or ``auto`` if the terminal supports them."""
    wanted = _colored(wish, to_file=to_file, stream=stream)
    if wanted and not to_file:
        from torchlint.cli.terminal import prepare

        prepare()
    return wanted


def _colored(wish: str, *, to_file: bool, stream: TextIO | None) -> bool:
    if wish != "auto":
        return wish == "always"
    if to_file or os.environ.get("NO_COLOR"):
        return False
    target = stream or sys.stdout
    return bool(os.environ.get("FORCE_COLOR")) or (target.isatty() and os.environ.get("TERM") != "dumb")
