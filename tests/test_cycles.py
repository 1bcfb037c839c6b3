"""Recursive values: the order of queries never changes a result."""

from __future__ import annotations

import random
from collections.abc import Callable

import libcst as cst
import pytest

from tests import representatives
from torchlint.analysis.module import SourceModule
from torchlint.analysis.values.evaluate import VALUED, Evaluator
from torchlint.analysis.values.fixpoint import FixpointMemo

Asked = Callable[[str], frozenset[str]]


def network(memo: FixpointMemo, edges: dict[str, str]) -> Asked:
    """One query per letter; its result contains the letter and the results of its successors."""

    def ask(key: str) -> frozenset[str]:
        def compute() -> frozenset[str]:
            return frozenset(key).union(*(ask(other) for other in edges.get(key, "")))

        return memo.get_or_compute(key, compute, frozenset())

    return ask


@pytest.mark.parametrize("size", [4, 5, 6, 8, 12])
def test_wherever_one_enters_a_network_the_answers_are_the_same(size: int) -> None:
    chance = random.Random(size)
    letters = "abcdefghijkl"[:size]
    for _ in range(400):
        edges = {letter: "".join(chance.sample(letters, chance.randrange(4))) for letter in letters}
        expected = {letter: reached(letter, edges) for letter in letters}
        for start in letters:
            memo = FixpointMemo()
            ask = network(memo, edges)
            for letter in (start, *chance.sample(letters, size)):
                assert ask(letter) == expected[letter], (edges, start, letter)
            assert memo.known == expected


def test_what_a_draft_rests_on_may_have_become_a_draft_itself() -> None:
    edges = {"a": "bd", "b": "ca", "c": "b", "d": "c"}
    for start in edges:
        ask = network(FixpointMemo(), edges)
        ask(start)
        assert {letter: ask(letter) for letter in edges} == dict.fromkeys(edges, frozenset("abcd"))


def test_members_of_members_of_members_end_somewhere() -> None:
    pairs = "".join(f"    self.t{i} = (self.t{i - 1}, self.t{i - 1})\n" for i in range(1, 41))
    code = f"class A:\n  def f(self):\n    self.t0 = self.t40 + 1\n{pairs}    print(self.t40)\n"
    module = SourceModule.parse(code, "example.py")
    for node in module.nodes_of(cst.Attribute):
        module.value(node)


def reached(start: str, edges: dict[str, str]) -> frozenset[str]:
    found: set[str] = set()
    stack = [start]
    while stack:
        letter = stack.pop()
        if letter not in found:
            found.add(letter)
            stack += edges[letter]
    return frozenset(found)


def test_what_never_settles_ends_with_what_was_found_first() -> None:
    memo = FixpointMemo()

    def compute() -> int:
        return memo.get_or_compute("x", compute, 0) + 1

    assert memo.get_or_compute("x", compute, 0) == 1


def test_what_lies_too_deep_is_unknown_and_not_remembered_as_such() -> None:
    memo = FixpointMemo()

    def ask(number: int) -> int:
        return memo.get_or_compute(number, lambda: ask(number - 1) if number else 7, -1)

    assert ask(1000) == -1
    assert ask(100) == 7


def test_a_question_that_fails_can_be_asked_again() -> None:
    memo = FixpointMemo()
    reasons = [KeyError("a")]

    def compute() -> int:
        if reasons:
            raise reasons.pop()
        return 1

    with pytest.raises(KeyError):
        memo.get_or_compute("x", lambda: memo.get_or_compute("y", compute, 0), 0)
    assert memo.get_or_compute("x", lambda: memo.get_or_compute("y", compute, 0), 0) == 1


CIRCLES = [
    """
class Config:
    def __init__(self, size=None):
        self.size = size
        self.update()
    def update(self, **given):
        self.size = list(self.size) if self.size is not None else None
""",
    """
import torch
def recurrent(q, c):
    states = []
    state = torch.zeros(3, device="cuda")
    for i in range(3):
        following = state * q[i] + c
        states.append(state)
        state = following
    return states, state
class Stream:
    def __init__(self, waveform):
        self.remaining = torch.cat([waveform])
    def push(self, chunk):
        joined = torch.cat([self.remaining, chunk])
        self.remaining = joined[10:]
        return self.remaining
def main():
    states, state = recurrent(torch.zeros(3), torch.zeros(3))
    recurrent(states[0], state)
""",
    """
import torch
def noise(n, masks, labels):
    base = torch.zeros(n)
    mask = 2 * torch.rand(n)
    for label in labels:
        base[0] = base.sum() + mask[0]
        mask = mask * base
        mask[label] = base[0]
        base = other = base + 1
        other[1:] *= mask[1:]
    rows = [base, mask]
    rows.append(noise(n - 1, rows, labels))
    return torch.stack(rows)
class Table:
    def __init__(self, n):
        self.rows = torch.arange(n) * 2
        self.more = self.rows + self.less
        self.less = self.more - 1
    def step(self):
        self.rows[0] = self.less[0]
        return noise(3, self.rows, [])
""",
]


@pytest.mark.parametrize(
    "text", [*CIRCLES, *(path.read_text(encoding="utf-8") for path in sorted(representatives.shortest_files()))]
)
def test_values_do_not_depend_on_what_was_asked_before(text: str) -> None:
    module = SourceModule.parse(text, "example.py")
    nodes: list[cst.CSTNode] = sorted((n for kind in VALUED for n in module.nodes_of(kind)), key=module.order)
    first = values(module, nodes)
    for seed in range(2):
        assert values(module, random.Random(seed).sample(nodes, len(nodes))) == first


def values(module: SourceModule, nodes: list[cst.CSTNode]) -> dict[cst.CSTNode, object]:
    vars(module)["evaluator"] = Evaluator(module)
    return {node: module.value(node) for node in nodes}
