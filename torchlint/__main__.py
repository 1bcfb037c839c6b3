"""The entry point: ``python -m torchlint`` and the console script.

``python -m`` puts the current folder first on the module path, and a linted folder may contain a ``json.py``. So
neither this module nor the package's ``__init__`` imports anything before that entry is removed, not even
``__future__``.
"""

import os  # Python itself has already imported these two
import sys


def _leave_the_current_folder() -> None:
    """Remove the entry for the current folder that ``python -m`` put on the module path."""
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib would be imported from that entry
    except OSError:
        here = ""
    if sys.path[:1] in ([here], [""]) and not getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[0]


def run() -> int:
    """Run the command line in a process of its own; returns the exit status."""
    try:
        from torchlint.base import interrupts

        interrupts.take()
        _open_streams()
        from torchlint.cli.main import main

        status = main()
        interrupts.ignore()
    except KeyboardInterrupt:  # before torchlint handled signals
        sys.stderr.write("torchlint: interrupted\n")
        return 130
    return status


def console() -> int:
    """The console script and ``python -m``: ends the process, unless the caller is waiting for it to return."""
    status = run()
    if not _is_awaited():
        _end(status)
    return status


def _open_streams() -> None:
    """Replace outputs that the shell has closed (``>&-``), for which Python has no stream at all.

    What is printed there is lost. Files that are opened later must not get the file descriptor of a closed stream.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as the process


def _is_awaited() -> bool:
    """Whether a caller is waiting for ``console`` to return: a notebook, a debugger, a profiler or another program."""
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
    """End at once, without finalizing modules, which takes as long as linting some files."""
    from contextlib import suppress

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the stream was closed
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _leave_the_current_folder()
    sys.exit(console())
