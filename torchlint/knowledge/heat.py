"""What runs every step: loops over batches, methods that frameworks call, and what a step consists of."""

from __future__ import annotations

from torchlint.knowledge.screening import Trigger, guarded, in_word, whole
from torchlint.patterns import Pattern, is_looped

STEP_METHODS = frozenset({"backward", "manual_backward"})
# Methods that frameworks or loaders call for every batch or sample.
HOT_METHODS = frozenset(
    "forward training_step validation_step test_step predict_step compute_loss __getitem__ __next__ "
    "optimize_parameters".split()
)
HOT_FUNCTIONS = frozenset({"collate_fn", "collate", "collate_batch"})
LOADER_WORDS = ("loader", "loaders", "dataloader", "data_iter", "train_iter", "dataloaders", "prefetcher", "dl")
# Where none of these stands, no code goes through loaders: mixins and modules are none, and what `next` is given may be
# none.
_LOADERS: tuple[Trigger, ...] = (
    guarded(rb"oader(?!\w{0,80}Mixin\b|s?[ \t]{1,80}import\b)", b"oader"),
    b"OADER",
    in_word(rb"(?i:(?:data|train)_iter)", b"_iter", b"_Iter", b"_ITER"),
    guarded(
        rb"next[\s\\)]*\((?!\s*(?:iter\s*\(\s*)?[\w.]+\.(?:(?:named_)?(?:parameters|buffers|modules)|children|values|keys)\s*\("
        rb"|\s*\(?[^()\n]*(?:\([^()\n]*\)[^()\n]*)*\bfor\b)",
        b"next",
    ),
)
# What follows the name of what a loop goes through.
_LOOPED = rb"\w{0,80}[\s\\]*(?:[:,#)\]}]|(?:if|for|async)\b)"
# Files that go through loaders, or through what is mostly called like one, hold one of these.
FED: tuple[Trigger, ...] = (
    *_LOADERS,
    *(guarded(name + _LOOPED, name, before=is_looped) for name in (b"data", b"iter", b"batches")),
)
# Where none of these stands, no code makes a step or goes through batches.
STEPS: tuple[Trigger, ...] = (
    *_LOADERS,
    guarded(rb"backward[\s\\)]*\(", b"backward"),
    guarded(
        rb"step[\s\\)]*\(",
        *(b"ptim", b"OPTIM", b"opt_", b"Opt_", b"OPT_", b"olver", b"OLVER", b"caler", b"CALER"),
        whole(["opt", "Opt", "OPT"]),
    ),
    b"etcher",
    b"ETCHER",
    in_word(rb"[dD][lL]\b", b"dl", b"DL", b"Dl", b"dL"),
)
# The definitions of functions that run every step by their names.
HOT_NAMES = HOT_METHODS | HOT_FUNCTIONS
HOT_DEFINITION = Pattern(rf"def[\s\\]+(?:{'|'.join(sorted(HOT_NAMES))})\b")
HOT_DEFINITIONS = guarded(HOT_DEFINITION.source.encode(), whole(HOT_NAMES))
# What functions that make loaders are mostly called: `train_loader`, or `data` after such a beginning, `get_data`.
MAKER_VERBS = r"(?:load|get|create|make|build|setup|prepare|init)_"
OPTIMIZER_WORDS = ("optim", "opt_", "solver")
OPTIMIZER_NAMES = frozenset("opt scaler grad_scaler".split())
# Methods that wrap a loader and hand on its batches.
WRAPPING_METHODS = frozenset("log_every prepare items track wrap setup_dataloaders".split())
# Words of the names of functions that do one step and nothing else.
STEP_WORDS = frozenset("step update learn optimize optimise batch backward iteration".split())
NO_GRADIENTS = frozenset({"torch.no_grad", "torch.inference_mode"})
# Words of the names of functions that evaluate.
EVALUATION_WORDS = frozenset(
    "eval evaluate evaluation evaluator val valid validate validation test testing infer inference predict prediction "
    "predictions generate sample sampling demo extract embed visualize export detect bench benchmark".split()
)
