"""TL104: tensors created by torch factories and then moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.differential.arrays import DTYPES
from tests.differential.case import Case
from tests.differential.content import PARAMETERS, SIZES
from tests.differential.text import often, parameters, pick, placed

_VALUES = (
    "0",
    "1",
    "0.1",
    "7",
    "-0.0",
    "True",
    "1e300",
    "300",
    "2**40",
    "fill",
    "-1",
    "float('nan')",
    "1j",
    "16777217",
)
_CHAINS = (
    ".float()", ".double()", ".long()", ".half()", ".bool()", ".int()", ".byte()", ".bfloat16()", ".unsqueeze(0)",
    ".unsqueeze(0).float()", ".long().float()", ".view(-1)", ".reshape(1, -1)", ".t()", ".flatten()",
    ".contiguous()", ".clone()", ".detach()", ".repeat(2, 1)", ".repeat(2)", ".permute(0)", ".transpose(0, -1)",
    ".half().unsqueeze(0)", ".squeeze()", ".bool().float()", ".float().double()", ".requires_grad_()",
    ".expand(2, -1)", ".view_as(x)", ".unsqueeze(-1).long()", ".view(1, -1).bool()", ".short()",
    ".type(torch.int64)",
)  # fmt: skip
_MOVES = (
    ".to(device)", ".to(device=device)", *[".to(x.device)"] * 6, ".to(device=x.device)", ".to(where)", ".to('cpu')",
    ".to(x.device, torch.float64)", ".to(torch.device('meta'))", ".to(device, torch.float64)",
    ".to(device, dtype=torch.float16)",
    ".to(device, torch.bool)", ".to(device, dtype=torch.uint8)", ".to(device, non_blocking=True)",
    ".to(device, torch.int64, non_blocking=True)", ".to(x.device)", ".to(x)", ".type_as(x)", ".type_as(other=x)",
    ".to(other=x)", ".cuda()", ".cuda(0)", ".to('cuda')", ".to('cuda:0', torch.float32)", ".to('meta')",
    ".to(device, tkind)", ".to(torch.device('cuda'))", ".to(device, None)", ".cuda(non_blocking=True)",
    ".to(x.device, x.dtype)", ".to(device, copy=True)", ".to(device, memory_format=torch.contiguous_format)",
    ".to(device, torch.complex64)", ".to(torch.device(device))",
)  # fmt: skip
_VALUES_OF: Mapping[str, Sequence[Any]] = {
    **PARAMETERS,
    "x": ("tensor", "half", "integers", "matrix", "meta tensor", "bools", "gradient", "double", "parameter"),
    "device": ("cpu", "meta", "cpu", "meta", "cpu:0", None),
}


@st.composite
def moved(draw: st.DrawFn) -> Case:
    """TL104: a factory and a move, in one expression or through a variable."""
    made = draw(_factory()) + often(draw, "", _CHAINS, 2)
    move = pick(draw, _MOVES)
    setup = ""
    if draw(st.integers(0, 3)) == 0:
        name = pick(draw, ("made", "h"))
        setup, made = f"{name} = {made}", name
        if draw(st.booleans()):
            setup += f"\n{name} = {name}{move}"
            move = ""
    if "where" in move:
        setup = f"where = torch.device({pick(draw, ('cpu', 'meta'))!r})\n{setup}".rstrip()
    whole = f"{setup} {made}{move}"
    inputs = parameters(draw, whole, _VALUES_OF)
    if "x" in inputs and "x" in move and draw(st.booleans()):
        setup = f"y = x.to(device) * 1\n{setup}".rstrip()
        inputs.setdefault("device", pick(draw, _VALUES_OF["device"]))
        setup, move = setup.replace("(x", "(y").replace("y.to(device)", "x.to(device)", 1), move.replace("(x", "(y")
        move = move.replace("=x", "=y")
        setup = setup.replace("=x", "=y")
    cuda = "cuda" in whole
    if cuda and inputs.get("x") == "meta tensor":
        inputs["x"] = "tensor"  # tensors without memory are not simulated
    annotated = {f"{name}: torch.Tensor" if name == "x" else name: value for name, value in inputs.items()}
    return placed(draw, "TL104", f"{made}{move}", annotated, setup, "x" if "x" in inputs else "", cuda)


@st.composite
def _factory(draw: st.DrawFn) -> str:
    name = pick(draw, ("zeros", "ones", "zeros", "ones", "full", "eye", "arange", "empty", "zeros_like", "full_like"))
    sizes = [pick(draw, (*SIZES[:8], "x.shape[0]", "x.numel()", "2", "4")) for _ in range(draw(st.integers(1, 3)))]
    shape = pick(
        draw, (", ".join(sizes), ", ".join(sizes), f"({', '.join(sizes)},)", f"[{', '.join(sizes)}]", "x.shape")
    )
    arguments = {
        "full": [pick(draw, (f"({', '.join(sizes)},)", "x.shape", f"size=({sizes[0]},)")), pick(draw, _VALUES)],
        "eye": sizes[:2],
        "arange": [pick(draw, (size, size, size, "2.0", "0.5")) for size in sizes],
        "empty": [pick(draw, ("0", "(0, 3)", "2, 0"))],
        "zeros_like": ["torch.zeros(2, 3)"],
        "full_like": ["torch.ones(3)", pick(draw, _VALUES)],
    }.get(name, [shape])
    if name == "full" and "=" in arguments[0]:
        arguments[1] = f"fill_value={arguments[1]}"
    keywords = [
        often(draw, "", [f"dtype={dtype}" for dtype in (*DTYPES, "None", "tkind")], 3),
        often(
            draw,
            "",
            ("device=None", "device='cpu'", "requires_grad=True", "requires_grad=False", "pin_memory=False"),
            8,
        ),
        often(draw, "", ["layout=torch.strided"], 30),
    ]
    return f"torch.{name}({', '.join(filter(None, [*arguments, *keywords]))})"
