"""TL607: losses that are added up with their graphs."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential.case import Case
from tests.differential.text import HEAD, often, pick, surroundings

_STARTS = ("0.0", "0", "torch.zeros(())", "torch.zeros(1)", "torch.zeros((), dtype=torch.float64)", "torch.tensor(1.5)")
_LOSSES = (
    "model(x).square().mean()", "model(x).mean() * 3", "torch.nn.functional.l1_loss(model(x), x[:, :1])",
    "model(x).double().sum()", "model(x).sum() / 0", "model(x).mean().reshape(1)", "model(x)[0, 0]",
)  # fmt: skip
_ADDITIONS = (
    "total += loss", "total += loss * 2", "total += loss / len(x)", "total = total + loss", "total += loss.mean()",
    "total += 0.5 * loss.clone()", "total += loss.sum() - 1", "total += loss.float()", "total += loss.cpu()",
)  # fmt: skip
_ENDS = (
    "kept.append(total.item())", "if len(kept) == 2:\n    print(total.item())", "total.item()", "kept.append(x)",
    "loss.zero_()", "model.weight.data.zero_()", "kept.append(total)", "kept.append(loss.item())",
)  # fmt: skip
_PROGRAM = """def run():
    torch.manual_seed(3)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(torch.arange(12.0).reshape(6, 2), 2)
    kept = []
    total = {start}
    for x in loader:
        loss = {loss}
        optimizer.zero_grad()
        {first}
        {second}
        optimizer.step()
{end}
    return {returned}, kept, [parameter for parameter in model.parameters()]
"""


@st.composite
def summed(draw: st.DrawFn) -> Case:
    """TL607: a loss that is added to a total, before or after its backward pass."""
    steps = ["loss.backward()", pick(draw, _ADDITIONS)]
    if draw(st.booleans()):
        steps.reverse()
    text = _PROGRAM.format(
        start=often(draw, "0.0", _STARTS),
        loss=often(draw, _LOSSES[0], _LOSSES),
        first=steps[0],
        second=steps[1],
        end="\n".join(f"        {line}" for line in pick(draw, _ENDS).splitlines()),
        returned=often(draw, "total.item()", ("[total.item()]", "total", "total.item() / 3"), 4),
    )
    return Case("TL607", f"{HEAD}\n\n{text}", {}, surroundings(draw, "TL607", cuda=False))
