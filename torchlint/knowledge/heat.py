"""Code that runs in every step: loops over batches, methods that frameworks call, and the calls that make a step."""

from __future__ import annotations

STEP_METHODS = frozenset(
    "backward manual_backward train_step training_step optimize_parameters train_batch train_on_batch".split()
)
# Methods that frameworks call for every batch of an evaluation.
EVALUATION_STEPS = frozenset("validation_step test_step predict_step".split())
# Methods that frameworks or loaders call for every batch or sample.
HOT_METHODS = frozenset(
    "forward training_step validation_step test_step predict_step compute_loss __getitem__ __next__ "
    "optimize_parameters".split()
)
HOT_FUNCTIONS = frozenset({"collate_fn", "collate", "collate_batch"})
LOADER_WORDS = ("loader", "loaders", "dataloader", "data_iter", "train_iter", "dataloaders", "prefetcher", "dl")
# Functions that run in every step, by name.
HOT_NAMES = HOT_METHODS | HOT_FUNCTIONS
OPTIMIZER_WORDS = ("optim", "opt_", "solver")
OPTIMIZER_NAMES = frozenset("opt scaler grad_scaler".split())
# Methods that wrap a loader and yield its batches.
LOADER_WRAPPING_METHODS = frozenset("log_every prepare items track wrap setup_dataloaders".split())
# Words in names of functions that make one step.
STEP_WORDS = frozenset("step update learn optimize optimize batch backward iteration".split())
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
# Objects that stay the same from step to step, by the names of attributes and variables.
KEPT_NAMES = frozenset("cache _cache caches memo param_groups __dict__".split())
# Methods and functions whose results are parts of what they are called on: kept as long as that.
PART_METHODS = frozenset(
    "setdefault get items values keys parameters named_parameters modules named_modules children named_children "
    "buffers named_buffers".split()
)
PART_FUNCTIONS = frozenset(
    f"builtins.{name}" for name in "enumerate zip list tuple reversed sorted getattr vars".split()
)
# Methods that return lengths.
LENGTH_METHODS = frozenset("size numel nelement dim".split())
# Methods that store in containers, or set attributes, and those that remove from containers.
FILLING_METHODS = frozenset("add append appendleft extend insert setdefault".split())
REGISTERING = frozenset("register_buffer register_parameter add_module __setattr__".split())
EMPTYING_METHODS = frozenset("clear pop popitem popleft remove discard __delitem__".split())
# Parts of the names of functions that fill what they get.
FILLING_WORDS = ("init", "setup", "allocate", "create_state", "fill")
# Methods that run before the steps.
PREPARING_METHODS = frozenset("__init__ __post_init__ __new__ __setstate__ setup reset_parameters".split())
