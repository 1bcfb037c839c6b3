"""TL101: tensors created from arrays."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.behavior.programs import ARRAYS
from tests.differential.case import Case
from tests.differential.text import often, pick, placed

ODD = (
    "reversed", "sliced", "broadcast", "read-only", "swapped", "u16", "u64", "i64 edges", "c128", "f16 edges",
    "payload", "objects", "words", "dates", "masked", "np.matrix", "array subclass",
)  # fmt: skip
ELSE = (
    "own memory", "new memory", "list", "nested list", "empty list", "tensor", "half", "integers", "gradient",
    "parameter", "strided tensor", "meta tensor",
)  # fmt: skip
DTYPES = tuple(
    f"torch.{name}" for name in "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64".split()
)
# Newly allocated arrays made from the parameter, `{}`.
_NEW = (
    "np.array({})", "np.array({}, dtype=np.float32)", "np.array({}, np.int64)", "np.array({}, dtype='f8')",
    "np.array({}, copy=True)", "np.array({}, copy=None)", "np.array({}, copy=False)", "np.array({}, ndmin=2)",
    "np.array({}, order='F')", "np.array({}, subok=True)", "np.array([{}, {}])", "{}.copy()",
    "{}.astype(np.float32)", "{}.astype('float64')", "{}.astype(np.float32, copy=False)", "{}.astype({}.dtype)",
    "{}.flatten()", "{}.repeat(2)", "{}.clip(0, 1)", "{}.round(1)", "{}.cumsum()", "{}.argsort()", "{}.take([0])",
    "{}.dot({}.T)", "{}.compress([True])", "{}.choose([{}])", "{}.cumprod(0)", "{} + 1", "{} + {}", "-{}",
    "{} * 2.0", "{} / 255", "{} > 0", "~{}", "{} ** 2", "{} @ {}.T", "+{}", "1 - {}", "np.abs({})", "np.exp({})",
    "np.where({} > 0, {}, 0)", "np.clip({}, 0, 1)", "np.clip({}, 0, 1, out={})", "np.add({}, 1)", "np.add({}, {})",
    "np.add({}, 1, {})", "np.add({}, 1, out={})", "np.maximum({}, 0)", "np.round({})", "np.sqrt({})", "np.sort({})",
    "np.argsort({})", "np.cumsum({})", "np.diff({})", "np.isnan({})", "np.nan_to_num({})",
    "np.nan_to_num({}, copy=False)", "np.unwrap({})", "np.matmul({}, {}.T)", "np.logical_not({})", "np.real({})",
    "np.imag({})", "np.conj({})", "np.isin({}, [1])", "np.around({}, 2)", "np.fmax({}, 0, {})", "np.power({}, 2)",
    "np.mod({}, 2)", "np.gradient({})", "np.angle({})", "np.negative({})", "np.floor({})",
    "np.concatenate([{}, {}])", "np.concatenate(({},))", "np.stack([{}, {}])", "np.vstack([{}])",
    "np.hstack([{}, {}])", "np.dstack([{}])", "np.column_stack([{}])", "np.block([{}])", "np.append({}, 1)",
    "np.delete({}, 0)", "np.delete({}, [])", "np.insert({}, 0, 1)", "np.tile({}, 1)", "np.repeat({}, 1)",
    "np.repeat({}, 2, axis=0)", "np.pad({}, 1)", "np.pad({}, 0)", "np.roll({}, 0)", "np.roll({}, 1)",
    "np.unique({})", "np.argwhere({})", "np.zeros_like({})", "np.ones_like({})", "np.full_like({}, 3)",
    "np.outer({}, {})", "np.kron({}, {})", "np.interp({}, [0, 1], [2, 3])", "np.convolve({}, [1, 2])", "np.cov({})",
    "np.corrcoef({})", "np.digitize({}, [1])", "np.bincount({})", "np.fft.fft({})", "np.fft.fftshift({})",
    "np.fft.rfft({})", "np.linalg.pinv({})", "np.random.permutation({})", "np.fromiter({}, float)",
    "np.packbits({})", "np.cbrt({})", "np.hypot({}, 1)", "np.asarray({}).copy()", "np.array({}).astype(np.float32)",
    "np.asarray({}) * 2", "np.array({}).T.copy()", "np.ascontiguousarray({}) + 0",
    "np.array({}).reshape(-1).copy()", "np.asarray({})[::-1].copy()", "np.array({}).round()",
    "np.array({}).clip(0)", "np.array({}).clip(0, None, np.array({}))", "np.array({}).repeat(1)",
    "np.array({}).flatten()", "np.array({}).cumsum(axis=0)", "np.array({}) + np.array({})",
    "np.array({})[:, None] * 2", "np.asarray({}).astype(np.int64)", "np.array({}).astype(bool)",
    "np.asarray({}).astype(float, order='F')", "np.asarray({}).astype(np.float32, 'K', 'unsafe', True, False)",
    "np.abs(np.array({}))", "np.random.rand(3) * 2", "np.random.default_rng(5).normal(size=3)",
    "np.random.default_rng(5).integers(0, 9, 4)", "np.random.choice(5, 3)",
    "np.random.randn(2, 2).astype(np.float32)", "np.hanning(5)", "np.bartlett(4) ** 2", "np.logspace(0, 1, 4)",
    "np.fromfunction(lambda i: i, (3,))", "np.linspace(0, 1, 5) * 2", "np.arange(4) / 3", "np.eye(3)[[0, 2]]",
)  # fmt: skip
# Arrays whose memory may be shared with other objects.
_HELD = (
    "{}", "np.asarray({})", "np.array({})[::2]", "np.array({})[::-1]", "np.array({}).T", "np.ascontiguousarray({})",
    "np.transpose({})", "np.ravel(np.asarray({}))", "np.array({}).reshape(-1)", "np.squeeze(np.asarray({}))",
    "np.flip(np.asarray({}), 0)", "np.broadcast_to(np.array({}), (2, 3))", "np.asfortranarray({})",
    "np.asarray({})[0]", "np.asarray({}).real", "np.expand_dims(np.asarray({}), 0)", "np.array({}).view()",
    "np.swapaxes({}, 0, -1)",
)  # fmt: skip
# Arrays that a function or method may fill and return, or hand on as they are: `{}` is the parameter, `buf` an array
# that is held elsewhere.
_FILLED = (
    "np.float32({})", "np.float64({})", "np.uint8({})", "np.int64({})", "np.bool_({})", "np.half({})",
    "np.float32({} * 2)", "np.float64({}.copy())", "np.double({})", "np.int32(np.float32({}))",
    "np.asarray({}, dtype=np.float32)", "np.asarray({}, 'f8')", "np.require({})", "np.asanyarray({})",
    "np.array({}, copy=None)", "np.array({}, np.float32, copy=False)", "{}.astype(np.float64, copy=False)",
    "{}.astype('f4', 'K', 'unsafe', True, False)", "np.nan_to_num({}, False)", "np.real({})", "np.round({})",
    "np.concatenate([{}, {}], 0, buf)", "np.concatenate([{}], axis=0, out=buf)", "np.stack([{}], 0, buf)",
    "np.exp({}, buf)", "np.exp({}, out=buf)", "np.exp({}, out=None)", "np.exp({}, None)", "np.add({}, 1, buf)",
    "np.subtract({}, {}, {})", "np.maximum({}, 0, buf)", "np.sum({}, 0, None, buf)", "np.sum({}, 0)",
    "np.sum({}, axis=0, keepdims=True)", "{}.sum(0, None, buf)", "{}.mean(0)", "{}.max(0, buf)", "np.max({}, 0, buf)",
    "np.prod({}, 0, None, buf)", "np.mean({}, 0, None, buf)", "np.median({}, 0, buf)", "np.median({}, 0)",
    "np.percentile({}, 50, 0, buf)", "np.quantile({}, 0.5, 0)",
    "{}.cumsum(0, None, buf)", "np.cumsum({}, 0, None, buf)",
    "np.cumprod({}, 0, None, {})", "{}.clip(0, 1, buf)", "np.clip({}, 0, 1, buf)", "np.clip({}, 0, 1, {})",
    "{}.take([0, 1], 0, buf)", "np.take({}, [0], 0)", "np.dot({}, {}.T, buf)", "{}.dot({}.T, buf)",
    "np.matmul({}, {}.T, buf)", "np.argmax({}, 0, buf)", "np.compress([True], {}, 0, buf)", "np.outer({}, {}, buf)",
    "np.round({}, 1, buf)", "np.diff({}, 0)", "np.diff({}, n=0)", "np.diff({}, 1)", "np.triu({})", "np.diag({})",
    "np.fromfunction(lambda _: {}, (3,))", "np.exp(*filled)", "np.exp({}, **filling)", "np.sort(*[{}])",
    "np.random.default_rng(5).random(4, np.float32, buf)", "np.random.default_rng(5).standard_normal(4, 'f8', buf)",
    "np.random.default_rng(5).random(4, out=buf)", "np.fft.fftn({}, axes=())", "np.linalg.inv({})", "+{}",
    "np.broadcast_to({}, {}.shape)",
    "np.unwrap({}, period=6)", "np.atleast_1d({})", "np.nansum({}, 0)", "np.fmin({}, 0, buf)",
)  # fmt: skip
# Arrays that `buf` may be.
_BUFFERS = ("f64", "f32", "i64", "u8", "fortran", "sliced", "scalar", "masked", "np.matrix", "array subclass", "empty")
# A data set that holds its arrays; the sample is written to after it was read.
_DATASET = (
    "class Data:\n"
    "    def __init__(self, {given}):\n        self.held = data\n\n"
    "    def __getitem__(self, index):\n{deep}        return {made}\n\n\n"
    "def run({given}):\n    sample = Data({handed})[0]\n    sample[...] = 1\n    return sample, [{owned}]\n"
)
_CHAINS = (
    ".float()", ".double()", ".long()", ".half()", ".bool()", ".int()", ".byte()", ".bfloat16()", ".unsqueeze(0)",
    ".unsqueeze(0).float()", ".float().unsqueeze(0)", ".t()", ".contiguous()", ".view(-1)", ".reshape(-1)",
    ".flatten().float()", ".clone()", ".detach()", ".requires_grad_()", ".float().requires_grad_()",
    ".repeat(2, 1)", ".expand(2, -1)", ".squeeze()", ".permute(0)", ".transpose(0, -1).float()",
    ".float().double()", ".long().bool()",
)  # fmt: skip
_MOVES = (
    ".to(device)", ".to(device=device)", ".to(device, torch.float32)", ".to(device, torch.float64)",
    ".to(device, dtype=torch.int32)", ".to(device, non_blocking=False)", ".to(device, torch.float16, False)",
    ".to(device, dtype=torch.float32, non_blocking=False)", ".to('meta')", ".to('cuda')", ".cuda()", ".cuda(0)",
    ".to(torch.device('cuda'))", ".to(device, torch.bool)", ".to(device, copy=True)", ".to(other)",
    ".type_as(other)", ".to(other.device)", ".to(other.device, other.dtype)", ".to(device, None)",
    ".cuda(non_blocking=False)",
)  # fmt: skip
DEVICES: tuple[Any, ...] = ("cpu", "meta", "cpu:0", None, "cuda", "cuda:0")


@st.composite
def copied(draw: st.DrawFn) -> Case:
    """TL101: an array becomes a tensor, which may then be moved."""
    moved = draw(st.booleans())
    if not moved and draw(st.booleans()):
        return _held(draw)
    array = pick(draw, (*_NEW, *_HELD, *_FILLED) if moved else _NEW).replace("{}", "data")
    array = array.replace("buf", "data").replace("**filling", "out=data").replace("*filled", "data")
    parameter = _parameter(draw, array)
    inputs: dict[str, Any] = {parameter: pick(draw, (*ARRAYS, *ODD, *(() if ":" in parameter else ELSE)))}
    setup, sources = "", "data"
    if draw(st.booleans()):
        setup, array, sources = f"array = {array}", "array", often(draw, "data", ("data, array",))
    keyword = often(draw, "", [f", dtype={dtype}" for dtype in DTYPES], 4)
    made = f"torch.tensor({pick(draw, ('', '', 'data='))}{array}{keyword})"
    if moved:
        made += often(draw, "", _CHAINS, 3) + pick(draw, _MOVES)
    cuda = "cuda" in made
    if "device)" in made or "device," in made:
        inputs["device"] = pick(draw, DEVICES if cuda else DEVICES[:4])
    if "other" in made:
        inputs["other: torch.Tensor"] = pick(draw, ("tensor", "half", "integers"))
        made = made.replace("other", "(other * 1)") if draw(st.booleans()) else made
    return placed(draw, "TL101", made, inputs, setup, sources, cuda)


def _held(draw: st.DrawFn) -> Case:
    """An array that may be held elsewhere too becomes a tensor, at once or through variables."""
    array = pick(draw, (*_FILLED, *_HELD, *_NEW)).replace("{}", "data")
    if draw(st.booleans()):
        wrapped = (*_FILLED, "np.float32({})", "np.float64({})", "({})[0]", "({}).copy()", "({}).reshape(-1)")
        array = pick(draw, wrapped).replace("{}", array)
    inputs: dict[str, Any] = {"data: np.ndarray": pick(draw, (*ARRAYS, *ODD))}
    setup = (
        ["filled = (data, buf)"] if "*filled" in array else ["filling = {'out': buf}"] if "**filling" in array else []
    )
    if "buf" in array or setup:
        inputs["buf: np.ndarray"] = pick(draw, _BUFFERS)
    if draw(st.booleans()):
        setup, array = [*setup, f"array = {array}"], "array"
    sources = ", ".join(name.partition(":")[0] for name in inputs)
    made = f"torch.tensor({array})"
    if "buf" not in sources and draw(st.booleans()):
        return placed(
            draw, "TL101", made, inputs, "\n".join(["data = self.held", *setup]), sources, places=(_DATASET,) * 3
        )
    return placed(draw, "TL101", made, inputs, "\n".join(setup), sources)


def _parameter(draw: st.DrawFn, array: str) -> str:
    """The parameter, annotated as an array if nothing else proves it."""
    bare = array == "data" or array.startswith("data") or "data)" not in array
    return "data: np.ndarray" if bare or draw(st.booleans()) else "data"
