"""TL103: tensors with regular content created by NumPy or Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

from tests.differential.arrays import DEVICES, DTYPES
from tests.differential.case import Case
from tests.differential.text import often, parameters, pick, placed

# Sizes as expressions of parameters, and the values of these.
SIZES = (
    "3", "1", "2", "0", "-1", "2 * 2", "n", "len(xs)", "len(xs) - 2", "len(xs) // 2", "1 + len(xs)", "x.shape[0]",
    "x.shape[-1]", "x.size(0)", "x.shape[0] - 3", "x.shape[0] // 2", "x.numel()", "x.ndim", "int(n)", "WIDTH",
    "-len(xs)", "x.size(0) * 2", "len(xs) % 2", "max(n, 1)", "abs(n)", "x.dim()", "5 - len(xs)",
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    3,
    1,
    0,
    -2,
    2.5,
    True,
    "text",
    None,
    "count",
    "zero-d count",
    "tensor count",
    (2, 3),
    "size",
)
LISTS: tuple[Any, ...] = ((1, 2, 3), (1,), (), "list", "matrix", "empty")
TENSORS = ("tensor", "none", "matrix", "zero-d", "half", "cube")
_NUMPY_DTYPES = (
    "np.float32", "np.float64", "np.float16", "np.int64", "np.int32", "np.int8", "np.uint8", "np.uint16",
    "np.uint32", "np.bool_", "np.complex64", "'float32'", "'f4'", "'>f4'", "float", "int", "bool", "np.dtype('i4')",
    "None", "kind", "cfg.get('dtype')", "cfg['dtype']", "cfg.dtype", "KIND", "object", "'M8[s]'", "np.float128",
)  # fmt: skip
_KINDS: tuple[Any, ...] = (None, "i4", "f4", np.float32, np.int64, np.uint16, bool, np.dtype("f8"))
_TORCH_KINDS: tuple[Any, ...] = (None, torch.float32, torch.int64, torch.bool, torch.float16)
_VALUES = (
    "0", "1", "-1", "7", "0.0", "-0.0", "0.1", "1.0", "-1e9", "1e300", "True", "False", "2**40", "300", "-1.5",
    "3.7", "70000", "-129", "256", "1e-50", "2147483648", "-2147483649", "16777217", "0.1 + 0.2",
    "9007199254740993", "1j", "float('nan')", "float('inf')", "np.pi", "np.inf", "fill", "-(-1)", "not 1",
    "9223372036854775807", "1e400", "0x7f",
)  # fmt: skip
_FILLS: tuple[Any, ...] = (0, 1, -0.0, 2.5, True, None, "count")


class _Config(dict[str, Any]):
    """A configuration whose entries are also attributes."""

    @property
    def dtype(self) -> Any:
        """Its dtype."""
        return self["dtype"]


PARAMETERS: Mapping[str, Sequence[Any]] = {
    "n": NUMBERS,
    "xs": LISTS,
    "x": TENSORS,
    "shape": ((2, 3), 3, (), [2, 0], "shape array", "size", None, (-1,)),
    "device": DEVICES[:4],
    "kind": _KINDS,
    "cfg": tuple(_Config(dtype=kind) for kind in _KINDS),
    "tkind": _TORCH_KINDS,
    "tcfg": tuple(_Config(dtype=kind) for kind in _TORCH_KINDS),
    "fill": _FILLS,
}
_MOVES = ("", "", "", "", ".to(device)", ".float()", ".cuda()", ".unsqueeze(0).to(device)", ".long()", ".to('meta')")
_LEGACY = tuple(
    f"torch.{name}Tensor" for name in ("", "Float", "Double", "Half", "Long", "Int", "Short", "Byte", "Bool")
)


@st.composite
def made_by_numpy(draw: st.DrawFn) -> str:
    """An array with regular content, as an expression."""
    name = pick(draw, ("zeros", "ones", "zeros", "ones", "full", "eye", "identity", "arange"))
    dtype = often(draw, "", _NUMPY_DTYPES, 2)
    keyword = dtype and f"{pick(draw, ('dtype=', 'dtype=', ''))}{dtype}"
    if name == "arange":
        arguments = [pick(draw, (*SIZES, "2.0")) for _ in range(draw(st.integers(1, 3)))]
        keyword = dtype and f"dtype={dtype}"
        start = often(draw, "", ("start=", "stop="), 12) if len(arguments) == 1 else ""
        arguments[0] = start + arguments[0]
    elif name in ("eye", "identity"):
        arguments = [pick(draw, SIZES)]
        if name == "eye":
            arguments += draw(st.sampled_from(([], [], ["None"], ["None", "0"], ["2"], ["2", "1"], ["M=3"], ["k=0"])))
    else:
        arguments = [draw(_shapes(named=name != "full"))]
        if name == "full":
            arguments.append(pick(draw, _VALUES))
    made = f"np.{name}({', '.join(filter(None, [*arguments, keyword]))})"
    return made + often(
        draw,
        "",
        (".astype(np.float32)", ".astype('int64')", ".reshape(-1)", ".reshape(1, -1)", ".copy()", ".reshape((2, -1))",
         ".astype(kind)", ".astype(bool)", ".reshape(-1, 2).astype(np.int32)", ".astype(np.uint8).astype(float)",
         ".astype(np.float32, order='F')", ".reshape(1, 1, -1)", ".T", ".reshape(2, 3, order='F')"), 4,
    )  # fmt: skip


@st.composite
def _shapes(draw: st.DrawFn, *, named: bool) -> str:
    """A shape: a number, or several."""
    sizes = [pick(draw, SIZES) for _ in range(draw(st.integers(1, 3)))]
    form = pick(draw, ("({},)", "[{}]", "({},)"))
    single = ("x.shape", "x.size()", "shape", "(*x.shape, 2)", "x.shape[:1]", "()", sizes[0], sizes[0], sizes[0])
    shape = pick(draw, (*single, *[form.format(", ".join(sizes))] * 9))
    return f"{often(draw, '', ['shape='], 8)}{shape}" if named else shape


@st.composite
def made_by_python(draw: st.DrawFn) -> str:
    """A list or range with regular content."""
    sizes = [pick(draw, SIZES) for _ in range(3)]
    value = pick(draw, _VALUES)
    count = ", ".join(sizes[: draw(st.sampled_from((1, 1, 1, 2, 3)))])
    forms = (
        f"[{value}] * {_factor(sizes[0])}", f"{_factor(sizes[0])} * [{value}]", f"[{value} for _ in range({sizes[0]})]",
        f"[[{value}] * {_factor(sizes[0])} for _ in range({sizes[1]})]", f"list(range({count}))", f"range({count})",
        f"[[{value} for _ in range({sizes[0]})] for _ in range({sizes[1]})]", f"[i for i in range({count})]",
        f"[[[{value}] * {_factor(sizes[0])} for _ in range({sizes[1]})] for _ in range({sizes[2]})]",
        f"[[{value}] * i for i in range({sizes[0]})]",
    )  # fmt: skip
    return pick(draw, (*forms[:3], *forms))


def _factor(size: str) -> str:
    return size if size.isidentifier() or size.isdigit() or size.endswith(")") else f"({size})"


@st.composite
def regular(draw: st.DrawFn) -> Case:
    """TL103: a constructor with regular content, or a legacy constructor and a fill."""
    made = draw(_converted() | _converted() | _legacy())
    made += pick(draw, _MOVES)
    return placed(draw, "TL103", made, parameters(draw, made, PARAMETERS), cuda=".cuda" in made)


@st.composite
def _converted(draw: st.DrawFn) -> str:
    name = pick(draw, ("torch.tensor", "torch.tensor", "torch.as_tensor", "torch.asarray", "torch.from_numpy"))
    if name == "torch.from_numpy":
        return f"{name}({draw(made_by_numpy())})"
    data = draw(made_by_numpy() | made_by_python())
    dtype = often(draw, "", (*DTYPES, "None", "tkind", "tcfg.get('dtype')", "tcfg['dtype']", "torch.uint16"), 2)
    keywords = "".join(
        [
            dtype and f", dtype={dtype}",
            often(draw, "", (", device='cpu'", ", device=device", ", device='meta'", ", device=None"), 5),
            often(draw, "", (", requires_grad=True", ", requires_grad=False"), 8) if name == "torch.tensor" else "",
            often(draw, "", [", pin_memory=False"], 20) if name == "torch.tensor" else "",
        ]
    )
    return f"{name}({often(draw, '', ['obj=' if 'asarray' in name else 'data='], 8)}{data}{keywords})"


@st.composite
def _legacy(draw: st.DrawFn) -> str:
    name = pick(draw, _LEGACY)
    if draw(st.booleans()):
        return f"{name}({draw(made_by_numpy() | made_by_python())})"
    sizes = ", ".join(pick(draw, SIZES) for _ in range(draw(st.integers(1, 3))))
    fill = pick(draw, ("zero_()", "uniform_()", "normal_()", *[f"fill_({value})" for value in _VALUES]))
    return f"{name}({pick(draw, (sizes, sizes, '*x.shape', 'x.shape', 'x.size()'))}).{fill}"
