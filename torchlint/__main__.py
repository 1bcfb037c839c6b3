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
        from torchlint.base import interrupts

        interrupts.take()
        _open_streams()
        from torchlint.cli.main import main

        status = main()
        interrupts.ignore()
    except KeyboardInterrupt:  # before the signals were taken
        sys.stderr.write("torchlint: interrupted\n")
        return 130
    return status


def console() -> int:
    """The console script, and ``python -m``: the process ends here, unless somebody waits for what comes next."""
    status = run()
    if not _is_awaited():
        _end(status)
    return status


def _open_streams() -> None:
    """Where a shell has closed an output (`>&-`), Python has none at all: let what is said there be lost.

    What is open elsewhere must not take the number of one that is closed, nor that of a closed input.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as the process


def _is_awaited() -> bool:
    """Somebody waits for what comes next: a caller such as a notebook, a debugger, a profiler, a program that ran."""
    callers = []
    frame = sys._getframe(2).f_back  # above `console` and the module that calls it
    while frame is not None:
        callers.append(frame.f_code.co_name)
        frame = frame.f_back
    if callers not in ([], ["_run_code", "_run_module_as_main"]):
        return True
    watched = sys.gettrace() is not None or sys.getprofile() is not None or sys.flags.inspect
    monitoring = getattr(sys, "monitoring", None)  # Python 3.12
    tools = monitoring is not None and any(monitoring.get_tool(number) for number in range(6))
    return bool(watched or tools or "torchlint.cli.companion" in sys.modules)


def _end(status: int) -> None:
    """End at once: to take all modules apart takes as long as linting some files, and nobody needs it."""
    from contextlib import suppress

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # it was closed
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _leave_the_current_folder()
    sys.exit(console())
