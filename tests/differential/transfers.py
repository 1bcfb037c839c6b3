"""TL201, TL202, TL204, TL302 and TL401: reads of numbers, copies to the host, moves of batches."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential.case import Case
from tests.differential.text import HEAD, often, pick, placed, surroundings

_TENSORS = (
    "one", "one-half", "zero-d", "1x1", "gradient", "tensor", "half", "integers", "none", "matrix", "parameter",
    "bf16", "bools", "byte tensor", "double", "complex tensor", "cube", "expanded tensor", "strided tensor",
    "bool number",
)  # fmt: skip
_CASTS = (
    ".long()", ".bool()", ".long().detach()", ".to(torch.int64)", ".to(torch.bool)", ".long().reshape(-1)[:1]",
    ".long().view(1, -1)", ".bool().t()", ".long().contiguous()", ".bool().clone()", ".to(dtype=torch.int64)",
    ".unsqueeze(0).long()", ".float().long()", ".long().squeeze()", ".type(torch.int64)", ".long() * 2",
)  # fmt: skip
_OTHER_CASTS = (
    ".float()", "", ".double()", ".sum()", " > 0", ".any()", ".argmax()", ".long().sum()", ".long()[..., :1]",
    ".half()", ".bool().any()", ".long().max()", ".float().requires_grad_()", ".int()", ".to(torch.float32)",
    ".mean()", ".numel()",
)  # fmt: skip
_PLACED = ("x.to(device)", "x.to(device)", "x.to('cuda')", "x.cuda()")


_FORMS = (
    ".flatten()", ".view(-1)", ".reshape(-1)", ".flatten()", ".float().flatten()", ".ravel()", "[0]",
    ".flatten().double()", ".flatten().long()", ".flatten().half()", ".flatten().bfloat16()", ".sum(0).flatten()",
    ".flatten().detach()", ".flatten().bool()", ".flatten().to(torch.int32)",
)  # fmt: skip
_READS = (
    "[{}]", "[{}]", "sum({})", "tuple({})", "max([{}], default=None)", "list({})", "sorted({})", "set({})", "min({})",
    "max(({}), default=0)", "sum(({}), 0.5)", "np.array([{}])", "[str(number) for number in [{}]]", "any({})",
)  # fmt: skip


@st.composite
def copied(draw: st.DrawFn) -> Case:
    """TL201: a number that is read only to create a tensor on the same device."""
    on_device = pick(draw, _PLACED)
    setup = f"y = {on_device}{often(draw, pick(draw, _CASTS), _OTHER_CASTS, 6)}"
    device = often(draw, "y.device", ("device", "x.device", "'cuda'", "y.device.type"), 8)
    read = often(draw, "y.item()", ("y.tolist()", "y.detach().item()", "y.cpu().item()", "float(y)", "y[0].item()"), 8)
    made = f"torch.tensor({often(draw, '', ['data='], 8)}{read}, device={device})"
    if draw(st.integers(0, 3)) == 0:
        made = f"{made}{pick(draw, ('.requires_grad_()', ' * 2', '.unsqueeze(0)', '.add_(1)', '.float()'))}"
    return _with_tensor(draw, "TL201", made, setup)


@st.composite
def elements(draw: st.DrawFn) -> Case:
    """TL302: elements of a tensor that are read one by one."""
    form = pick(draw, _FORMS)
    read = often(draw, "v.item()", ("float(v)", "int(v)", "v.tolist()", "bool(v)", "complex(v)"), 3)
    tensor = often(draw, "y", ("y[1:]", "y * 2", "(y + 1)", "y[::2]", "y.flip(0)", "-y"), 4)
    made = pick(draw, _READS).format(f"{read} for v in {tensor}")
    return _with_tensor(draw, "TL302", made, f"y = {pick(draw, _PLACED)}{form}")


_HOSTS = (
    "'cpu', non_blocking=True", "'cpu', non_blocking=True", "device='cpu', non_blocking=True",
    "torch.device('cpu'), non_blocking=True", "non_blocking=True, device='cpu'",
    "'cpu', torch.float64, non_blocking=True", "'cpu', non_blocking=True, copy=True",
    "'cpu', dtype=torch.int32, non_blocking=True",
)  # fmt: skip
_USES = (
    "{}.tolist()", "{}.numpy().copy()", "{}.sum()", "float({}.sum())", "{} + 1", "torch.cat([{}.flatten()])",
    "np.sum({}.numpy())", "{}.flatten()[0].item()", "[{}.clone()]", "str({})", "{}.float().mean().item()",
    "({}.detach() > 0)", "{}.reshape(-1)[:2].tolist()", "f'{{{}}}'",
)  # fmt: skip


@st.composite
def downloaded(draw: st.DrawFn) -> Case:
    """TL204: an asynchronous copy to the host that is read."""
    setup, copy = f"y = {pick(draw, _PLACED)}", f"y.to({pick(draw, _HOSTS)})"
    copy = often(draw, copy, (f"(y * 2){copy[1:]}", f"y.detach(){copy[1:]}", "y.to('cpu', non_blocking=False)"), 4)
    if draw(st.booleans()):
        setup, copy = f"{setup}\nz = {copy}", "z"
    return _with_tensor(draw, "TL204", pick(draw, _USES).format(copy), setup)


def _with_tensor(draw: st.DrawFn, rule: str, made: str, setup: str) -> Case:
    inputs = {"x: torch.Tensor" if draw(st.booleans()) else "x": pick(draw, _TENSORS)}
    whole = setup + made
    cuda = "cuda" in whole or draw(st.booleans())
    if "device" in whole.replace(".device", "").replace("device=", "") or "to(device" in whole:
        inputs["device"] = pick(draw, ("cuda", "cuda:0", "cpu")) if cuda else "cpu"
    return placed(draw, rule, made, inputs, setup, "x", cuda)


# -- batches ---------------------------------------------------------------------------------------

_BATCHES = """from torch.utils.data import DataLoader, Dataset, TensorDataset


class Rows(Dataset):
    def __init__(self, content):
        self.content = content

    def __len__(self):
        return len(self.content)

    def __getitem__(self, index):
        return self.content[index]


def run():
    content = {content}
    rows = {rows}
    kept = []
    model = torch.nn.Linear(2, 1)
    loader = DataLoader({arguments})
    for {target} in {loop}:
{body}
        (model(kept[-1].float().reshape(-1, 2).cpu()).sum() * 0).backward()
    return kept, [content]
"""
_CONTENT = (
    "torch.arange(12.0).reshape(6, 2)", "torch.ones(4, 2, dtype=torch.int64)", "torch.zeros(3, 2)",
    "torch.rand(5, 2)", "torch.arange(12.0, dtype=torch.float16).reshape(6, 2)", "torch.tensor([[1.0, -0.0]])",
    "torch.zeros(0, 2)", "torch.arange(12.0).reshape(2, 6).t()", "torch.ones(2).expand(4, 2)",
    "torch.full((3, 2), float('nan'))",
)  # fmt: skip
_LOADED = (
    "batch_size=2", "2", "2, True", "batch_size=3, shuffle=True", "1", "batch_size=None",
    "batch_size=2, drop_last=True", "batch_sampler=torch.utils.data.BatchSampler(range(3), 2, False)",
    "sampler=[1, 0]", "2, collate_fn=None", "batch_size=4, generator=torch.Generator().manual_seed(3)",
    "2, collate_fn=lambda rows: rows[0]",
)  # fmt: skip
_MOVED = (
    "x.cuda()", "x.cuda(non_blocking=False)", "x.to('cuda')", "x.to('cuda', torch.float64)", "x.to('cuda:0')",
    "x.to(device='cuda')", "x.to(torch.device('cuda'))", "x.cuda(0)", "x.to('cuda', dtype=torch.float16)",
    "x.cuda(None)", "x.to('cuda', copy=True)", "x.to('cuda', torch.float32, False)", "x.float().to('cuda')",
    "x.cuda().float()",
)  # fmt: skip


_ROWS = ("TensorDataset(content)", "Rows(content)", "content", "TensorDataset(content, content)")
_TARGETS = {"TensorDataset(content)": ("(x,)", "(x,)", "[x]", "x"), "TensorDataset(content, content)": ("x, _",)}
_BODIES = (
    "x = {move}\nkept.append(x)",
    "moved = {move}\nx.zero_()\nkept.append(moved)",
    "moved = {move}\nkept.append(x)\nkept.append(moved)",
    "shape = x.shape\nkept.append({move})",
    "if x.size(0) > 1:\n    kept.append({move})",
    "y = x\nkept.append({move})\ny += 1",
    "kept.append({move})\ncontent.add_(1)",
    "kept.extend([x.numel(), {move}])",
    "model(x.float().reshape(-1, 2))\nkept.append({move})",
)
_LOOPS = {"enumerate(loader)": "_, {}", "list(loader)": "{}", "iter(loader)": "{}", "zip(loader, range(2))": "{}, _"}


@st.composite
def batches(draw: st.DrawFn, rule: str) -> Case:
    """TL202 and TL401: batches of a loader that are moved to CUDA, pinned or not."""
    workers = (
        "num_workers=2"
        if rule == "TL401"
        else often(draw, "pin_memory=True", ("pin_memory=True, num_workers=1", ""), 3)
    )
    # Without batching, items are the dataset's own tensors, unless workers copy them.
    loaded = [form for form in _LOADED if rule == "TL202" or form != "batch_size=None"]
    rows = often(draw, _ROWS[0], _ROWS[1:], 3)
    target = pick(draw, _TARGETS.get(rows, ("x",)))
    loop = often(draw, "loader", tuple(_LOOPS), 5)
    if "," in target and "_" in _LOOPS.get(loop, ""):
        target = f"({target})"
    body = often(draw, "kept.append({move})", _BODIES).format(move=pick(draw, _MOVED))
    text = _BATCHES.format(
        content=pick(draw, _CONTENT),
        rows=rows,
        arguments=", ".join(filter(None, ("rows", often(draw, "2", loaded), workers))),
        target=_LOOPS.get(loop, "{}").format(target),
        loop=loop,
        body="\n".join(f"        {line}" for line in body.splitlines()),
    )
    return Case(rule, f"{HEAD}{text}", {}, surroundings(draw, rule, cuda=True), cuda=True)
