"""Needs that several rules and facts share and that identifiers alone would express too loosely.

Each pattern here saves more than searching for it costs; ``benchmarks/layers.py`` measures that. A comment or a
continued line in an unusual place can hide code from a pattern; identifiers cannot be hidden.
"""

from __future__ import annotations

import re

from torchlint.knowledge.following import CALLED_FOR_BATCHES, COLLATING
from torchlint.knowledge.heat import STEP_METHODS
from torchlint.knowledge.packages import FRAMEWORKS_OF_TORCH
from torchlint.knowledge.portability import (
    CUDA_PACKAGES,
    DEVICE_NAME,
    FRAMEWORKS,
    OTHER_ACCELERATORS,
    TORCH_LIBRARIES,
)
from torchlint.prefilter.needs import (
    Identifiers,
    Need,
    all_of,
    any_of,
    identifier_parts,
    identifiers,
    imported,
    of_library,
    text_pattern,
)

# A call of `to` without arguments or with only a dtype does not move anything to a device.
_DTYPE = r"[\w.]*dtype|dtype\s*=\s*[\w.]+|torch\.\w*(?:float|int|bool|half|double|long|short)\d*"
_POINT = r"\.[\s\\]*(?:#.{0,80}\n[\s\\]*)?"  # with blanks, and perhaps a comment
MOVE = text_pattern(
    rf"{_POINT}(?:cuda\b|copy_[\s\\]*\(|type_as[\s\\]*\(|type[\s\\]*\(|to[\s\\]*(?!\(\s*(?:{_DTYPE})?\s*\))\()",
    identifiers("cuda to copy_ type_as type"),
)
_DEVICES = identifier_parts("dev", "cuda", "gpu", "rank")
_DEVICE = rf"[^()]{{0,200}}?(?:(?i:dev|cuda|gpu|rank)|[\"'](?:cuda|{'|'.join(OTHER_ACCELERATORS)}))"
_VARIABLE = r"\s*(?!\w*dtype)\w+\s*[,)]"  # to which a device may have been assigned
# Something is moved to an accelerator. Matches every move that `analysis.values.semantics.device_evidence` recognizes.
ON_ACCELERATOR = any_of(
    of_library(["cuda"]),
    text_pattern(rf"{_POINT}to[\s\\]*\((?:{_DEVICE}|{_VARIABLE})", identifiers("to")),
    text_pattern(
        "|".join(map(re.escape, FRAMEWORKS)),
        identifier_parts(*(word.strip("(").rpartition(".")[2] for word in FRAMEWORKS)),
    ),
)
# The file may compute with tensors: it names PyTorch or a library that is built on it, or moves something to an
# accelerator, as a file may do with what others give it.
TORCH = any_of(identifiers(*sorted(TORCH_LIBRARIES | FRAMEWORKS_OF_TORCH)), ON_ACCELERATOR)
COLLATE = identifier_parts("collate")
# Names of loaders, and `next`.
LOADERS = any_of(identifier_parts("loader", "data_iter", "train_iter", "fetcher", "dl "), identifiers("next"))
# Some code in the file may make a training step or iterate over batches.
STEPS = any_of(
    LOADERS,
    identifiers(*STEP_METHODS),
    all_of(identifier_parts("scaler"), identifier_parts("optim", " opt ", "opt_", "solver")),
    all_of(identifiers("step"), identifier_parts("optim", " opt ", "opt_", "solver", "scaler")),
)
# The file computes gradients itself.
BACKWARD = of_library(["backward", "manual_backward"])
# The file computes gradients, or may read tensors.
COMPUTES = any_of(BACKWARD, all_of(TORCH, identifiers("item tolist")))
# Steps that a report should mention: those on an accelerator, or with a backward pass.
REPEATS_STEPS = all_of(STEPS, any_of(ON_ACCELERATOR, BACKWARD))
# Something may run in every step: a training step, or a function that frameworks call in every step.
HOT = any_of(STEPS, identifiers(*CALLED_FOR_BATCHES, *COLLATING))

# -- facts that need no parsing ------------------------------------------------------------------

SEEDS = any_of(
    *(
        text_pattern(source, identifier_parts("seed", "determinis", "rng_state"))
        for source in (
            r"(?<!\w)seed(?:_everything|_all_rng|_all|_worker|_torch)\s*\(",
            r"\b(?:manual_|(?:set|fix|init)_(?:all_|random_)?|setup_|random_|random\.)seed(?:_all|s)?\s*\(",
            r"\b(?:set|make|enable)_determinis(?:m|tic)\s*\(",
            r"\bset_rng_state(?:_all)?\s*\(",
        )
    )
)
CONFIGURES_CUDNN = any_of(
    text_pattern(r"cudnn\s*\.\s*(?:benchmark|deterministic|flags)", identifier_parts("cudnn")),
    identifier_parts("deterministic_algorithms"),
    text_pattern(r"[(,]\s*benchmark\s*=", identifiers("benchmark")),
)
CONVOLVES = identifiers("Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d")

# -- default devices and dtypes ------------------------------------------------------------------

_TYPE, _EMPTY = "set_default_tensor_type", "init_empty_weights"
# Framework functions that construct modules on another device or in another dtype.
_CONSTRUCTING = ("init_module", "init_tensor", "init_on_device", "OnDevice", _EMPTY)
# `with torch.device(..)` and `with device`, also as a later item; `torch.cuda.device` only selects the current GPU.
_ITEM = r"[\w.]{1,80}(?:\([^()\n]{0,80}\))?\s{0,80},\s{0,80}"
_SCOPED = r"(?:\w{1,80}\.){0,5}(?<!cuda\.)(?:device|DEVICE)[ \t]*(?:[(:,)]|as\b)"
SETS_TYPE = identifiers(_TYPE)
SETS_DEVICE = any_of(
    identifiers("set_default_device", "DeviceContext", _TYPE, *_CONSTRUCTING),
    text_pattern(rf"with[ \t(]\s{{0,80}}\(?(?:{_ITEM}){{0,4}}{_SCOPED}", identifiers("device DEVICE")),
    text_pattern(r"enter_context[ \t]*\([^\n]{0,200}device\b", identifiers("enter_context")),
    text_pattern(r"nullcontext\b[^\n]{0,200}device\b", identifiers("nullcontext")),
    text_pattern(r"device\([^\n]{0,200}nullcontext\b", identifiers("nullcontext")),
    text_pattern(r"@(?:torch\.)?device\(", identifiers("device")),
)
SETS_DTYPE = identifiers("set_default_dtype", "set_default_torch_dtype", _TYPE, *_CONSTRUCTING)
# The file defines classes whose instances are tensors, or act as such, and may have methods of their own; or it
# changes, intercepts or traces what the functions of torch and NumPy do.
_TENSOR_BASES = "Tensor Parameter Buffer ndarray"
_OWNER = r"(?:torch|th|numpy|np)(?:\.Tensor)?"
REDEFINES = any_of(
    identifiers("__torch_function__ __torch_dispatch__ __array_function__ as_subclass _make_subclass"),
    identifiers("_make_wrapper_subclass TorchFunctionMode TorchDispatchMode FakeTensorMode"),
    identifiers("symbolic_trace make_fx"),
    text_pattern(
        r"class[ \t]{1,80}\w{1,80}(?:\[[^]()]{0,80}\])?[ \t]{0,80}\([^()]{0,200}"
        rf"\b(?:{_TENSOR_BASES.replace(' ', '|')})\b",
        identifiers(_TENSOR_BASES),
    ),
    text_pattern(rf"(?m)^[ \t]*{_OWNER}\.\w+[ \t]*=[^=]", identifiers("torch numpy")),
    text_pattern(rf"setattr\(\s*{_OWNER}\s*,", identifiers("setattr")),
    text_pattern(r"(?<!getattr)(?<!hasattr)\(torch,", identifiers("torch")),
    text_pattern(rf"\bin [\[(]{_OWNER},", identifiers("torch numpy")),
    text_pattern(rf"getattr\({_OWNER},[^)\n]{{0,80}}set_", identifiers("getattr")),
    text_pattern(rf"patch(?:\.object)?\(\s*[\"']?{_OWNER}(?:\s*,|\.\w+[\"'])", identifiers("patch")),
)
# The file defines a method that moves objects of its own.
OWN_MOVES = text_pattern(r"[ \t]def[\s\\]+(?:to|cuda|copy_)\b", identifiers("to cuda copy_"))
# The program chooses how float32 is computed, or computes in another dtype.
SETS_PRECISION = any_of(
    of_library("half bfloat16 float16 double".split()),
    identifier_parts(
        *"fp16 bf16 tf32 autocast gradscaler matmul_precision fp32_precision deepspeed accelerat apex".split()
    ),
)
# The file multiplies matrices in operations that cuDNN's convolutions are no part of.
MULTIPLIES = of_library(
    "MultiheadAttention Transformer TransformerEncoder TransformerEncoderLayer TransformerDecoder "
    "TransformerDecoderLayer matmul bmm baddbmm einsum scaled_dot_product_attention".split()
)
# The meta device is the default: tensors created there cannot be moved.
META = any_of(
    identifiers(_EMPTY),
    text_pattern(r"(?:with|enter_context|set_default_device)\b[^\n]{0,200}[\"']meta[\"']", identifiers("meta")),
)

# -- files that must be parsed for the facts that other files need --------------------------------

# Top-level functions whose names say that they return a device.
_DEFINES_DEVICE = text_pattern(rf"def(?:(?<![ \t]def)|(?<=async def))[\s\\]+\w{{0,80}}?{DEVICE_NAME}", _DEVICES)
_VARIES = any_of(
    identifiers("pad_sequence pack_sequence"),
    COLLATE,
    all_of(identifiers("torchvision"), of_library(["Resize", "detection"])),
    all_of(identifiers("interpolate"), identifiers("choice randint randrange")),
)
HAS_PROJECT_FACTS = any_of(
    all_of(
        TORCH,
        any_of(
            identifier_parts("cudnn", "deterministic_algorithms"),
            _VARIES,
            _DEFINES_DEVICE,
            OWN_MOVES,
            identifiers("cuda is_available init_process_group cpp_extension"),
        ),
    ),
    imported(CUDA_PACKAGES),
    all_of(identifiers("Trainer Fabric"), identifiers("benchmark deterministic")),
    REPEATS_STEPS,
)


def seen(form: str) -> Need:
    """That following the programs has seen a form in the file, which is nothing to search for in its text."""
    return Identifiers(frozenset({f"seen: {form}".encode()}))
