"""The text of programs: the context of an expression, and the code around it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.behavior.surroundings import Surroundings
from tests.differential.case import Case

T = TypeVar("T")
HEAD = "import numpy as np\nimport torch\n"
_CONSTANTS = {"WIDTH": "WIDTH = 3", "KIND": "KIND = np.float32"}
# Settings of other files; mostly none.
SURROUNDINGS = st.sampled_from(
    [
        *[Surroundings()] * 8,
        Surroundings(dtype="float64"),
        Surroundings(dtype="float16"),
        Surroundings(device="meta"),
        Surroundings(device="cpu"),
        Surroundings(scope="meta"),
        Surroundings(device="meta", scope="cpu"),
        Surroundings(gradients="off"),
        Surroundings(gradients="inference"),
        Surroundings(deterministic=True),
        Surroundings(dtype="bfloat16", gradients="off"),
    ]
)
# Rules whose fixes consider defaults in the linted files, but not elsewhere.
_IN_SIGHT = ("TL103", "TL105")
# Statements before the function; mostly none.
_SET = st.sampled_from(
    [
        *[""] * 12,
        "torch.set_default_dtype(torch.float64)",
        "torch.set_default_device('meta')",
        "torch.manual_seed(7)",
        "torch.set_grad_enabled(False)",
    ]
)
_CLASS = """class Model:
    def __init__(self, {given}):
{deep}        self.made = {made}


def run({given}):
    return Model({handed}).made, [{owned}]
"""
# Contexts of the expression: `{made}` is the expression, `{setup}` the code before it, `{given}` the parameters,
# `{sources}` the objects it is made from, of which `{owned}` are parameters.
_PLACES = (
    "def run({given}):\n{setup}    return {made}, [{sources}]\n",
    "def run({given}):\n{setup}    made = {made}\n    return made, [{sources}]\n",
    "def run({given}):\n{setup}    return [{made} for _ in range(2)], [{sources}]\n",
    *(
        f"def run({{given}}):\n{{setup}}    {lines}\n    return made, [{{sources}}]\n"
        for lines in (
            "found = []\n    for _ in range(2):\n        found.append({made})\n    made = found",
            "with torch.no_grad():\n        made = {made}",
            "with torch.device('meta'):\n        made = {made}",
            "made = {made}\n    made += 1",
            "made = {made}\n    made[:1] = 3",
            "made = {made}\n    made.zero_()",
            "made = (lambda: {made})()",
        )
    ),
    *(
        f"def make({{given}}):\n{{setup}}    {lines}\n\n\ndef run({{given}}):\n    return {calls}, [{{owned}}]\n"
        for lines in ("return {made}", "made = {made}\n    return made")
        for calls in ("make({handed})", "[make({handed}), make({handed})]")
    ),
    _CLASS,
)
_COMMON = 3  # contexts that are selected more often


def pick(draw: st.DrawFn, options: Sequence[T]) -> T:
    """Draw one of these."""
    return draw(st.sampled_from(list(options)))


def often(draw: st.DrawFn, usual: T, others: Sequence[T], share: int = 2) -> T:
    """Draw the usual option, or one of the others in one of ``share`` cases."""
    return pick(draw, others) if draw(st.integers(1, share)) == 1 else usual


def parameters(draw: st.DrawFn, text: str, values: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The parameters in an expression, each with one of its values."""
    named = {name for name in values if re.search(rf"(?<![.\w]){name}\b(?!=)", text)}
    return {name: pick(draw, values[name]) for name in values if name in named}


def surroundings(draw: st.DrawFn, rule: str, *, cuda: bool) -> Surroundings:
    """The environment of a program, as far as the rule can know it.

    Tensors without memory are not simulated, so ``meta`` and CUDA exclude each other.
    """
    around = draw(SURROUNDINGS)
    if rule in _IN_SIGHT:
        around = replace(around, dtype="float32", device=None, scope=None)
    return Surroundings() if cuda and "meta" in (around.device, around.scope) else around


def placed(
    draw: st.DrawFn, rule: str, expression: str, inputs: Mapping[str, Any], setup: str = "", sources: str = "",
    cuda: bool = False, places: Sequence[str] = _PLACES,
) -> Case:  # fmt: skip
    """A program with an expression of some parameters in some context. Parameters may be annotated."""
    lines, names = setup.splitlines(), [name.partition(":")[0] for name in inputs]
    place = places[draw(st.integers(0, _COMMON - 1) | st.integers(0, len(places) - 1))]
    body = place.format(
        made=expression,
        given=", ".join(inputs),
        handed=", ".join(names),
        setup="".join(f"    {line}\n" for line in lines),
        deep="".join(f"        {line}\n" for line in lines),
        sources=sources,
        owned=", ".join(name for name in sources.split(", ") if name in names),
    )
    values = dict(zip(names, inputs.values(), strict=True))
    head = [HEAD, *(line for name, line in _CONSTANTS.items() if name in expression), "" if cuda else draw(_SET)]
    around = surroundings(draw, rule, cuda=cuda)
    if "set_default_device" in head[-1] and around.scope is not None:
        around = Surroundings()  # torch itself mishandles a default that is set inside a scope
    return Case(rule, "\n".join([*head, "", body]), values, around, cuda)
