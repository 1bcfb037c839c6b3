"""Code that runs in every step: loops over batches, methods that frameworks call, and the calls that make a step."""

from __future__ import annotations

STEP_METHODS = frozenset(
    "backward manual_backward train_step training_step optimize_parameters train_batch train_on_batch".split()
)
# Methods that frameworks or loaders call for every batch or sample.
HOT_METHODS = frozenset(
    "forward training_step validation_step test_step predict_step compute_loss __getitem__ __next__ "
    "optimize_parameters".split()
)
HOT_FUNCTIONS = frozenset({"collate_fn", "collate", "collate_batch"})
LOADER_WORDS = ("loader", "loaders", "dataloader", "data_iter", "train_iter", "dataloaders", "prefetcher", "dl")
# Functions that run in every step, by name.
HOT_NAMES = HOT_METHODS | HOT_FUNCTIONS
# Names of functions that make loaders: `train_loader`, or a verb and `data`, as in `get_data`.
LOADER_MAKER = r"oader(?<!DataLoader)|\b(?:load|get|create|make|build|setup|prepare|init)_\w{0,80}data"
OPTIMIZER_WORDS = ("optim", "opt_", "solver")
OPTIMIZER_NAMES = frozenset("opt scaler grad_scaler".split())
# Methods that wrap a loader and yield its batches.
LOADER_WRAPPING_METHODS = frozenset("log_every prepare items track wrap setup_dataloaders".split())
# Words in names of functions that make one step.
STEP_WORDS = frozenset("step update learn optimize optimise batch backward iteration".split())
# Endings of the names of losses and optimizers, or of their bases: a trainer runs them in every step.
CRITERION_SUFFIXES = ("Loss", "Criterion", "Objective")
OPTIMIZER_SUFFIXES = ("Optimizer", "Optim")
NO_GRADIENTS = frozenset({"torch.no_grad", "torch.inference_mode"})
# Words in names of functions that evaluate.
EVALUATION_WORDS = frozenset(
    "eval evaluate evaluation evaluator val valid validate validation test testing infer inference predict prediction "
    "predictions generate sample sampling demo extract embed visualize export detect bench benchmark".split()
)
# Functions that compile a function or module, also as decorators.
COMPILERS = frozenset(
    "torch.compile torch.jit.script torch.jit.trace torch.jit.script_method torch.jit.script_if_tracing "
    "torch.jit.export torch._dynamo.optimize".split()
)
# Words for parts of models, of which there are few: a loop over their number is short.
PARTS = frozenset("layer level scale head block stage branch freq frequency group stack depth".split())
