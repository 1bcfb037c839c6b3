"""TL105: numbers that become tensors on a device in a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.differential.arrays import DTYPES
from tests.differential.case import Case
from tests.differential.content import PARAMETERS
from tests.differential.text import often, parameters, pick, placed

_NUMBERS = (
    "0", "1", "-1", "7", "300", "-0.0", "0.0", "0.1", "1.5", "-1.5", "1e300", "1e39", "3.4e38", "1e-50", "70000",
    "True", "False", "2**40", "16777217", "16777219", "9223372036854775807", "9223372036854775808", "-129", "0x7f",
    "1e400", "float('inf')", "-float('inf')", "float('nan')", "np.pi", "-np.inf", "1j", "not 1", "len(xs)",
    "-len(xs)", "len(xs) * 2", "x.shape[0]", "x.numel()", "x.size(0) + 1", "int(n)", "float(n)", "n", "fill",
    "0.5 if xs else 1", "WIDTH", "sum(len(xs) for _ in xs)", "max(len(xs), 1)", "len(xs) / 3", "given", "whole",
    "torch.finfo(x.dtype).max", "abs(-3)", "(y := 3)",
)  # fmt: skip
_SAFE = (*_NUMBERS[:17], "float('inf')", "len(xs)", "x.shape[0]", "x.numel()", "WIDTH", "constant")
_LEGACY = tuple(
    f"torch.{name}Tensor" for name in ("", "Float", "Double", "Half", "BFloat16", "Long", "Int", "Byte", "Bool")
)
_MOVES = (
    ".to(device)", ".to(device)", ".to(device=device)", ".to(x.device)", ".cuda()", ".cuda(0)", ".to('cuda')",
    ".to(torch.device(device))", ".to(device, torch.float64)", ".to(x)", ".type_as(x)", ".to(device, copy=True)",
    ".unsqueeze(0).to(device)", ".view(1).to(device)", ".float().to(device)", ".detach().to(device)",
    ".expand(2).to(device)", ".reshape(1, -1).to(device)", ".to(device, None)", ".requires_grad_().to(device)",
)  # fmt: skip
_VALUES_OF: Mapping[str, Sequence[Any]] = {
    **PARAMETERS,
    "x": ("tensor", "half", "integers", "matrix", "bools", "double", "byte tensor", "bf16", "meta tensor"),
    "device": ("cpu", "meta", "cpu", "cpu:0", None),
    "given": (0.5, 3, 1e300, "count", "scalar"),
    "whole": (3, -1, 2**70, "count", True),
}
_ANNOTATED = {"x": "x: torch.Tensor", "given": "given: float", "whole": "whole: int"}
_MODEL = """class Model(torch.nn.Module):
    constant = 0.5

    def forward(self, {given}):
{deep}        constant = 2
        made = {made}
        return RESULT, [{sources}]


def run({given}):
    return Model().forward({handed})
"""
# Code that runs in every step.
STEPS = (
    _MODEL.replace("RESULT", "made"),
    _MODEL.replace("RESULT", "made.clone() * 2"),
    """def run({given}):
{setup}    found = []
    constant = -0.0
    for batch in torch.utils.data.DataLoader([1, 2]):
        found.append({made})
    return found, [{sources}]
""",
    """def training_step({given}):
{setup}    constant = -1.5
    return {made}


def run({given}):
    return [training_step({handed}) for batch in torch.utils.data.DataLoader([1, 2])]
""",
)


@st.composite
def uploaded(draw: st.DrawFn) -> Case:
    """TL105: a constructor with a number and a device, or a move of its result."""
    number = pick(draw, (*_SAFE, *_NUMBERS))
    legacy = draw(st.integers(0, 3)) == 0
    data = f"[{number}]" if legacy else often(draw, number, (f"[{number}]", f"[[{number}]]", f"({number},)"), 3)
    made = f"{pick(draw, _LEGACY)}({data})" if legacy else draw(_constructed(data))
    setup = ""
    if "device=" not in made and "new_tensor" not in made:
        made, setup = draw(_moved(made))
    whole = f"{setup} {made}"
    cuda = "cuda" in whole
    inputs = parameters(draw, whole, _VALUES_OF)
    if cuda and inputs.get("x") == "meta tensor":
        inputs["x"] = "tensor"  # tensors without memory are not simulated
    if cuda and inputs.get("device") == "meta":
        inputs["device"] = "cpu"
    if legacy and inputs.get("device", "cpu") is None:
        inputs["device"] = "cpu"  # `device=None` stands for the default device, which legacy constructors ignore
    annotated = {_ANNOTATED.get(name, name): value for name, value in inputs.items()}
    return placed(draw, "TL105", made, annotated, setup, "", cuda, STEPS)


@st.composite
def _constructed(draw: st.DrawFn, data: str) -> str:
    name = pick(draw, ("torch.tensor", "torch.tensor", "torch.tensor", "torch.as_tensor", "torch.asarray", "new"))
    dtype = often(draw, "", (*DTYPES, "None", "tkind", "x.dtype", "torch.uint64", "torch.uint16"), 2)
    keywords = dtype and f", dtype={dtype}"
    if name == "new":
        return f"(x * 1).to(device).new_tensor({data}{keywords})"
    keywords += often(draw, ", device=device", (", device=x.device", ", device='meta'", ", device='cpu'", ""), 3)
    keywords += often(draw, "", (", requires_grad=True", ", requires_grad=False"), 8) if "as" not in name else ""
    word = {"torch.asarray": "obj="}.get(name, "data=")
    return f"{name}({often(draw, '', [word], 8)}{data}{keywords})"


@st.composite
def _moved(draw: st.DrawFn, made: str) -> tuple[str, str]:
    """A move of a new tensor, in one expression or through a variable."""
    move = pick(draw, _MOVES)
    if draw(st.integers(0, 3)):
        return made + move, ""
    return f"h{move}", f"h = {made}"
