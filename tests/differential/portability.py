"""TL701 in projects that want to run without CUDA: with CUDA, nothing may change."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential.case import Case
from tests.differential.text import HEAD, often, pick, surroundings

_DEVICES = (
    "",
    "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
    'device = "cuda" if torch.cuda.is_available() else "cpu"',
    "device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')",
    "gpu = torch.cuda.is_available()\ndevice = torch.device('cuda') if gpu else torch.device('cpu')",
    "dev = 'cuda' if torch.cuda.is_available() else 'cpu'",
)
_MADE = (
    "torch.zeros(3)", "torch.rand(2, 2)", "x", "(x * 2)", "torch.nn.Linear(2, 1)", "torch.nn.Linear(2, 1).weight",
    "x[:1]", "torch.nn.Parameter(torch.ones(2))", "torch.tensor([1.0, -0.0])", "torch.arange(3)", "x.float()",
    "x.t()", "model", "torch.randn(3)", "torch.ones(2, requires_grad=True)",
)  # fmt: skip
_MOVED = (
    "{}.cuda()", "{}.cuda()", "{}.to('cuda')", "{}.to(device='cuda')", "{}.cuda(0)", "{}.to('cuda:0')",
    "{}.cuda(None)", "{}.to('cuda', torch.float64)", "{}.to(torch.device('cuda'))", "{}.cuda(non_blocking=True)",
    "{}.cuda(device=0)", "{}.to('cuda', non_blocking=True)", "{}.to(torch.device('cuda:0'))", "{}.cuda().cpu()",
    "{}.cuda() + 1", "{}.to(dtype=torch.float64, device='cuda')", "{}.to('cuda').to('cpu')",
    "{}.cuda(non_blocking=False)", "{}.cuda('cuda')", "{}.to('cuda', copy=True)", "{}.cuda(torch.device('cuda'))",
    "{}.cuda(0, True)",
)  # fmt: skip
_NAMED = (
    "torch.zeros(3, device='cuda')", "torch.ones(2, device='cuda:0')", "torch.tensor([1.5], device='cuda')",
    "torch.rand(2, device=torch.device('cuda'))", "torch.nn.Linear(2, 1, device='cuda').weight",
    "torch.device('cuda')", "str(torch.device('cuda'))", "torch.device('cuda', 0)", "torch.device('cuda:0').index",
    "torch.device('cuda').type", "torch.zeros(2, device='cuda') + x.cuda()",
    "torch.as_tensor([1, 2], device='cuda')", "torch.full((2,), 3, device='cuda')", "torch.device(type='cuda')",
    "torch.empty_like(x, device='cuda').zero_()", "x.new_zeros(2, device='cuda')",
)  # fmt: skip


_FORMS = (
    "return {made}, [x]",
    "made = {made}\nreturn made, [x]",
    "made = x\nmade = {made}\nreturn made, [x]",
    "return [{made} for _ in range(2)], [x]",
    "with torch.no_grad():\n    made = {made}\nreturn made, [x]",
)
_MODEL = """class Model(torch.nn.Module):
    def forward(self, x):
        x = x + 0
        {model}
        return {made}


def run(x):
    return Model()(x), [x]
"""
_INPUTS = ("tensor", "half", "integers", "none", "matrix", "gradient", "parameter", "bools", "strided tensor")


@st.composite
def hard_coded(draw: st.DrawFn) -> Case:
    """A tensor, module or device with hard-coded CUDA, in a function or at module level."""
    made = often(draw, "", _NAMED) or pick(draw, _MOVED).format(pick(draw, _MADE))
    device, local = pick(draw, _DEVICES), draw(st.booleans())
    model = "model = torch.nn.Linear(2, 1)" if "model" in made else ""
    if draw(st.integers(0, 5)) == 0:
        defined, body = device, _MODEL.format(model=model, made=made)
    else:
        defined = "" if local else device
        lines = [device if local else "", model, pick(draw, _FORMS).format(made=made)]
        body = "".join(f"    {line}\n" for part in lines for line in part.splitlines())
        body = f"def run({pick(draw, ('x', 'x: torch.Tensor'))}):\n{body}"
    around = surroundings(draw, "TL701", cuda=True)
    return Case("TL701", f"{HEAD}\n{defined}\n\n\n{body}", {"x": pick(draw, _INPUTS)}, around, cuda=True)
