"""The file of a check, and its summary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_VERDICTS = ("fault", "failed", "measured", "undecided")


def save(found: dict[str, Any], target: Path) -> None:
    """Write the file anew, so that there is always a whole one."""
    partial = target.with_name(f"{target.name}.partial")
    partial.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    partial.replace(target)


def faults(found: dict[str, Any]) -> int:
    """The number of differences that are faults, and of checks that failed."""
    verdicts = (one["verdict"] for part in found["parts"].values() for one in part["differences"])
    return sum(verdict in ("fault", "failed") for verdict in verdicts)


def summary(found: dict[str, Any]) -> str:
    """The evidence in Markdown."""
    lines = [f"## {found['device'] or 'simulated GPU'}, torch {found['torch']}, {found['date']}", ""]
    lines += [f"| part | seconds | {' | '.join(_VERDICTS)} |", f"| --- | --- |{' --- |' * len(_VERDICTS)}"]
    for name, part in found["parts"].items():
        counts = Counter(one["verdict"] for one in part["differences"])
        figures = " | ".join(str(counts[verdict]) for verdict in _VERDICTS)
        skipped = f" ({part['skipped']})" if "skipped" in part else ""
        lines.append(f"| {name}{skipped} | {part['seconds']} | {figures} |")
    lines += ["", *_left(found), *_differences(found), *_forms(found)]
    return "\n".join(lines) + "\n"


def _left(found: dict[str, Any]) -> Iterator[str]:
    for name, part in found["parts"].items():
        if left := part.get("left"):
            named = ", ".join(left[:8]) + (f" and {len(left) - 8} more" if len(left) > 8 else "")
            yield f"- no time left for: {name}: {named}"


def _differences(found: dict[str, Any]) -> Iterator[str]:
    for name, part in found["parts"].items():
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
