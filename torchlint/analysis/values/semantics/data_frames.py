"""Abstract semantics of pandas, scikit-learn, SciPy files and HDF5, as sources of ndarrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal
from torchlint.analysis.values.lattice import UNKNOWN, Kind, Value
from torchlint.knowledge import arrays as known

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values


def opened(node: cst.Call, name: str) -> Value | None:
    """Archives, sample data sets, and objects whose methods return arrays."""
    array = Value(Kind.NDARRAY, fresh=True, origin=node, source=name)
    if name == "scipy.io.loadmat":
        return Value(Kind.DICT, element=array, origin=node, source=name)
    if name == "h5py.File":
        return Value(Kind.INSTANCE, origin=node, source=name)
    if name.startswith(known.SAMPLE_DATASETS):
        if name.rpartition(".")[2].startswith("make_") or literal(keyword(node, "return_X_y")) is True:
            return Value(Kind.TUPLE, element=array, origin=node)
        return Value(Kind.INSTANCE, origin=node, source=name)
    made = any(name.startswith(prefix) for prefix in known.PRODUCERS)
    return Value(Kind.INSTANCE, origin=node, source=name) if made else None


def split(values: Values, node: cst.Call, name: str) -> Value:
    """``train_test_split`` returns two parts for each array."""
    members: list[Value] = []
    for arg in node.args:
        if arg.star:
            return UNKNOWN
        if arg.keyword is None:
            given = values.value(arg.value)
            kept = given.kind in (Kind.NDARRAY, Kind.FRAME, Kind.SERIES)
            part = given._replace(fresh=True, origin=node, source=name) if kept else UNKNOWN
            members += [part, part]
    return Value(Kind.TUPLE, elements=tuple(members), origin=node)


def from_pandas(base: Value, node: cst.CSTNode) -> Value:
    """The ndarray of a frame or series; pandas 3 returns it read-only."""
    rank = 1 if base.kind is Kind.SERIES else None
    return Value(Kind.NDARRAY, rank=rank, readonly=True, origin=node, source="pandas .values")


def part(base: Value, node: cst.Subscript) -> Value:
    """Indexing a frame or series: a frame or series, or unknown if it may be a single element."""
    sliced = any(isinstance(e.slice, cst.Slice) for e in node.slice)
    index = node.slice[0].slice
    listed = isinstance(index, cst.Index) and isinstance(index.value, (cst.List, cst.Comparison))
    plain = base._replace(literal=None)
    if base.kind is Kind.SERIES:
        return plain if sliced or listed else UNKNOWN
    if base.literal == "indexer":
        return plain if sliced or listed or len(node.slice) == 1 else UNKNOWN
    column = isinstance(index, cst.Index) and isinstance(literal(index.value), str)
    return plain._replace(kind=Kind.SERIES) if column else plain


def method(base: Value, node: cst.Call, name: str) -> Value:
    """The result of a method of a frame or series."""
    if name == "to_numpy":
        return from_pandas(base, node)
    return base if name in known.FRAME_METHODS else UNKNOWN


def produces(source: str, name: str) -> bool:
    """Whether an object from this source has a method with this name that returns an ndarray."""
    return any(source.startswith(prefix) and name in methods for prefix, methods in known.PRODUCERS.items())
