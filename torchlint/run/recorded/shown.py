"""What a run has shown of a file, as facts like those of following the programs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchlint.knowledge import forms
from torchlint.knowledge.forms import Form
from torchlint.project.followed import FollowedEvent, FollowedFile, FollowedStep, Range, digest, range_of
from torchlint.run.recorded.shown_forms import Named, Tree

OFTEN = 0.9  # the part of the steps from which on something happens in every step
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What may run more often, or at another time, than the function around it.
_APART = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LATER = (ast.Lambda, ast.ClassDef)
_RECEIVERS = {
    forms.READ_METHOD.key: "device",
    forms.WAITING_METHOD.key: "device",
    forms.CHECKING_METHOD.key: "device",
    forms.MOVED_TO_HOST.key: "device",
    forms.BLOCKING.key: "host",
}


class Shown(NamedTuple):
    """What a run has shown at an expression.

    ``kind`` is ``sync``, ``upload`` or ``download``, ``how`` what the run says of it, ``phase`` is ``training`` or
    ``inference``, and ``part`` the part of the steps in which it happens.
    """

    kind: str
    place: Range
    how: str
    phase: str
    part: float

    @property
    def every_step(self) -> bool:
        """Whether it happens in every step, or nearly."""
        return self.part >= OFTEN


def with_shown(known: FollowedFile, content: bytes, shown: Sequence[Shown]) -> FollowedFile:
    """What is known of a file, together with what runs of the same content have shown in every step."""
    try:
        tree = Tree(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return known
    events, tensors = {event.place: event for event in known.events}, dict(known.tensors)
    steps = {step.line: step for step in known.steps}
    reached, places = set(known.reached or ()), []
    for one in shown:
        node = tree.at(one.place) if one.every_step else None
        form = tree.form(node, one.kind, one.how) if node is not None else None
        if node is None or form is None or not form.form.rules:
            continue
        around = tree.around(node)
        place = range_of(node)
        events[place] = _event(one._replace(place=place), form, _statement(around, node), events.get(place))
        tensors.update(_tensor(node, form.form))
        line = _whole_function(node, around)
        if line is not None:
            steps.setdefault(line, FollowedStep(line, one.phase, ()))
        reached.update(each.lineno for each in around if isinstance(each, _FUNCTIONS))
        places.append(place)
    return known._replace(
        content=digest(content),
        events=tuple(events.values()),
        tensors=tuple(tensors.items()),
        steps=tuple(steps.values()),
        reached=tuple(sorted(reached)) if known.reached is not None else None,
        unusual=tuple(each for each in known.unusual if not any(_is_within(place, each[0]) for place in places)),
    )


def _is_within(inner: Range, outer: Range) -> bool:
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def _event(one: Shown, form: Named, statement: tuple[int, int], before: FollowedEvent | None) -> FollowedEvent:
    """The event; what following the programs knows of the same one says more of the form and of the way there."""
    if before is not None:
        return before._replace(phase=one.phase, option="", seen=True)
    what = form.form.named(form.name)
    return FollowedEvent(one.place, form.form.key, what, one.phase, "", "", statement, (), seen=True)


def _tensor(node: ast.expr, form: Form) -> Iterator[tuple[Range, str]]:
    """The tensor whose method is called, and where the event shows it to be."""
    device = _RECEIVERS.get(form.key)
    if device is not None and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield range_of(node.func.value), device


def _statement(around: Sequence[ast.AST], node: ast.expr) -> tuple[int, int]:
    """The first and last line of the statement; of one with a body, those of its head."""
    statement = next((each for each in around if isinstance(each, ast.stmt)), node)
    body = getattr(statement, "body", None)
    last = statement.end_lineno or statement.lineno
    if isinstance(body, list) and body and body[0].lineno > (node.end_lineno or node.lineno):
        last = max(node.end_lineno or node.lineno, statement.lineno)
    return statement.lineno, last


def _whole_function(node: ast.AST, around: Sequence[ast.AST]) -> int | None:
    """The line of the function that runs in every step with what is in it; None if that may be a part of it alone."""
    for each in around:
        if isinstance(each, (*_APART, *_LATER)):
            return None
        if isinstance(each, _FUNCTIONS) and node in each.body:
            generates = any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in ast.walk(each))
            return None if generates else each.lineno
        node = each
    return None
