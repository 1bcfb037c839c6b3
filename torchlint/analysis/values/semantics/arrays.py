"""Abstract semantics of NumPy and similar libraries: calls, methods, attributes, indexing and operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import argument, keyword, literal, positional
from torchlint.analysis.values.lattice import SCALAR, UNKNOWN, Kind, Value, row
from torchlint.analysis.values.semantics import data_frames as frames
from torchlint.analysis.values.semantics import memory
from torchlint.analysis.values.semantics.dtypes import dtype_of
from torchlint.knowledge import arrays as known

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values

# Functions whose result has the dtype and rank of their argument.
_NUMPY_COPIES = frozenset(
    f"numpy.{name}"
    for name in "array asarray ascontiguousarray asfortranarray asanyarray transpose flip fliplr flipud rot90 moveaxis "
    "swapaxes triu tril pad roll".split()
)


def call(values: Values, node: cst.Call, name: str) -> Value | None:
    """The result of a call of a NumPy-like function, given its qualified name; None for other functions."""
    kind = name.removeprefix("numpy.")
    if kind in known.SCALAR_TYPES and name != kind:
        return _cast(values, node, name, kind)
    made = _called(values, node, name)
    if made is None:
        return None
    if root_of(name) == "numpy":
        return memory.owned(made, memory.allocates(node, name) or _is_array_of_list(values, node, name))
    return memory.owned(made, fresh=False) if memory.may_be_filled(node) else made


def _is_array_of_list(values: Values, node: cst.Call, name: str) -> bool:
    """Whether a call makes an array of a list or tuple, whose elements it has to copy: ``np.asarray([1, 2])``."""
    if name not in known.CONVERTERS or any(arg.star for arg in node.args) or keyword(node, "like") is not None:
        return False
    return values.value(positional(node, 0)).kind in (Kind.LIST, Kind.TUPLE)


def _cast(values: Values, node: cst.Call, name: str, kind: str) -> Value:
    """``np.float32(a)``: the same array if it has that dtype; otherwise, or for other data, something new."""
    given = positional(node, 0)
    first = values.value(given)
    if first.kind is not Kind.NDARRAY:
        return Value(Kind.NUMPY_SCALAR, dtype=kind) if first.kind is Kind.SCALAR else UNKNOWN
    converts = first.dtype is not None and first.dtype != known.SCALAR_TYPES[kind]
    fresh = converts or (first.fresh and first.origin is given)
    made = first._replace(dtype=known.SCALAR_TYPES[kind], fresh=fresh, origin=node, source=name)
    return made._replace(readonly=False, unshareable=False) if converts else made


def _called(values: Values, node: cst.Call, name: str) -> Value | None:
    fact = known.ARRAYS.get(name)
    if fact is not None:
        several = name == "numpy.unique" and any(a.keyword and a.keyword.value.startswith("return_") for a in node.args)
        made = _made(values, node, name, fact)
        return Value(Kind.TUPLE, element=made, origin=node) if several else made
    if name in known.TUPLES:
        members = tuple(_plain(f, node, name) if f else UNKNOWN for f in known.TUPLES[name])
        return Value(Kind.TUPLE, elements=members, origin=node)
    if name in known.ARRAY_LISTS:
        element = Value(Kind.NDARRAY, fresh=True, origin=node, source=name)
        return Value(Kind.LIST, element=element, origin=node)
    root, _, last = name.rpartition(".")
    if root == "numpy.random":
        return _random(values, node, name, last)
    if root in ("numpy", "numpy.linalg"):
        return _numpy(values, node, name, last)
    if name in known.FRAMES or name in known.SERIES:
        return Value(Kind.SERIES if name in known.SERIES else Kind.FRAME, origin=node, source=name)
    if name == "PIL.Image.open":
        return Value(Kind.IMAGE, origin=node, source=name)
    if name in known.SPLITTERS:
        return frames.split(values, node, name)
    return frames.opened(node, name)


def _plain(fact: known.ArrayFact, node: cst.Call, name: str) -> Value:
    return Value(
        Kind.NDARRAY,
        dtype=fact.dtype,
        rank=fact.rank,
        fresh=_is_new(fact, node, name),
        readonly=fact.readonly,
        unshareable=fact.unshareable,
        origin=node,
        source=name,
    )


def _is_new(fact: known.ArrayFact, node: cst.Call, name: str) -> bool:
    if root_of(name) == "numpy":
        return memory.allocates(node, name)
    return fact.fresh and (fact.destination is None or positional(node, fact.destination) is None)


def _made(values: Values, node: cst.Call, name: str, fact: known.ArrayFact) -> Value:
    value = _plain(fact, node, name)
    first = values.value(positional(node, 0))
    last = name.rpartition(".")[2]
    if name in _NUMPY_COPIES and first.kind is Kind.NDARRAY:
        shared = value.unshareable or (first.unshareable and not value.fresh)
        value = value._replace(dtype=first.dtype, rank=first.rank, readonly=first.readonly, unshareable=shared)
    elif (
        first.kind in (Kind.LIST, Kind.TUPLE)
        and first.iterated_value().kind is Kind.NDARRAY
        and root_of(name) == "numpy"
    ):
        value = value._replace(dtype=first.iterated_value().dtype)
    if name == "numpy.array":
        value = _array_of(value, first)
    elif name in ("numpy.asarray", "numpy.ascontiguousarray"):
        value = _viewed(value, first)
    elif name == "numpy.load" and keyword(node, "mmap_mode") is not None:
        value = value._replace(fresh=False, unshareable=True)
    if value.rank is None and last in ("zeros", "ones", "empty", "full"):
        value = value._replace(rank=_shape_rank(values, argument(node, "shape", 0)))
    return _typed(values, node, value, fact)


def root_of(name: str) -> str:
    """The root package of a qualified name."""
    return name.partition(".")[0]


def _array_of(value: Value, first: Value) -> Value:
    """``np.array(..)`` of a list display: its rank, and whether torch supports such elements."""
    odd = any(e.kind in (Kind.STRING, Kind.NONE) for e in first.elements or ())
    kept = not value.fresh
    odd = odd or (kept and first.unshareable)
    return value._replace(rank=value.rank or _nesting(first), readonly=kept and first.readonly, unshareable=odd)


def _typed(values: Values, node: cst.Call, value: Value, fact: known.ArrayFact) -> Value:
    """Apply the ``dtype`` argument; an array of a dtype that torch lacks cannot share memory with a tensor."""
    dtype = keyword(node, "dtype")
    if dtype is None and fact.position is not None:
        dtype = positional(node, fact.position)
    if dtype is None or literal(dtype) is None:
        return value
    named = dtype_of(values, dtype)
    exotic = named is None and (isinstance(literal(dtype), str) or _is_object(values, dtype))
    return value._replace(dtype=named, unshareable=value.unshareable or exotic)


def _is_object(values: Values, node: cst.CSTNode) -> bool:
    return values.code.qualified(node) in ("builtins.object", "builtins.str", "numpy.object_", "numpy.str_")


def _viewed(value: Value, first: Value) -> Value:
    """``np.asarray``: new memory for a list, read-only for an image, the same array for an array."""
    if first.kind in (Kind.LIST, Kind.TUPLE):
        return value._replace(rank=_nesting(first))
    if first.kind is Kind.IMAGE:
        return value._replace(unshareable=True, dtype="uint8")
    return value


def _shape_rank(values: Values, shape: cst.BaseExpression | None) -> int | None:
    """The number of dimensions of a literal shape."""
    if isinstance(shape, (cst.Tuple, cst.List)):
        starred = any(isinstance(e, cst.StarredElement) for e in shape.elements)
        return None if starred else len(shape.elements)
    return 1 if values.value(shape).kind is Kind.SCALAR else None


def _nesting(value: Value) -> int | None:
    """The rank of the array for a nested list of numbers."""
    if value.kind not in (Kind.LIST, Kind.TUPLE) or not value.elements:
        return None
    if all(e.kind in (Kind.SCALAR, Kind.NUMPY_SCALAR) for e in value.elements):
        return 1
    inner = {_nesting(e) for e in value.elements}
    depth = inner.pop()
    return depth + 1 if not inner and depth is not None else None


def _random(values: Values, node: cst.Call, name: str, last: str) -> Value | None:
    if last in ("default_rng", "RandomState"):
        return Value(Kind.GENERATOR, origin=node, source=name)
    return _drawn(values, node, name, last)


def _drawn(values: Values, node: cst.Call, name: str, last: str) -> Value | None:
    """Random functions return arrays only if a size is passed."""
    position = known.RANDOM_SIZE.get(last)
    if position is None:
        return None
    size = argument(node, "size", position)
    if size is None:
        return Value(Kind.NUMPY_SCALAR) if not any(a.star for a in node.args) else UNKNOWN
    dtype = "int64" if last in known.RANDOM_INTEGER else "float64"
    if last in known.RANDOM_UNKNOWN_DTYPE or keyword(node, "dtype") is not None:
        dtype = ""
    rank = len(node.args) if last in ("rand", "randn") else _shape_rank(values, size)
    return Value(Kind.NDARRAY, dtype=dtype or None, rank=rank, fresh=True, origin=node, source=name)


def _numpy(values: Values, node: cst.Call, name: str, last: str) -> Value | None:
    operands = [values.value(a.value) for a in node.args if a.keyword is None and not a.star]
    if name == "numpy.where" and len(node.args) == 1:
        return Value(Kind.TUPLE, element=Value(Kind.NDARRAY, fresh=True, origin=node, source=name), origin=node)
    if last in known.ELEMENTWISE and any(o.kind is Kind.NDARRAY for o in operands):
        return Value(Kind.NDARRAY, rank=_common_rank(operands), origin=node, source=name)
    if last in known.ELEMENTWISE and operands and all(o.kind in (Kind.SCALAR, Kind.NUMPY_SCALAR) for o in operands):
        return Value(Kind.NUMPY_SCALAR)
    if last in known.REDUCTIONS and operands and operands[0].kind is Kind.NDARRAY:
        return _reduced(operands[0], node, argument(node, "axis", 1), name)
    return None


def _common_rank(operands: list[Value]) -> int | None:
    ranks = {o.rank for o in operands if o.kind is Kind.NDARRAY}
    return ranks.pop() if len(ranks) == 1 else None


def _reduced(array: Value, node: cst.Call, axis: cst.BaseExpression | None, name: str) -> Value:
    """A reduction returns a scalar without an axis; with one, an array if dimensions remain."""
    if axis is None or literal(axis) is None:
        return Value(Kind.NUMPY_SCALAR, dtype=array.dtype)
    if literal(keyword(node, "keepdims")) is True:
        return array._replace(fresh=True, dtype=None, origin=node, source=name)
    rank = array.rank - 1 if array.rank is not None and isinstance(literal(axis), int) else None
    if rank is None or rank < 1:
        return Value(Kind.NUMPY_SCALAR) if rank == 0 else UNKNOWN
    return Value(Kind.NDARRAY, rank=rank, fresh=True, origin=node, source=name)


def attribute(base: Value, node: cst.Attribute) -> Value | None:
    """The value of an attribute: ``a.T``, ``df.values``, ``df["x"].str``."""
    name = node.attr.value
    if base.kind is Kind.NDARRAY:
        if name in known.ATTRIBUTES_VIEW:
            return base._replace(fresh=False)
        if name == "shape":
            return Value(Kind.TUPLE, element=SCALAR, origin=node)
        return SCALAR if name in ("size", "ndim", "itemsize", "nbytes") else UNKNOWN
    if base.kind in (Kind.FRAME, Kind.SERIES):
        if name == "values":
            return frames.from_pandas(base, node)
        return base._replace(literal="indexer") if name in ("iloc", "loc") else UNKNOWN
    if base.kind is Kind.INSTANCE and (base.source or "").startswith(known.SAMPLE_DATASETS):
        return Value(Kind.NDARRAY, fresh=False, origin=node, source=base.source) if name in ("data", "target") else None
    return None


def method(values: Values, base: Value, node: cst.Call) -> Value | None:
    """The result of a method call on an ndarray, frame, image or generator; None for other receivers."""
    assert isinstance(node.func, cst.Attribute)
    name = node.func.attr.value
    made = _method(values, base, node, name)
    if made is None or base.kind not in (Kind.NDARRAY, Kind.GENERATOR):
        return memory.owned(made, fresh=False) if made is not None and memory.may_be_filled(node) else made
    if base.kind is Kind.NDARRAY:
        return memory.owned(made, memory.allocates(node, f"numpy.ndarray.{name}"))
    owners = ("Generator", "RandomState") if base.source is None else (_GENERATORS.get(base.source, ""),)
    return memory.owned(made, all(memory.allocates(node, f"numpy.random.{owner}.{name}") for owner in owners))


def _method(values: Values, base: Value, node: cst.Call, name: str) -> Value | None:
    if base.kind is Kind.NDARRAY:
        return _array_method(values, base, node, name)
    if base.kind in (Kind.FRAME, Kind.SERIES):
        return frames.method(base, node, name)
    if base.kind is Kind.GENERATOR:
        return _drawn(values, node, f"Generator.{name}", name) or UNKNOWN
    if base.kind is Kind.INSTANCE and base.source and frames.produces(base.source, name):
        return Value(Kind.NDARRAY, fresh=True, origin=node, source=f"{base.source}.{name}")
    if base.kind is Kind.IMAGE:
        return base if name in ("convert", "resize", "crop", "rotate", "transpose") else UNKNOWN
    if name == "to_numpy":
        return Value(Kind.NDARRAY, readonly=True, origin=node, source=".to_numpy()")
    return None


def _array_method(values: Values, base: Value, node: cst.Call, name: str) -> Value:
    made = base._replace(origin=node, source=base.source)
    if name == "astype":
        target = argument(node, "dtype", 0)
        dtype = dtype_of(values, target) if target is not None else None
        kept = not memory.allocates(node, "numpy.ndarray.astype")
        return made._replace(dtype=dtype, readonly=base.readonly and kept, unshareable=base.unshareable and kept)
    if name in known.METHODS_NEW:
        rank = 1 if name == "flatten" else base.rank
        kept = not memory.allocates(node, f"numpy.ndarray.{name}")
        return made._replace(
            readonly=base.readonly and kept,
            unshareable=base.unshareable and kept,
            rank=rank if name in ("copy", "flatten", "clip") else None,
        )
    if name in known.METHODS_VIEW:
        return made._replace(rank=base.rank if name in ("view", "byteswap", "round") else _reshaped(node, name))
    if name in known.REDUCTIONS:
        return _reduced(base, node, argument(node, "axis", 0), f".{name}()")
    if name == "tolist":
        return Value(Kind.LIST, origin=node, fresh=True)
    return SCALAR if name == "item" else UNKNOWN


def _reshaped(node: cst.Call, name: str) -> int | None:
    if name == "ravel":
        return 1
    if name == "reshape" and node.args and all(a.keyword is None and not a.star for a in node.args):
        shape = node.args[0].value
        if len(node.args) == 1:
            return len(shape.elements) if isinstance(shape, cst.Tuple) else None
        return len(node.args)
    return None


def subscript(values: Values, base: Value, node: cst.Subscript) -> Value | None:
    """The result of indexing an array or frame; None for other bases."""
    if base.kind is Kind.NDARRAY:
        return _indexed(values, base, node)
    if base.kind in (Kind.FRAME, Kind.SERIES):
        return frames.part(base, node)
    if base.kind is Kind.INSTANCE and base.source == "h5py.File":
        return base._replace(source="h5py.Dataset")
    if base.kind is Kind.INSTANCE and base.source == "h5py.Dataset":
        sliced = any(isinstance(e.slice, cst.Slice) for e in node.slice)
        return Value(Kind.NDARRAY, fresh=True, origin=node, source="h5py.Dataset") if sliced else UNKNOWN
    return None


def _indexed(values: Values, base: Value, node: cst.Subscript) -> Value:
    """Indexing an array: slices are views, integers remove a dimension; a string selects from an ``.npz`` archive."""
    removed = 0
    parts = [element.slice for element in node.slice]
    if any(isinstance(p, cst.Slice) and _goes_back(p) for p in parts):
        base = base._replace(unshareable=True)
    for item in parts:
        if isinstance(item, cst.Slice) or (isinstance(item, cst.Index) and isinstance(item.value, cst.Ellipsis)):
            continue
        if not isinstance(item, cst.Index):
            return UNKNOWN
        index = values.value(item.value)
        if index.kind is Kind.NONE:
            removed -= 1
        elif index.kind in (Kind.NDARRAY, Kind.LIST):
            return base._replace(fresh=True, rank=None, unshareable=False, origin=node)
        elif isinstance(literal(item.value), str) and base.source == "numpy.load":
            return base._replace(fresh=True, rank=None, origin=node)
        elif index.kind in (Kind.SCALAR, Kind.NUMPY_SCALAR):
            removed += 1
        else:
            return _row_at_best(base, node)
    return _dropped(base, node, removed)


def _goes_back(part: cst.Slice) -> bool:
    step = literal(part.step) if part.step is not None else 1
    return isinstance(step, int) and step < 0


def _row_at_best(base: Value, node: cst.Subscript) -> Value:
    """An index of unknown kind removes at most one dimension; with a slice, the result is an array."""
    sliced = any(isinstance(e.slice, cst.Slice) for e in node.slice)
    if sliced or (base.rank is not None and base.rank > len(node.slice)):
        return base._replace(rank=None, fresh=False)
    return UNKNOWN


def _dropped(base: Value, node: cst.Subscript, removed: int) -> Value:
    if removed == 0:
        return base._replace(fresh=False)
    if base.rank is None:
        sliced = any(isinstance(e.slice, cst.Slice) for e in node.slice)
        return base._replace(fresh=False) if sliced else UNKNOWN
    if removed < 0:
        return base._replace(rank=base.rank - removed, fresh=False)
    value = base
    for _ in range(removed):
        value = row(value)
    return value


def combined(left: Value, right: Value, node: cst.CSTNode) -> Value | None:
    """The result of an operator with an ndarray on one side and an array or number on the other."""
    kinds = {left.kind, right.kind}
    if Kind.NDARRAY not in kinds or not kinds <= _OPERANDS:
        return None
    ranks = {v.rank for v in (left, right) if v.kind is Kind.NDARRAY}
    rank = ranks.pop() if len(ranks) == 1 else None
    return Value(Kind.NDARRAY, rank=rank, fresh=True, origin=node, source=left.source or right.source)


_GENERATORS = {"numpy.random.default_rng": "Generator", "numpy.random.RandomState": "RandomState"}
_OPERANDS = {Kind.NDARRAY, Kind.SCALAR, Kind.NUMPY_SCALAR, Kind.LIST}
