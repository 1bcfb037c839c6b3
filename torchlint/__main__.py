"""Where torchlint starts: ``python -m torchlint``, and the console script.

``python -m`` puts the current folder first on the module path, and a folder that is linted may hold a ``json.py``.
So nothing is imported here, nor in the package's ``__init__``, before that entry is gone: not even ``__future__``.
"""

import os  # Python itself has imported these two
import sys


def _leave_the_current_folder() -> None:
    """Take the entry away that ``python -m`` has put on the module path."""
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib would be imported from that entry
    except OSError:
        here = ""
    if sys.path[:1] in ([here], [""]) and not getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[0]


def run() -> int:
    """Run the command line in a process of its own; gives the exit status."""
    try:
        from torchlint import interrupts

        interrupts.take()
        from torchlint.cli import main

        status = main()
        interrupts.ignore()
    except KeyboardInterrupt:  # before the signals were taken
        sys.stderr.write("torchlint: interrupted\n")
        return 130
    return status


if __name__ == "__main__":
    _leave_the_current_folder()
    sys.exit(run())
