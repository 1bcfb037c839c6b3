"""Measures the effect of a fix: runs the program with and without it, and compares the times."""

from __future__ import annotations

import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torchlint.base.limits import content
from torchlint.base.two_forms import LEAST_NS, LEAST_STEPS, Unswitchable, merged
from torchlint.confirm import evidence, launch, order
from torchlint.confirm.evidence import Run
from torchlint.confirm.order import Order
from torchlint.model import Finding, Safety
from torchlint.report.figures import duration
from torchlint.report.shared import dump
from torchlint.run.fixing.fix import applied
from torchlint.text.decode import DecodeProblem, decode
from torchlint.text.visible import visible

# Smaller differences do not count, whatever the confidence interval.
LEAST = 0.02
_CONFIDENCE = 0.99
_RESAMPLES = 4000
_CHECKED_STEPS = 20
_BY_PAIRS = ("loading", "backends")
_RESERVATION = (
    "note: this ran on the plain CPU, where nothing is copied to a device or waits for one: what a fix of copies, "
    "waits or cuDNN is worth shows only on a GPU"
)
# Told in a line what is done, and how long it will take.
Told = Callable[[str], None]


class ComparisonProblem(Exception):
    """Two forms cannot be compared; a one-line reason with advice."""


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison. Ratios are old time to new time; the interval has 99 % confidence.

    ``equal`` says whether the losses of both forms are bitwise equal; None if no loss was recorded.
    """

    finding: Finding
    method: str
    mode: str
    device: str | None
    pairs: int
    ratio: float
    low: float
    high: float
    old_us: float
    new_us: float
    equal: bool | None
    repeatable: bool | None
    compared: int

    @property
    def decided(self) -> str:
        """``faster``, ``slower`` or ``no difference``."""
        if self.low > 1 and self.ratio >= 1 + LEAST:
            return "faster"
        if self.high < 1 and self.ratio <= 1 / (1 + LEAST):
            return "slower"
        return "no difference"


def chosen(findings: Sequence[Finding], wanted: str) -> Finding:
    """The finding that the user selected. Raises :class:`ComparisonProblem`."""
    matching = [finding for finding in findings if _is_meant(finding, wanted)]
    if len(matching) == 1:
        return matching[0]
    where = [f"{f.rule}:{f.path}:{f.span.line}" for f in (matching or findings)]
    if not where:
        raise ComparisonProblem(f"--finding {wanted}: there are no findings in this program")
    count = "several fit" if matching else "none fits"
    raise ComparisonProblem(f"--finding {wanted}: {count}; name one of {', '.join(where[:8])}")


def _is_meant(finding: Finding, wanted: str) -> bool:
    place = f"{finding.path}:{finding.span.line}"
    short = f"{os.path.basename(finding.path)}:{finding.span.line}"
    names = (finding.fingerprint, finding.rule, finding.name, place, short)
    return wanted in (*names, f"{finding.rule}:{place}", f"{finding.rule}:{short}")


def method_of(finding: Finding) -> str:
    """How to compare: loader options and backend flags need a process for each form; expressions can be switched."""
    return "pairs" if finding.topic in _BY_PAIRS else "switch"


class Forms:
    """The two forms of a program, and runs of them."""

    def __init__(self, finding: Finding, made: Order, *, unsafe: bool) -> None:
        if finding.fix is None:
            raise ComparisonProblem(f"{finding.rule} at {finding.path}:{finding.span.line} has no fix to compare with")
        if finding.fix.safety is Safety.UNSAFE and not unsafe:
            raise ComparisonProblem(
                f"{finding.rule} at {finding.path}:{finding.span.line}: its fix may change results "
                f"({finding.fix.caveat}); compare it with --unsafe-fixes"
            )
        self.finding = finding
        self._made = made
        self._path = os.path.realpath(os.path.join(made.base, finding.path))
        try:
            self._fixed = applied(decode(content(self._path)), [finding])
        except IndexError:
            raise ComparisonProblem(f"{finding.path}: is not what it was when it was linted; lint it again") from None
        except (OSError, DecodeProblem) as problem:
            raise ComparisonProblem(f"{finding.path}: cannot be read: {problem}") from None

    def method(self, wanted: str) -> str:
        """How to compare: ``switch`` or ``pairs``. Raises :class:`ComparisonProblem` for what is not possible."""
        reason = self._unswitchable()
        if wanted == "auto":
            return "pairs" if reason else method_of(self.finding)
        if wanted == "switch" and reason:
            raise ComparisonProblem(f"--method switch: {reason}; use --method pairs")
        return wanted

    def _unswitchable(self) -> str | None:
        try:
            merged(content(self._path), self._fixed)
        except (Unswitchable, SyntaxError) as reason:
            return str(reason)
        return None

    def run(self, form: str, method: str, *, steps: int | None = None, blocks: int = 0) -> Run:
        """Run one form, or both in alternating blocks; the program's output is not captured."""
        with tempfile.TemporaryDirectory(dir=self._made.directory) as directory:
            switch = {"path": self._path, "fixed": self._fixed, "form": form, "method": method, "blocks": blocks}
            made = replace(
                self._made, directory=directory, findings={}, recipes={}, switch=switch, steps=steps or self._made.steps
            )
            ended = launch.launch(order.write(made), made, None)
            if ended.refused is not None:
                raise ComparisonProblem(ended.refused)
            try:
                seen = evidence.read(directory, made.run)
            except evidence.EvidenceProblem as problem:
                raise ComparisonProblem(str(problem)) from None
        if ended.status:
            raise ComparisonProblem(f"the program failed with status {ended.status} in its {form} form")
        return seen


def measure(forms: Forms, wanted: str, *, blocks: int, pairs: int, told: Told) -> Comparison:
    """Time both forms, and compare their losses; ``told`` what is done. Raises :class:`ComparisonProblem`."""
    method = forms.method(wanted)
    told(f"comparing the losses of both forms in three runs of {_CHECKED_STEPS} steps")
    first = forms.run("old", method, steps=_CHECKED_STEPS)
    if method == "switch" and not _switch(first)["evaluated"][0]:
        method = _other_method(wanted)
        told("the flagged code does not run in the steps of the main process: comparing pairs of processes")
    again = forms.run("old", method, steps=_CHECKED_STEPS)
    other = forms.run("new", method, steps=_CHECKED_STEPS)
    timed = _switched(forms, blocks, first, told) if method == "switch" else _paired(forms, pairs, told)
    logs = [math.log(old / new) for old, new in timed if old > 0 and new > 0]
    low, high = interval(logs)
    losses = [list(_switch(run)["losses"]) for run in (first, again, other)]
    seen = any(losses)
    return Comparison(
        finding=forms.finding,
        method=method,
        mode=first.mode,
        device=first.device,
        pairs=len(logs),
        ratio=math.exp(statistics.median(logs)),
        low=math.exp(low),
        high=math.exp(high),
        old_us=statistics.median(old for old, _ in timed) / 1000,
        new_us=statistics.median(new for _, new in timed) / 1000,
        equal=losses[0] == losses[2] if seen else None,
        repeatable=losses[0] == losses[1] if seen else None,
        compared=len(losses[0]),
    )


def _other_method(wanted: str) -> str:
    if wanted == "switch":
        raise ComparisonProblem("the flagged code does not run in the steps of the main process: use --method pairs")
    return "pairs"


def _switch(run: Run) -> Any:
    if run.switch is None:
        raise ComparisonProblem("the program left no measurements; did it end before its first step?")
    return run.switch


def _switched(forms: Forms, blocks: int, first: Run, told: Told) -> list[tuple[float, float]]:
    step = first.step_ns or 0
    block = max(LEAST_STEPS * step, LEAST_NS) + step  # one step of each block is not measured
    told(f"comparing {blocks} pairs of blocks of steps: about {_seconds(2 * blocks * block)}")
    run = forms.run("blocks", "switch", blocks=blocks)
    found = _switch(run)
    if len(found["pairs"]) < 5:
        raise ComparisonProblem(
            f"only {len(found['pairs'])} pairs of blocks in {run.steps} steps: give the program more steps (a pair "
            "takes eight or more, and a tenth of a second), or use --method pairs"
        )
    return [(old, new) for old, new in found["pairs"]]


def _paired(forms: Forms, pairs: int, told: Told) -> list[tuple[float, float]]:
    order_of = random.Random(0)
    found: list[tuple[float, float]] = []
    begun = time.monotonic_ns()
    for number in range(pairs):
        spent: dict[str, float] = {}
        for form in order_of.sample(("old", "new"), 2):
            run = forms.run(form, "pairs")
            blocks = _switch(run).get("blocks")
            spent[form] = statistics.median(blocks) if blocks else float(run.step_ns or run.wall_ns)
        found.append((spent["old"], spent["new"]))
        left = (time.monotonic_ns() - begun) * (pairs - number - 1) / (number + 1)
        told(f"{number + 1} of {pairs} pairs of processes" + (f": about {_seconds(left)} more" if left else ""))
    return found


def _seconds(nanoseconds: float) -> str:
    seconds = nanoseconds / 1e9
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def interval(logs: Sequence[float]) -> tuple[float, float]:
    """The 99 % bootstrap interval of the median."""
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(logs, k=len(logs))) for _ in range(_RESAMPLES))
    cut = int(len(medians) * (1 - _CONFIDENCE) / 2)
    return medians[cut], medians[-cut - 1]


# -- reports -------------------------------------------------------------------------------------


def as_text(found: Comparison) -> str:
    """A comparison for people."""
    finding = found.finding
    title = finding.fix.title if finding.fix else ""
    on = found.device or ("the CPU" if found.mode == "cpu" else "a GPU")
    unit = "blocks of steps" if found.method == "switch" else "processes"
    ratio = f"x{found.ratio:.3f} [{found.low:.3f}, {found.high:.3f}] from {found.pairs} pairs of {unit}"
    times = f"{duration(found.old_us)} a step before and {duration(found.new_us)} after (medians, 99 % interval)"
    head = f"{finding.rule} {finding.name} at {finding.path}:{finding.span.line}: {title}"
    lines = [head, f"on {on}: {found.decided}; {ratio}, {times}", _results(found)]
    if found.mode == "cpu":
        lines.append(_RESERVATION)
    return "".join(f"{visible(line)}\n" for line in lines)


def _results(found: Comparison) -> str:
    if found.equal is None:
        return "results: no loss was seen, so the results were not compared"
    if found.equal:
        return f"results: the first {found.compared} losses are the same bits in both forms"
    if not found.repeatable:
        return "results: the losses differ, but they do between two runs of the same form as well: seed the program"
    return "results: THE LOSSES DIFFER between the two forms, and do not between two runs of the same form"


def as_json(found: Comparison) -> str:
    """A comparison for programs."""
    finding = found.finding
    values = {
        "schema": 1,
        "rule": finding.rule,
        "path": finding.path,
        "line": finding.span.line,
        "method": found.method,
        "mode": found.mode,
        "device": found.device,
        "pairs": found.pairs,
        "ratio": found.ratio,
        "interval": [found.low, found.high],
        "confidence": _CONFIDENCE,
        "decided": found.decided,
        "old_us": found.old_us,
        "new_us": found.new_us,
        "losses": {"compared": found.compared, "equal": found.equal, "repeatable": found.repeatable},
    }
    return dump(values)
