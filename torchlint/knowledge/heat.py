"""Code that runs in every step: loops over batches, methods that frameworks call, and the calls that make a step."""

from __future__ import annotations

STEP_METHODS = frozenset(
    "backward manual_backward train_step training_step optimize_parameters train_batch train_on_batch".split()
)
OPTIMIZER_WORDS = ("optim", "opt_", "solver")
OPTIMIZER_NAMES = frozenset("opt scaler grad_scaler".split())
NO_GRADIENTS = frozenset({"torch.no_grad", "torch.inference_mode"})
# Functions that compile a function or module, also as decorators.
COMPILERS = frozenset(
    "torch.compile torch.jit.script torch.jit.trace torch.jit.script_method torch.jit.script_if_tracing "
    "torch.jit.export torch._dynamo.optimize".split()
)
