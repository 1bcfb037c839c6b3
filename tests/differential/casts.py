"""TL107: tensors that are converted before they are moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.differential.case import Case
from tests.differential.numbers import STEPS
from tests.differential.text import often, parameters, pick, placed

_NARROW = ("torch.uint8", "torch.bool", "torch.int16", "torch.float16", "torch.bfloat16", "torch.int32", "torch.int8")
_OTHER = ("torch.int64", "torch.float32", "torch.float64", "torch.uint16", "None", "torch.complex64")
_BASES = (
    "data", "data[0]", "data[1:]", "(data > 1)", "(data == data)", "data.unsqueeze(0)", "data[None]", "data * 2",
    "data.expand(2, 3)", "data.flip(0)", "data.t()", "data[:, None]", "data.reshape(-1, 1)", "data.view(torch.int8)",
    "torch.from_numpy(np.asarray(given))", "data.detach()", "data.clone()", "(data\n        )", "data.data",
)  # fmt: skip
_CASTS = (
    ".float()", ".double()", ".long()", ".half()", ".int()", ".bool()", ".short()", ".bfloat16()", ".to(torch.float32)",
    ".to(dtype=torch.float64)", ".type(torch.float32)", ".type(torch.FloatTensor)", ".type(torch.LongTensor)",
    ".to(torch.complex64)", ".float().double()", ".type('torch.FloatTensor')", ".to(kind)", ".float().unsqueeze(0)",
    ".float().div(255)", ".float(memory_format=torch.preserve_format)", ".to(torch.float32, copy=True)", ".byte()",
    "\\\n        .float()", ".to(  # bytes\n        torch.float32)", ".to(torch.float32, non_blocking=True)",
)  # fmt: skip
_MOVES = (
    ".to(device)", ".to(device)", ".to(device=device)", ".to(x.device)", ".cuda()", ".cuda(0)", ".to('cuda')",
    ".to(torch.device(device))", ".to(device, torch.float64)", ".to(x)", ".type_as(x)", ".to(device, copy=True)",
    ".to(device, non_blocking=True)", ".cuda(non_blocking=True)", ".to(device).float()", ".to(device)[0]",
)  # fmt: skip
_VALUES_OF: Mapping[str, Sequence[Any]] = {
    "given": ((1, 2, 3), (0, 255, 7), (), (1.5, 2.5), "list"),
    "x": ("tensor", "half", "integers", "matrix"),
    "device": ("cpu", "meta", "cpu", "cpu:0"),
    "kind": (None,),
}


@st.composite
def moved(draw: st.DrawFn) -> Case:
    """TL107: a tensor of a known dtype, a conversion, and a move."""
    dtype = often(draw, pick(draw, _NARROW), _OTHER, 5)
    expression = f"{often(draw, 'data', _BASES)}{pick(draw, _CASTS)}{pick(draw, _MOVES)}"
    setup = f"data = torch.tensor(given, dtype={dtype})"
    whole = f"{setup} {expression}"
    cuda = "cuda" in whole
    inputs = parameters(draw, whole, _VALUES_OF)
    if cuda and inputs.get("device") == "meta":
        inputs["device"] = "cpu"
    return placed(draw, "TL107", expression, inputs, setup, "data", cuda, STEPS)
