"""What the terminal is and can do: its width and hyperlinks. Imports nothing expensive."""

from __future__ import annotations

import os
import sys
from typing import TextIO

# Terminals that open hyperlinks (OSC 8), by what they set in the environment.
_PROGRAMS = ("Hyper", "WarpTerminal", "WezTerm", "ghostty", "iTerm.app", "rio", "terminology", "vscode", "zed")
_TERMS = ("alacritty", "contour", "foot", "foot-extra", "xterm-ghostty", "xterm-kitty")
_VARIABLES = ("DOMTERM", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION")
_VTE = 5000  # version 0.50, the first in which hyperlinks are safe


def prepare() -> None:
    """Let the console of Windows interpret escape sequences, which it shows as text unless a program asks for that."""
    if os.name == "nt":
        from colorama import just_fix_windows_console

        just_fix_windows_console()


def columns() -> int | None:
    """The width that ``COLUMNS`` asks for or the terminal has; None if nothing says so.

    Like ``shutil.get_terminal_size``, which takes longer to import than all options to create.
    """
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or None if sys.__stdout__ else None
    except (AttributeError, ValueError, OSError):
        return None


def hyperlinks(stream: TextIO | None = None) -> bool:
    """Whether the terminal opens hyperlinks: one that is known to, or as ``FORCE_HYPERLINK`` says."""
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced not in ("", "0")
    target = stream or sys.stdout
    if not target.isatty() or "CI" in os.environ:
        return False
    environment = os.environ.get
    return (
        environment("TERM_PROGRAM") in _PROGRAMS
        or environment("TERM") in _TERMS
        or any(variable in os.environ for variable in _VARIABLES)
        or _number(environment("VTE_VERSION", "")) >= _VTE
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
