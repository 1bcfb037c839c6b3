"""A generated program: its text, its inputs and environment, and what its safe fix must preserve."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

from tests.behavior.inputs import made
from tests.behavior.observe import Outcome, differences, outcome
from tests.behavior.surroundings import Surroundings, simulated_cuda
from tests.differential.lookalikes import Elsewhere
from torchlint.config.config import Config
from torchlint.model import Safety
from torchlint.run import session
from torchlint.run.fixing.fix import repair
from torchlint.run.plan import Plan
from torchlint.text.comments import comments

_DIRECTIVE = re.compile(r"torchlint: *(ignore|skip-file)|\[.*?\]|noqa *:?|[A-Z]+\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    """A program with a fix. ``inputs`` are values, or names of objects to create; with ``cuda`` there is one GPU."""

    rule: str
    text: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    surroundings: Surroundings = field(default_factory=Surroundings)
    cuda: bool = False


class Verdict(NamedTuple):
    """The text after the safe fixes, whether the rule of the case made one, and the differences in its run."""

    after: str
    repaired: bool
    differences: tuple[str, ...] = ()


def judged(case: Case) -> Verdict:
    """Fix the program of a case, and run it before and after."""
    after = fixed(case.text, case.rule)
    if after == case.text:
        return Verdict(after, repaired=False)
    before, now = _outcome(case, case.text), _outcome(case, after)
    found = tuple(differences(before, now))
    lost = ("comments",) if _words(case.text) - _words(after) else ()
    return Verdict(after, True, lost if _is_meant(case, before, now, found) else (*found, *lost))


@lru_cache(maxsize=50_000)
def fixed(text: str, rule: str) -> str:
    """The text after the safe fixes of a rule."""
    plan, data = _plan(rule), text.encode()
    done = repair(data, plan.lint(data, "program.py"), lambda changed: plan.lint(changed, "program.py"), Safety.SAFE)
    assert done.problem is None and not done.refused and not done.result.problems, done
    return done.data.decode()


@cache
def _plan(rule: str) -> Plan:
    """The rule alone; TL001 needs all rules."""
    return session.plan(Config(select=("ALL" if rule == "TL001" else rule,)))


def _words(text: str) -> set[str]:
    """The words of the comments, without suppressions."""
    said = (_DIRECTIVE.sub("", text[start:end]) for start, end in comments(text))
    return {word for comment in said for word in re.findall(r"\w+", comment)}


def _maker(value: Any) -> Callable[[], Any]:
    return value.new if isinstance(value, Elsewhere) else partial(made, value)


def _outcome(case: Case, text: str) -> Outcome:
    inputs = {name: _maker(value) for name, value in case.inputs.items()}
    return outcome(text, inputs, simulated_cuda if case.cuda else None, case.surroundings)


def _is_meant(case: Case, before: Outcome, after: Outcome, found: tuple[str, ...]) -> bool:
    """Whether a difference is documented: the program raises or warns before, and differently or not at all after.

    A negative size raises an error of another class. Tensors on ``meta`` cannot be moved, but can be created on the
    target; and on ``meta`` nothing is filled or converted, so no number is rejected.
    """
    made_on_meta = "'meta'" in repr(after.get("result"))
    if found == ("warnings",):
        return case.rule == "TL101" and made_on_meta
    if case.rule not in ("TL101", "TL103", "TL104", "TL105", "TL107"):
        return False
    if "exception" not in before:
        return False
    if case.rule == "TL103" or ("exception" in after and not case.cuda):
        return "exception" in after  # without CUDA, the other one of two errors may come first
    around = (case.surroundings.device, case.surroundings.scope)
    left = "meta" in around and before["exception"] == "NotImplementedError"
    return left or (case.rule in ("TL104", "TL105") and made_on_meta)
