"""Runs all checks that need a GPU, in one command of about five minutes on 16 cores.

``python scripts/gpu_check.py`` on a machine with a GPU and torch 2.11 or newer writes ``evidence/<device>-<date>.json``
and prints a summary for ``docs/evidence.md``. What counts runs side by side, then what times runs alone. The file is
written whenever something is known, so that a run that is ended loses nothing; every difference has a verdict. With
``--on sim --output FILE`` it runs to its end on the simulated GPU, and measures nothing.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import re
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from scripts.gpu import report, tasks  # noqa: E402 - the path has to be set first
from scripts.gpu.accounts import simulate  # noqa: E402
from scripts.gpu.common import Settings  # noqa: E402
from scripts.gpu.parts import PARTS  # noqa: E402
from scripts.gpu.schedule import Schedule  # noqa: E402

_CARRY = """\
on a machine without network:
  What it needs beside torch and NumPy is pure Python, but for libcst. Where there is a network, for the Python and the
  platform of the machine:
    pip download --no-deps --only-binary :all: --python-version 3.12 --platform manylinux_2_28_x86_64 \\
        --dest .whl libcst pathspec shtab tqdm
  Carry the checkout and `.whl`, and there:
    python -m pip install --no-index --no-deps --no-compile --target /tmp/site .whl/*.whl
    PYTHONPATH=/tmp/site python scripts/gpu_check.py --seconds 280 --output check.json
  PYTHONPATH is handed on to all processes. A folder that a `.pth` file in site-packages names does as well.
"""


def check(settings: Settings, names: list[str], seconds: float | None, target: Path) -> dict[str, Any]:
    """Run the parts, and write what they find."""
    import torch

    found: dict[str, Any] = {
        "schema": 3,
        "mode": settings.mode,
        "device": torch.cuda.get_device_name() if settings.mode == "gpu" else None,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "parts": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        schedule = Schedule(settings, found["parts"], lambda: report.save(found, target), folder, seconds)
        schedule.run({name: part for name, part in PARTS.items() if name in names})
    return found


def _target(output: str | None, mode: str) -> Path:
    if output is not None:
        return Path(output)
    import torch

    name = torch.cuda.get_device_name() if mode == "gpu" else "none"
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return ROOT / "evidence" / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}-{date}.json"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=_CARRY, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--on", choices=("gpu", "sim"), default="gpu")
    parser.add_argument("--output", metavar="FILE", help="default: evidence/<device>-<date>.json")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=f"of {', '.join(PARTS)}"
    )
    parser.add_argument("--seconds", type=float, help="for all parts; what does not fit is left out, and named")
    parser.add_argument(
        "--programs",
        nargs="+",
        default=[],
        metavar="PROGRAM",
        help="scripts with their arguments, each in quotes; they run in this folder without and with observation, and "
        "beside that on the simulated GPU, whose verdicts are compared",
    )
    parser.add_argument("--task", nargs=2, metavar=("PART", "FILE"), help=argparse.SUPPRESS)
    parser.add_argument("--items", nargs="+", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--simulate", nargs="+", help=argparse.SUPPRESS)
    return parser


def main() -> int:
    """Check, write the evidence, print the summary; returns 1 if there are faults."""
    parser = _parser()
    arguments = parser.parse_args()
    settings = Settings(arguments.on, tuple(arguments.programs))
    if arguments.simulate:
        print(json.dumps(simulate(arguments.simulate)))
        return 0
    if arguments.task:
        name, target = arguments.task
        tasks.work(PARTS[name], settings, arguments.items, target)
        return 0
    import torch

    if arguments.on == "gpu" and not torch.cuda.is_available():
        parser.error("there is no GPU; --on sim --output FILE runs everything on the simulated one")
    if arguments.on == "sim" and not arguments.output:
        parser.error("the simulated GPU gives no evidence to keep: name a file with --output")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started ends too
    path = _target(arguments.output, arguments.on)
    path.parent.mkdir(parents=True, exist_ok=True)
    found = check(settings, arguments.only, arguments.seconds, path)
    print(report.summary(found))
    return 1 if report.faults(found) else 0


if __name__ == "__main__":
    sys.exit(main())
