"""What the dispatch mode has to do for an operation, from its schema; determined once for each."""

from __future__ import annotations

from typing import Any

import torch

from torchlint.runtime.sim import events, operands

GENERAL, ALIAS, WRITE, READ, SPECIAL, COMPOSED, FOREIGN, HIGHER = range(8)
# Composed operations in which the host never waits, and which copy nothing. `reshape` and the like do, if they must,
# although their schemas say that the result shares the memory.
_SIMPLE = frozenset(
    "linear matmul einsum outer inner kron conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
    "batch_norm layer_norm group_norm instance_norm dropout dropout_ alpha_dropout feature_dropout softmax log_softmax "
    "cross_entropy_loss nll_loss nll_loss_nd cosine_similarity scaled_dot_product_attention embedding_bag "
    "max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d relu6 relu6_ selu "
    "selu_ log_sigmoid pixel_shuffle upsample_nearest2d upsample_bilinear2d pad square multiply subtract divide "
    "true_divide absolute negative clip std std_mean var_mean unflatten view_as type_as "
    "expand_as chunk split tensor_split unbind squeeze unsqueeze movedim swapaxes numpy_T mT mH adjoint "
    "concat concatenate vstack hstack dstack meshgrid tile broadcast_to broadcast_tensors narrow index_copy index_fill "
    "is_floating_point is_complex is_signed retains_grad requires_grad_ detach_ output_nr _version is_leaf "
    "_has_compatible_shallow_copy_type".split()
)
_ITEM = torch.ops.aten._local_scalar_dense.default


def kind_of(func: Any) -> int:
    """The kind of an operation.

    ``ALIAS``: one tensor, and every result shares its memory. ``WRITE``: results are operands, of which there are
    several. ``READ``: returns a number. ``SPECIAL``: all of the operands and arguments matter. ``COMPOSED``: it
    may consist of such operations, into which inference mode does not decompose it. ``FOREIGN``: a kernel for CUDA,
    written in Python. ``HIGHER``: takes functions. ``GENERAL``: the rest.
    """
    if isinstance(func, torch._ops.HigherOrderOperator):
        return HIGHER
    if func is _ITEM:
        return READ
    if func.namespace != "aten" and _written_for_cuda(func):
        return FOREIGN
    if _composed(func):
        return COMPOSED
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


def _composed(func: Any) -> bool:
    """Whether it only consists of other operations. Some have a kernel of their own beside that, with other bits."""
    if func._schema.name.partition("::")[2] in _SIMPLE:
        return False
    has, name = torch._C._dispatch_has_kernel_for_dispatch_key, func.name()
    return bool(has(name, "CompositeImplicitAutograd") and not has(name, "CPU"))


def _written_for_cuda(func: Any) -> bool:
    """Whether its kernel for CUDA is a Python function, such as that of ``torch.library.custom_op``."""
    name = f"{func._schema.name.replace('::', '/')}"
    overload = f".{func._overloadname}" if func._overloadname != "default" else ""
    return f"{name}{overload}/CUDA" in torch.library._impls


def _aliased(value: Any) -> bool:
    return value.alias_info is not None


def _in_place(schema: Any) -> bool:
    return any(argument.alias_info is not None and argument.alias_info.is_write for argument in schema.arguments)


def _holds_tensors(kind: Any) -> bool:
    return "Tensor" in str(kind)
