"""What TL809 takes for an error is one in the installed torch: its table of states against torch's own."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
import torch

from torchlint.knowledge.precision import NEW_TF32, OLD_TF32
from torchlint.rules.precision._tf32 import disagree

pytestmark = pytest.mark.slow
WRITES = tuple(itertools.product((*OLD_TF32, *NEW_TF32), (True, False)))
PAIRS = tuple(itertools.product(WRITES, repeat=2))
TRIPLES = random.Random(7).sample(tuple(itertools.product(WRITES, repeat=3)), 100)


@pytest.fixture(autouse=True)
def _defaults() -> Iterator[None]:
    yield
    torch.set_float32_matmul_precision("highest")  # the old interface sets both states
    torch.backends.cudnn.allow_tf32 = True


@pytest.mark.parametrize("writes", [(), *((write,) for write in WRITES), *PAIRS, *TRIPLES])
def test_reads_raise_if_the_states_disagree(writes: tuple[tuple[str, bool], ...]) -> None:
    for name, tf32 in writes:
        _write(name, tf32)
    kinds = disagree(writes)
    assert _raises(lambda: torch.backends.cuda.matmul.allow_tf32) is ("matmul" in kinds)
    assert _raises(lambda: torch.backends.cudnn.allow_tf32) is not kinds.isdisjoint({"conv", "rnn"})
    assert _raises(torch.backends.cudnn.set_flags) is not kinds.isdisjoint({"conv", "rnn"})


def _write(name: str, tf32: bool) -> None:
    path, _, last = name.rpartition(".")
    if last == "set_float32_matmul_precision":
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        return
    owner = torch
    for part in path.split(".")[1:]:
        owner = getattr(owner, part)
    setattr(owner, last, tf32 if name in OLD_TF32 else ("tf32" if tf32 else "ieee"))


def _raises(read: object) -> bool:
    assert callable(read)
    try:
        read()
    except RuntimeError:
        return True
    return False
