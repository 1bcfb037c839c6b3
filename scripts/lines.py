"""Lines of Python that may become fewer, and not more: fails if there are more than `scripts/lines.json` says.

What decides findings grows by itself if nothing stops it, and every line of it is read by whoever changes a rule.
``--write`` takes over the present numbers, if none of them is larger.

    python scripts/lines.py [--write]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_KNOWN = "scripts/lines.json"
# What decides findings; and the package without what runs beside a program.
_DECIDES = ("analysis", "catalogue", "engine", "knowledge", "libraries", "prefilter", "program", "project", "rules")
_DECIDES_TOO = ("on.py", "solution.py")
_APART = ("confirm", "runtime")


def counted(root: Path) -> dict[str, int]:
    """The lines of each part of the package in a checkout."""
    package = root / "torchlint"
    lines = {path.relative_to(package): _lines(path) for path in package.rglob("*.py")}
    decides = sum(n for path, n in lines.items() if path.parts[0] in _DECIDES or str(path) in _DECIDES_TOO)
    rest = sum(n for path, n in lines.items() if path.parts[0] not in _APART)
    return {"what decides findings": decides, "the package without confirm and runtime": rest}


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def grown(now: dict[str, int], before: dict[str, int]) -> list[str]:
    """What has become more, in words."""
    return [f"{name} has {n} lines, {n - before[name]} more than before" for name, n in now.items() if n > before[name]]


def main(argv: Sequence[str], root: Path = ROOT) -> int:
    """The exit status: 1 if there are more lines than before."""
    known, now = root / _KNOWN, counted(root)
    problems = grown(now, json.loads(known.read_text()))
    for problem in problems:
        print(f"{problem}: delete what the change replaces", file=sys.stderr)
    if argv == ["--write"] and not problems:
        known.write_text(json.dumps(now, indent=2) + "\n")
    elif not problems:
        print(", ".join(f"{name}: {n}" for name, n in now.items()))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
