"""Which calls of NumPy allocate their result: the table, and programs whose arrays are also held elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scripts import numpy_memory as generator
from tests.differential.case import Case, judged
from torchlint.knowledge import numpy_memory

# Samples of a data set that holds the arrays `self.x` (float32, 3 x 4), `self.v` (4) and `self.buf` (4). None is new.
HELD = (
    "np.float32(self.x[i])", "np.single(self.x[i])", "np.float32(np.float32(self.x[i]))", "np.uint8(self.u)",
    "np.float64(self.d)", "np.int64(self.n)", "np.bool_(self.b)", "np.half(self.h)", "np.float32(self.x[i].T)",
    "np.asarray(self.x[i])", "np.asarray(self.x[i], dtype=np.float32)", "np.asanyarray(self.x[i])",
    "np.ascontiguousarray(self.x[i])", "np.require(self.x[i])", "np.array(self.x[i], copy=None)",
    "np.array(self.x[i], copy=False)", "self.x[i].astype(np.float32, copy=False)",
    "self.x[i].astype(np.float32, 'K', 'unsafe', True, False)", "np.astype(self.x[i], np.float32, copy=False)",
    "np.nan_to_num(self.x[i], copy=False)", "np.nan_to_num(self.x[i], False)", "np.real(self.x[i])",
    "np.squeeze(self.x)", "np.ravel(self.x)", "self.x.ravel()", "self.x.reshape(-1)", "np.reshape(self.x, -1)",
    "np.atleast_1d(self.x[i])", "np.transpose(self.x)", "np.diagonal(self.x)", "np.expand_dims(self.v, 0)",
    "np.round(self.n)", "self.n.round()", "np.diff(self.v, 0)", "np.diff(self.v, n=0)", "np.einsum('ij->ji', self.x)",
    "np.trim_zeros(self.v)", "np.linalg.matrix_power(self.s, 1)", "np.fft.fftn(self.c, axes=())",
    "np.fromfunction(lambda _: self.v, (4,))", "np.apply_along_axis(lambda row: row, 0, self.v)",
    "np.concatenate(self.parts, 0, self.buf)", "np.concatenate(self.parts, axis=0, out=self.buf)",
    "np.stack(self.rows, 0, self.pair)", "np.sum(self.x, 0, None, self.buf)", "self.x.sum(0, None, self.buf)",
    "self.v.cumsum(0, None, self.buf)", "np.cumsum(self.v, 0, None, self.buf)", "np.exp(self.v, self.buf)",
    "np.exp(self.v, out=self.buf)", "np.add(self.v, 1, self.buf)", "np.add(self.v, self.v, self.v)",
    "np.matmul(self.v, self.s4, self.buf)", "np.dot(self.v, self.s4, self.buf)", "self.v.dot(self.s4, self.buf)",
    "np.max(self.x, 0, self.buf)", "self.x.max(0, self.buf)", "np.prod(self.x, 0, None, self.buf)",
    "np.mean(self.x, 0, None, self.buf)", "self.x.mean(0, None, self.buf)", "np.median(self.x, 0, self.buf)",
    "np.percentile(self.x, 50, 0, self.buf)", "np.quantile(self.x, 0.5, 0, self.buf)",
    "np.nanmean(self.x, 0, None, self.buf)", "np.clip(self.v, 0, 1, self.buf)", "self.v.clip(0, 1, self.buf)",
    "np.take(self.v, [0, 1, 2, 3], 0, self.buf)", "self.v.take([0, 1, 2, 3], 0, self.buf)",
    "np.compress([True] * 4, self.v, 0, self.buf)", "np.argmax(self.x, 0, self.places)",
    "np.choose([0, 0, 0, 0], [self.v], self.buf)", "np.round(self.v, 1, self.buf)", "np.outer(self.v, self.v, self.s4)",
    "self.rng.random(4, np.float32, self.buf)", "self.rng.standard_normal(4, np.float32, self.buf)",
    "self.rng.permuted(self.x, axis=1, out=self.x)", "np.linalg.multi_dot([self.s4, self.s4], out=self.s4)",
    "np.sort(*self.given)", "np.exp(*self.filling)", "np.exp(self.v, **self.options)", "np.sum(self.x, *self.sums)",
    "np.float32(self.m)", "self.m.ravel()", "np.asarray(self.k)", "np.float32(self.k)", "np.matrix(self.x, copy=False)",
)  # fmt: skip
NEW = (
    "np.float64(self.x)", "np.uint8(self.x)", "np.float32(self.x * 2)", "np.float32(self.x.copy())", "np.exp(self.v)",
    "np.concatenate(self.parts)", "np.stack(self.rows, 0)", "np.sum(self.x, 0)", "np.clip(self.v, 0, 1)",
    "np.where(self.v > 1, self.v, 0)", "np.triu(self.x)", "np.asarray([1.0, 2.0])", "np.nan_to_num(self.v)",
    "np.pad(self.x, 0)", "np.sort(self.v)", "np.array([1.0, 2.0])",
)  # fmt: skip
# New as well, but only for arrays of NumPy's own class, which nothing proves, or after a statement in between.
UNPROVED = ("self.x[i].copy()", "self.x[i].astype(np.float32)", "-self.v", "np.array(self.x[i])", "self.v.cumsum(0)")
PROGRAM = """import numpy as np
import torch


class Data:
    def __init__(self):
        self.x = np.arange(12, dtype=np.float32).reshape(3, 4)
        self.v = np.arange(1, 5, dtype=np.float32)
        self.buf = np.zeros(4, dtype=np.float32)
        self.u = np.arange(4, dtype=np.uint8)
        self.n = np.arange(4, dtype=np.int64)
        self.d = np.arange(4.0)
        self.b = np.zeros(4, dtype=np.bool_)
        self.h = np.zeros(4, dtype=np.float16)
        self.c = np.zeros(4, dtype=np.complex64)
        self.s = np.eye(3, dtype=np.float32)
        self.s4 = np.eye(4, dtype=np.float32)
        self.pair = np.zeros((2, 4), dtype=np.float32)
        self.places = np.zeros(4, dtype=np.int64)
        self.parts = [self.v[:2], self.v[2:]]
        self.rows = [self.v, self.v]
        self.rng = np.random.default_rng(1)
        self.given = (self.v,)
        self.filling = (self.v, self.buf)
        self.options = {{"out": self.buf}}
        self.sums = (0, None, self.buf)
        self.m = np.asmatrix(np.zeros((2, 2), dtype=np.float32))
        self.k = np.zeros(4, dtype=np.float32).view(np.ma.MaskedArray)

    def __getitem__(self, i):
        {setup}return torch.tensor({array})


def run():
    np.random.seed(1)
    data = Data()
    sample = data[1]
    sample[...] = 1
    held = [data.x, data.v, data.buf, data.u, data.n, data.d, data.b, data.h, data.c, data.s, data.s4]
    return sample, [*held, data.pair, data.places, data.m, data.k]
"""


def program(array: str, *, through_variable: bool) -> Case:
    setup = f"array = {array}\n        " if through_variable else ""
    return Case("TL101", PROGRAM.format(setup=setup, array="array" if through_variable else array))


@pytest.mark.parametrize("through_variable", [False, True], ids=["at once", "through a variable"])
@pytest.mark.parametrize("array", HELD)
def test_an_array_that_is_held_elsewhere_is_not_shared_with_a_tensor(array: str, through_variable: bool) -> None:
    verdict = judged(program(array, through_variable=through_variable))
    assert not verdict.differences, verdict.after


@pytest.mark.parametrize("array", NEW)
def test_a_new_array_is_shared_with_a_tensor(array: str) -> None:
    verdict = judged(program(array, through_variable=False))
    assert verdict.repaired
    assert not verdict.differences, verdict.after


@pytest.mark.parametrize(("array", "through_variable"), [(NEW[0], True), *((array, False) for array in UNPROVED)])
def test_what_is_not_proved_to_be_new_is_not_shared_by_a_safe_fix(array: str, through_variable: bool) -> None:
    assert not judged(program(array, through_variable=through_variable)).repaired


@pytest.mark.exhaustive  # the table changes with the pinned version of NumPy
@pytest.mark.skipif(np.__version__ != numpy_memory.VERSION, reason="the table is of another version of NumPy")
def test_the_table_is_what_calling_the_functions_shows(tmp_path: Path) -> None:
    made = tmp_path / "table.py"
    subprocess.run([sys.executable, generator.__file__, made], check=True)
    assert generator.TABLE.read_text(encoding="utf-8") == made.read_text(encoding="utf-8"), generator.__file__
