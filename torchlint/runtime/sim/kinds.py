"""What the dispatch mode has to do for an operation, from its schema; determined once for each."""

from __future__ import annotations

from typing import Any

import torch

from torchlint.runtime.sim import events, operands

GENERAL, ALIAS, WRITE, READ, SPECIAL = range(5)
_ITEM = torch.ops.aten._local_scalar_dense.default


def kind_of(func: Any) -> int:
    """The kind of an operation.

    ``ALIAS``: one tensor, and every result shares its memory. ``WRITE``: results are operands, of which there are
    several. ``READ``: returns a number. ``SPECIAL``: all of the operands and arguments matter. ``GENERAL``: the rest.
    """
    if func is _ITEM:
        return READ
    schema = func._schema
    named = schema.name in operands.SPECIAL or schema.name in events.SPECIAL
    if named or torch.Tag.nondeterministic_seeded in func.tags:
        return SPECIAL
    names = {argument.name for argument in schema.arguments}
    if names & {"device", "generator"}:
        return GENERAL
    aliases = bool(schema.returns) and all(_aliased(returned) for returned in schema.returns)
    tensors = [argument for argument in schema.arguments if _holds_tensors(argument.type)]
    if not schema.name.startswith("aten::") or not (aliases or (not schema.returns and _in_place(schema))):
        return GENERAL
    return ALIAS if len(tensors) == 1 and str(tensors[0].type) == "Tensor" and aliases else WRITE


def _aliased(value: Any) -> bool:
    return value.alias_info is not None


def _in_place(schema: Any) -> bool:
    return any(argument.alias_info is not None and argument.alias_info.is_write for argument in schema.arguments)


def _holds_tensors(kind: Any) -> bool:
    return "Tensor" in str(kind)
