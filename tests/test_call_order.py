"""Which lines the calls of a function were at: never one that is wrong, and only one where their order decides."""

from __future__ import annotations

import random
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from torchlint.trace.functions import Functions
from torchlint.trace.order import Order


def order(source: str, name: str = "f") -> Order:
    function = Functions(textwrap.dedent(source)).at(name, 1)
    assert function is not None
    return Order(function)


def lines(source: str, *called: str) -> list[list[int]]:
    """The lines that each of these calls may be at, in the function that begins on line 1."""
    places = order(textwrap.dedent(source).lstrip("\n")).places(called)
    return [sorted({place.line for place in each}) for each in places]


STEP = """
def f(images, labels, weights, model):
    images = images.to(0)
    labels = labels.to(0)
    weights = torch.ones(3).to(0)
    return model(images)
"""
BRANCH = """
def f(images, labels, pinned):
    if pinned:
        images = images.to(0)
    labels = labels.to(0)
    torch.ones(3)
    labels.to(1)
"""
LOOP = """
def f(loader, model, optimizer):
    for images, labels in loader:
        images = images.to(0)
        labels = labels.to(0)
        loss = model(images, labels)
        loss.backward()
        if loss > 3:
            log(loss.item())
        total = loss.item()
"""


def test_calls_of_straight_code_are_in_its_order() -> None:
    assert lines(STEP, "to", "to", "ones", "to") == [[2], [3], [4], [4]]
    assert lines(STEP, "to", "to", "ones", "to", "Sequential_0") == [[2], [3], [4], [4], []]


def test_without_as_many_calls_as_places_only_what_is_between_others_is_certain() -> None:
    assert lines(STEP, "to", "ones", "to") == [[2, 3], [4], [4]]
    assert lines(STEP, "to", "to") == [[2, 3], [3, 4]]


def test_what_a_branch_may_leave_out_is_not_guessed() -> None:
    assert lines(BRANCH, "to", "ones", "to") == [[3, 4], [5], [6]]
    assert lines(BRANCH, "to", "to", "ones", "to") == [[3], [4], [5], [6]]


def test_a_call_that_happens_once_around_a_loop_separates_the_rounds() -> None:
    around = ["to", "to", "backward", "item"]
    assert lines(LOOP, *around, *around) == [[3], [4], [6], [8, 9]] * 2
    assert lines(LOOP, "backward", "item", "item", *around)[:3] == [[6], [8], [9]]


def test_a_recording_that_begins_within_a_round_is_not_counted_from_its_first_call() -> None:
    assert lines(LOOP, "to", "backward", "item", "to", "to", "backward") == [[3, 4], [6], [8, 9], [3], [4], [6]]


def test_a_branch_that_calls_what_was_never_called_did_not_run() -> None:
    source = """
    def f(loss):
        if loss > 100:
            print(loss.item())
        return loss.item(), loss.mean()
    """
    assert lines(source, "aten::is_nonzero", "item", "mean") == [[2], [4], [4]]
    assert lines(source, "aten::is_nonzero", "item", "print", "item") == [[2], [3], [3], [4]]


def test_rounds_without_anything_between_stay_open() -> None:
    source = """
    def f(tensors):
        while tensors:
            tensors.pop().cpu()
            tensors.pop().cpu()
    """
    assert lines(source, "cpu", "cpu") == [[3, 4], [3, 4]]


def test_more_calls_than_the_code_has_leave_all_places() -> None:
    assert lines(STEP, "to", "to", "to", "to") == [[2, 3, 4]] * 4


def test_both_branches_of_a_condition_exclude_each_other() -> None:
    source = """
    def f(x, y):
        if x.cpu():
            y.cpu()
        else:
            y.cpu(); y.item()
        x.cpu()
    """
    assert lines(source, "cpu", "cpu", "item", "cpu") == [[2], [5], [5], [6]]


def test_an_index_with_a_tensor_is_told_from_one_with_numbers() -> None:
    source = """
    def f(x, mask):
        a = x[: len(mask), 0]
        b = x[mask]
        c = x[-1], x[..., None]
        x[mask] = 0
    """
    assert lines(source, "len", "aten::index", "aten::index_put_") == [[2], [3], [5]]


def test_loops_over_numbers_and_conversions_to_numbers_are_told_from_loaders_and_conditions() -> None:
    source = """
    def f(loader, loss, best):
        for epoch in range(3):
            for batch in loader:
                if loss > best:
                    best = float(loss)
    """
    assert lines(source, "__next__", "aten::is_nonzero", "aten::item") == [[3], [4], [5]]


def test_code_that_is_too_deeply_nested_or_too_long_decides_nothing() -> None:
    deep = f"def f(x):\n    x.cpu()\n    return {' + '.join(['x.cpu()'] * 2000)}"
    assert lines(deep, "cpu") == [[]]
    long = "def f(x):\n" + "    x.cpu()\n" * 2000
    assert lines(long, "cpu") == [list(range(2, 2002))]


# -- against what really ran ---------------------------------------------------------------------------


METHODS = ("to", "cpu", "item", "mean", "sum")
NAMES = {*METHODS, "fail", "len", "abs"}


class Thing:
    """Something with methods that do nothing, as functions of Python that a profiler sees; a context as well."""

    for name in METHODS:
        exec(f"def {name}(self): return self")
    exec("def fail(self): raise ValueError")

    def __enter__(self) -> Thing:
        return self

    def __exit__(self, *failed: object) -> bool:
        return True


class Writer:
    """Writes a function of random statements, which call methods of `x`; ``c()`` is a random condition."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.text = ["def f(x, c):"]
        self._block(1, 3, looping=False)

    def _block(self, depth: int, count: int, *, looping: bool) -> None:
        for _ in range(self._random.randint(1, count)):
            self._statement(depth, looping=looping)

    def _line(self, depth: int, text: str) -> None:
        self.text.append("    " * depth + text)

    def _statement(self, depth: int, *, looping: bool) -> None:
        kinds = (
            ["call"] * 4
            + ["built-in", "each"]
            + (["if", "for", "while", "try", "with", "finally", "inline"] if depth < 4 else [])
        )
        match self._random.choice(kinds + (["break", "continue"] if looping else []) + ["fail", "return"][: depth > 1]):
            case "if":
                self._line(depth, f"if c() {self._random.choice(['and', 'or'])} x.{self._name()}():")
                self._block(depth + 1, 3, looping=looping)
                self._line(depth, "else:")
                self._block(depth + 1, 2, looping=looping)
            case "for" | "while" as kind:
                self._line(depth, "for _ in (1, 2, 3):" if kind == "for" else "while c():")
                self._block(depth + 1, 4, looping=True)
            case "try" | "finally" as kind:
                self._line(depth, "try:")
                self._block(depth + 1, 3, looping=looping)
                self._line(depth, "except ValueError:" if kind == "try" else "finally:")
                self._block(depth + 1, 2, looping=looping and kind == "try")
            case "with":
                self._line(depth, f"with x.{self._name()}():")
                self._block(depth + 1, 3, looping=looping)
            case "inline":
                self._line(depth, f"x.{self._name()}() if c() else x.{self._name()}()")
            case "each":
                inner = self._random.choice(["", f" for _ in [x.{self._name()}()]"])
                self._line(depth, f"[x.{self._name()}() for _ in (1, 2, 3){inner} if c() or x.{self._name()}()]")
            case "built-in":
                self._line(depth, self._random.choice(["len(str(x.to()))", "abs(3)", "len('')"]))
            case "break" | "continue" as kind:
                self._line(depth, f"if c(): {kind}")
            case "fail" | "return" as kind:
                self._line(depth, f"if c(): {'x.fail()' if kind == 'fail' else kind}")
            case _:
                self._line(depth, f"x.{self._name()}()")

    def _name(self) -> str:
        return self._random.choice(["to", "to", "to", "cpu", "item", "mean", "sum"])


@contextmanager
def watched(code: Any, seen: list[tuple[str, int]]) -> Iterator[None]:
    """Note what calls of this code call, with the line, as a profiler would if it knew lines."""

    def note(frame: FrameType, event: str, what: Any) -> None:
        if event == "call" and frame.f_back is not None and frame.f_back.f_code is code:
            seen.append((frame.f_code.co_name, frame.f_back.f_lineno))
        elif event == "c_call" and frame.f_code is code:
            seen.append((what.__name__, frame.f_lineno))

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def run(source: str, seed: int) -> list[tuple[str, int]]:
    """What a run of `f` has called, and from which lines."""
    space: dict[str, Any] = {}
    exec(compile(source, "f.py", "exec"), space)
    function: Callable[..., object] = space["f"]
    chance, seen = random.Random(seed), list[tuple[str, int]]()
    with watched(function.__code__, seen), suppress(ValueError):
        function(Thing(), lambda: chance.random() < 0.4)
    return [(name, line) for name, line in seen if name in NAMES]


@pytest.mark.parametrize("seed", range(100))
def test_the_line_that_ran_is_always_among_those_that_are_named(seed: int) -> None:
    source = "\n".join(Writer(seed).text)
    compared = order(source)
    for chance in range(5):
        seen = run(source, chance)
        for begin in (0, len(seen) // 3):  # also a recording that begins later
            places = compared.places([name for name, _ in seen[begin:]])
            for (name, line), able in zip(seen[begin:], places, strict=True):
                assert line in {place.line for place in able}, (name, line, source)


def test_order_decides_in_most_of_such_programs() -> None:
    single = total = 0
    for seed in range(100):
        source = "\n".join(Writer(seed).text)
        seen = run(source, 1)
        places = order(source).places([name for name, _ in seen])
        of_name = {name: len({p.line for p in order(source).places([name])[0]}) for name, _ in seen}
        several = [
            len({p.line for p in able}) for (name, _), able in zip(seen, places, strict=True) if of_name[name] > 1
        ]
        total += len(several)
        single += several.count(1)
    assert total > 100
    assert single > total / 4
