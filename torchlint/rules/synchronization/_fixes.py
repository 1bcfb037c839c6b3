"""Fixes of TL302, TL306 and TL307: one read instead of many, no ``synchronize``, and no checks of distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.repetition import COMPREHENSIONS
from torchlint.analysis.syntax.calls import method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import Kind
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.knowledge.synchronization import CHECKING_ANYWAY, PARAMETER_METHODS
from torchlint.model import Edit, Fix, Safety

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


_SYNCHRONIZE = ("torch.cuda.synchronize", "torch.accelerator.synchronize")
_NESTED = "elements with several numbers no longer raise an error, and a zero-dimensional tensor gives its only number"
_WAIT = "the host no longer waits here, on which a measurement or a reader of the memory out of sight may rely"
_UNCHECKED = "invalid parameters, and values outside of the support, no longer raise an error"
_SUM = "the sum is rounded in the tensor's dtype instead of float64, and all parameters must be on one device"


@or_none
def without_call(module: SourceModule, call: cst.BaseExpression) -> Fix:
    """Delete a call of ``torch.cuda.synchronize`` that is a statement."""
    if not isinstance(call, cst.Call) or module.qualified(call.func) not in _SYNCHRONIZE:
        raise Unfixable
    return Fix("delete the call", Safety.UNSAFE, (module.shared(Editor).delete_call(call),), _WAIT)


@or_none
def without_validation(module: SourceModule, call: cst.BaseExpression) -> Fix:
    """Pass ``validate_args=False`` to a distribution that hands it on."""
    name = module.qualified(call.func) if isinstance(call, cst.Call) else None
    if not isinstance(call, cst.Call) or not (name or "").startswith("torch.distributions."):
        raise Unfixable
    if (name or "").rpartition(".")[2] in CHECKING_ANYWAY:
        raise Unfixable
    edits = module.shared(Editor).add_argument(call, "validate_args=False")
    return Fix("pass `validate_args=False`", Safety.UNSAFE, edits, _UNCHECKED)


@or_none
def read_once(module: SourceModule, node: cst.BaseExpression) -> Fix:
    """Replace ``[v.item() for v in t]`` by ``t.tolist()``, or read a sum over parameters once, after the loop."""
    loops, _ = module.heat_analysis.enclosing_loops(node)
    if not loops or not isinstance(node, cst.Call) or len(module.followed.events_in(loops[0])) != 1:
        raise Unfixable
    loop, tensor = loops[0], receiver(node) or positional(node, 0)
    if tensor is None:
        raise Unfixable
    found = _Read(node, tensor, loop)
    return _sum_on_device(module, found) if _visits_parameters(module, found) else _read_as_list(module, found)


class _Read(NamedTuple):
    """A read of a tensor in a loop."""

    node: cst.Call
    tensor: cst.BaseExpression
    loop: cst.CSTNode


def _visits_parameters(module: SourceModule, read: _Read) -> bool:
    """Whether the loop goes through parameters, or the read is about a gradient."""
    over = read.loop.for_in.iter if isinstance(read.loop, COMPREHENSIONS) else getattr(read.loop, "iter", None)
    gradients = module.attributes_named("grad", read.node)
    return bool(gradients) or (over is not None and any(method(n) in PARAMETER_METHODS for n in descendants(over)))


def _read_as_list(module: SourceModule, read: _Read) -> Fix:
    loop = read.loop
    if not isinstance(loop, (cst.ListComp, cst.GeneratorExp)) or not _is_plain_read(loop, read):
        raise Unfixable
    editor = module.shared(Editor)
    tensor = module.value(loop.for_in.iter)
    if tensor.kind is not Kind.TENSOR or (isinstance(loop, cst.GeneratorExp) and not _is_consumed(module, loop)):
        raise Unfixable
    if not _gives_same_number(module, read.node, tensor.dtype):
        raise Unfixable
    flat = "" if tensor.rank == 1 else ".flatten()"
    edit = editor.replace_inside(loop, f"{editor.receiver(loop.for_in.iter)}{flat}.tolist()")
    return Fix("read the whole tensor once, with `.tolist()`", Safety.UNSAFE, (edit,), _NESTED)


def _is_plain_read(loop: cst.ListComp | cst.GeneratorExp, read: _Read) -> bool:
    """Whether a comprehension is ``v.item() for v in t``, without a condition or a second loop."""
    single = not loop.for_in.ifs and loop.for_in.inner_for_in is None and loop.for_in.asynchronous is None
    target = loop.for_in.target
    named = isinstance(target, cst.Name) and isinstance(read.tensor, cst.Name) and read.tensor.value == target.value
    return single and named and loop.elt is read.node


def _gives_same_number(module: SourceModule, call: cst.Call, dtype: str | None) -> bool:
    """Whether a read gives what ``tolist`` gives: ``float(v)`` does for float dtypes, ``int(v)`` for integer dtypes."""
    if method(call) == "item":
        return not call.args
    name = module.qualified(call.func)
    whole = dtype in ("int8", "int16", "int32", "int64", "uint8")
    return (name == "builtins.float" and (dtype or "").startswith(("float", "bfloat"))) or (
        name == "builtins.int" and whole
    )


def _is_consumed(module: SourceModule, loop: cst.GeneratorExp) -> bool:
    """Whether a generator is an argument of a function that consumes all of it, such as ``sum``."""
    call = module.call_with_argument(loop)
    whole = ("sum", "list", "tuple", "max", "min", "sorted", "set")
    return call is not None and module.qualified(call.func) in {f"builtins.{name}" for name in whole}


def _sum_on_device(module: SourceModule, read: _Read) -> Fix:
    """Add up the terms on the device, and read the sum once."""
    if method(read.node) != "item" or read.node.args:
        raise Unfixable
    editor = module.shared(Editor)
    attribute = read.node.func
    assert isinstance(attribute, cst.Attribute)
    kept = editor.replace_inside(attribute.attr, "detach")
    title = "add up on the device, and read the sum once"
    if isinstance(read.loop, cst.For):
        return Fix(title, Safety.UNSAFE, (kept, _read_after(module, read.loop, read)), _SUM)
    call = module.call_with_argument(read.loop)
    if call is None or module.qualified(call.func) != "builtins.sum" or len(call.args) != 1:
        raise Unfixable
    return Fix(title, Safety.UNSAFE, (kept, *editor.wrap(call, "float(", ")")), _SUM)


def _read_after(module: SourceModule, loop: cst.For, read: _Read) -> Edit:
    """Insert ``total = float(total)`` after the loop that contains ``total += p.norm().item() ** 2``."""
    statement = module.statement_of(read.node)
    if not isinstance(statement, cst.AugAssign) or not isinstance(statement.operator, cst.AddAssign):
        raise Unfixable
    if not isinstance(statement.target, cst.Name) or loop.orelse is not None:
        raise Unfixable
    name = statement.target.value
    others = [n for n in descendants(loop) if isinstance(n, cst.Name) and n.value in (name, "float")]
    if others != [statement.target] or any(isinstance(n, (cst.Return, cst.Break)) for n in descendants(loop)):
        raise Unfixable
    return module.shared(Editor).insert_after(loop, f"{name} = float({name})")
