"""File names that look like options or commands.

Hooks and shells pass file names as they are, and whoever commits a file chooses its name: ``--fix``,
``--output-file=victim.py``. A user who means the option must run torchlint in a folder without such a file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from torchlint.cli.output import Failure

#: Commands that run a program.
_RUNNING = ("confirm", "compare")


def refuse(given: Sequence[str]) -> None:
    """Raise :class:`Failure` for an argument that may be an option or the name of a file here."""
    for argument in given:
        if argument.startswith("-") and os.path.lexists(argument):
            raise Failure(
                f"{argument}: is the name of a file here and looks like an option; "
                f"write ./{argument}, or `--` before the names of files"
            )
        if argument == "--":
            return
    # `torchlint *` in a folder with files of these names would run an unchecked program.
    if given and given[0] in _RUNNING and os.path.lexists(given[0]):
        raise Failure(
            f"{given[0]}: is a command and the name of a file here; "
            f"write ./{given[0]} for the file, or `torchlint {given[0]} -- SCRIPT` to run a program"
        )
