"""The ``server`` command: starts the language server."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from torchlint.base.version import installation
from torchlint.cli.output import Failure

if TYPE_CHECKING:
    import argparse

_NEEDED = ("pygls", "lsprotocol", "tomlkit")


def run(_: argparse.Namespace) -> int:
    """Serve an editor until it ends the server; returns the exit status."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        named = " and ".join(part for part in (", ".join(missing[:-1]), missing[-1]) if part)
        raise Failure(f"the language server needs {named}: {installation('server')}")
    from torchlint.server.start import run as serve

    return serve()
