"""``python -m torchlint.runtime ORDER``: runs the program of an order and writes evidence."""

import os  # Python itself has already imported these two
import sys


def _leave_the_current_folder() -> None:
    """Remove the entry for the current folder that ``python -m`` put on the module path.

    A ``random.py`` there must not replace the standard library's while torch is imported; programs get their own entry.
    """
    if sys.path[:1] in ([os.getcwd()], [""]) and not getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[0]


if __name__ == "__main__":
    _leave_the_current_folder()

import json  # noqa: E402

REFUSED = 2


def main() -> int:
    """Run the program; returns its exit status."""
    path = os.path.abspath(sys.argv[1])
    with open(path, encoding="utf-8") as stream:
        order = json.load(stream)
    from torchlint.runtime import modes, processes, script
    from torchlint.runtime.observation import Observation

    try:
        mode, notes = modes.resolve(order)
    except modes.Refused as refused:
        return _refuse(order, str(refused))
    observation = Observation(order, mode, notes)
    processes.mark_modules(observation.marks)
    observation.start()
    processes.follow(observation, path)
    observation.write()
    if order.get("seconds"):
        script.limit_seconds(order["seconds"])
    return script.run(
        observation, script=order.get("script"), module=order.get("module"), arguments=order.get("arguments", [])
    )


def _refuse(order: dict[str, str], reason: str) -> int:
    with open(os.path.join(order["directory"], "refused.json"), "w", encoding="utf-8") as stream:
        json.dump({"run": order["run"], "reason": reason}, stream)
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
