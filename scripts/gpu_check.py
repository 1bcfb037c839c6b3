"""Runs all checks that need a GPU, in one command of about ten minutes.

``python scripts/gpu_check.py`` on a machine with a GPU and torch 2.11 or newer writes ``evidence/<device>-<date>.json``
and prints a summary for ``docs/evidence.md``. With ``--on sim --output FILE`` it runs to its end on the simulated GPU,
and measures nothing. Each part has a process and a time limit of its own; every difference has a verdict.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from scripts import gpu_parts  # noqa: E402 - the path has to be set first


def check(mode: str, names: list[str], limit: float | None) -> dict[str, Any]:
    """Run the parts; one that fails or takes too long is reported, and the others continue."""
    import torch

    found: dict[str, Any] = {
        "schema": 2,
        "mode": mode,
        "device": torch.cuda.get_device_name() if mode == "gpu" else None,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "parts": {},
    }
    for name in names:
        start = time.monotonic()
        part = run(name, mode, limit or gpu_parts.PARTS[name][1])
        found["parts"][name] = {**part, "seconds": round(time.monotonic() - start, 1)}
        print(f"{name}: {found['parts'][name]['seconds']} s{', failed' if 'failed' in part else ''}", file=sys.stderr)
    return found


def run(name: str, mode: str, limit: float) -> dict[str, Any]:
    """Run one part in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--on", mode, "--part", name]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        printed, errors = child.communicate(timeout=limit)
        found: dict[str, Any] = json.loads(printed.splitlines()[-1])
        return found
    except subprocess.TimeoutExpired:
        return {"failed": f"took longer than {limit:g} seconds", "differences": []}
    except (ValueError, IndexError):
        return {"failed": f"status {child.returncode}: {errors[-500:]}", "differences": []}
    finally:
        with contextlib.suppress(ProcessLookupError):  # what the part has started ends with it
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def faults(found: dict[str, Any]) -> int:
    """The number of parts that failed, and of differences that are faults."""
    parts = found["parts"].values()
    wrong = [one for part in parts for one in part["differences"] if one["verdict"] == "fault"]
    return len(wrong) + sum("failed" in part for part in parts)


def summary(found: dict[str, Any]) -> str:
    """The evidence in Markdown."""
    lines = [f"## {found['device'] or 'simulated GPU'}, torch {found['torch']}, {found['date']}", ""]
    lines += ["| part | seconds | faults | measured | undecided |", "| --- | --- | --- | --- | --- |"]
    for name, part in found["parts"].items():
        counts = Counter(one["verdict"] for one in part["differences"])
        figures = [str(counts[verdict]) for verdict in ("fault", "measured", "undecided")]
        left = "failed" if "failed" in part else part.get("skipped")
        lines.append(f"| {name}{f' ({left})' if left else ''} | {part['seconds']} | {' | '.join(figures)} |")
    lines += ["", *_differences(found), *_forms(found)]
    return "\n".join(lines) + "\n"


def _differences(found: dict[str, Any]) -> Iterator[str]:
    for name, part in found["parts"].items():
        if "failed" in part:
            yield f"- {name} failed: {part['failed']}"
        for one in part["differences"]:
            yield f"- {one['verdict']}: {name}: {one['what']}: {one['why']}"


def _forms(found: dict[str, Any]) -> Iterator[str]:
    forms = found["parts"].get("claims", {}).get("forms", {})
    if forms and found["mode"] == "gpu":
        yield from ("", "| rule | slow | fast | ratio [99 %] |", "| --- | --- | --- | --- |")
        for name, row in forms.items():
            interval = f"{row['ratio']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
            yield f"| {name} | {row['slow_us']:.0f} us | {row['fast_us']:.0f} us | {interval} |"
    elif forms:
        yield from ("", "| rule | copies, waits: slow | fast |", "| --- | --- | --- |")
        for name, row in forms.items():
            slow, fast = (f"{row[form]['copies']}, {row[form]['waits']}" for form in ("slow", "fast"))
            yield f"| {name} | {slow} | {fast} |"


def main() -> int:
    """Check, write the evidence, print the summary; returns 1 if there are faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", choices=("gpu", "sim"), default="gpu")
    parser.add_argument("--output", metavar="FILE", help="default: evidence/<device>-<date>.json")
    parser.add_argument("--only", nargs="+", choices=gpu_parts.PARTS, default=list(gpu_parts.PARTS), metavar="PART")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="for each part")
    parser.add_argument("--part", choices=gpu_parts.PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--modeled", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.modeled or arguments.part:
        print(json.dumps(gpu_parts.PARTS[arguments.part][0](arguments.on) if arguments.part else gpu_parts.modeled()))
        return 0
    import torch

    if arguments.on == "gpu" and not torch.cuda.is_available():
        parser.error("there is no GPU; --on sim --output FILE runs everything on the simulated one")
    if arguments.on == "sim" and not arguments.output:
        parser.error("the simulated GPU gives no evidence to keep: name a file with --output")
    found = check(arguments.on, arguments.only, arguments.limit)
    name = re.sub(r"[^a-z0-9]+", "-", (found["device"] or "none").lower()).strip("-")
    target = Path(arguments.output) if arguments.output else ROOT / "evidence" / f"{name}-{found['date']}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(summary(found))
    return 1 if faults(found) else 0


if __name__ == "__main__":
    sys.exit(main())
