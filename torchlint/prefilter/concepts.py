"""Needs that several rules and facts share and that identifiers alone would express too loosely.

Each pattern here saves more than searching for it costs; ``benchmarks/layers.py`` measures that. A comment or a
continued line in an unusual place can hide code from a pattern; identifiers cannot be hidden.
"""

from __future__ import annotations

from torchlint.knowledge.heat import HOT_NAMES, MAKER_VERBS
from torchlint.knowledge.portability import CUDA_EXIT_CHECK, CUDA_PACKAGES, DEVICE_NAME
from torchlint.knowledge.transfers import FRAMEWORKS, OTHER_ACCELERATORS
from torchlint.prefilter.needs import (
    all_of,
    any_of,
    identifier_parts,
    identifier_pattern,
    identifiers,
    imported,
    of_library,
    text_pattern,
)

TORCH = identifiers("torch")
# A call of `to` without arguments or with only a dtype does not move anything to a device.
_DTYPE = r"[\w.]*dtype|dtype\s*=\s*[\w.]+|torch\.\w*(?:float|int|bool|half|double|long|short)\d*"
MOVE = text_pattern(
    rf"\.[\s\\]*(?:cuda\b|type_as[\s\\]*\(|type[\s\\]*\(|to[\s\\]*(?!\(\s*(?:{_DTYPE})?\s*\))\()",
    identifiers("cuda to type_as type"),
)
_DEVICES = identifier_parts("dev", "cuda", "gpu", "rank")
_QUOTED = rf"[\"'](?:cuda|{'|'.join(OTHER_ACCELERATORS)})"
# A device is assigned to a variable whose name does not say that it is a device.
_KEPT_DEVICE = text_pattern(
    r"(?:(?m:^)|[;:])[ \t]*(?!\w{0,80}(?i:dev|cuda|gpu|rank))\w{1,80}[ \t]*(?::[^=\r\n]{0,80})?=(?!=)"
    rf"(?:[ \t]*[(\\][ \t]*\r?\n)?[^\r\n]{{0,300}}?(?:\.[ \t]*device\b|device[ \t]*\(|{_QUOTED})",
    identifier_parts("device", "cuda", *OTHER_ACCELERATORS),
)
# Something is moved to an accelerator. Matches every move that `analysis.values.device_evidence` recognizes.
ON_ACCELERATOR = any_of(
    of_library(["cuda"]),
    text_pattern(
        rf"\.[\s\\]*to[\s\\]*\([^()]{{0,200}}?(?:(?i:dev|cuda|gpu|rank)|{_QUOTED})",
        all_of(identifiers("to"), any_of(_DEVICES, identifier_parts(*OTHER_ACCELERATORS))),
    ),
    all_of(text_pattern(r"\.[\s\\]*to[\s\\]*\(", identifiers("to")), _KEPT_DEVICE),
    *(
        text_pattern(word.replace("(", r"\("), identifier_parts(word.strip("(").rpartition(".")[2]))
        for word in FRAMEWORKS
    ),
)
COLLATE = identifier_parts("collate")
_NO_BATCH = r"(?:(?:named_)?(?:parameters|buffers|modules)|children|values|keys)"
_GENERATOR = r"\s*\(?[^()\n]{0,200}(?:\([^()\n]{0,200}\)[^()\n]{0,200}){0,9}\bfor\b"
# Names like those of `knowledge.heat.LOADER_WORDS`, and `next`.
LOADERS = any_of(
    identifier_pattern(r"(?i)loader(?!\w{0,80}mixin\b)|(?:data|train)_iter"),
    # `next` of something that may be a loader, but not of parameters or of a generator expression.
    text_pattern(
        rf"\bnext[\s\\)]*\((?!\s*(?:iter\s*\(\s*)?[\w.]+\.{_NO_BATCH}\s*\(|{_GENERATOR})",
        identifiers("next"),
    ),
    identifier_parts("fetcher", "dl "),
)
# The file iterates over loaders, or over something that is usually named like one.
ITERATES_BATCHES = any_of(
    LOADERS,
    text_pattern(
        r"\bin\b[^:]{0,200}?(?:data|iter|batches)\w{0,80}[\s\\]{0,40}(?:[:,#)\]}]|(?:if|for|async)\b)",
        identifier_parts("data", "iter", "batches"),
    ),
)
# Some code in the file may make a training step or iterate over batches.
STEPS = any_of(
    LOADERS,
    identifiers("backward manual_backward"),
    all_of(identifiers("step"), identifier_parts("optim", " opt ", "opt_", "solver", "scaler")),
)
# The file defines a function that frameworks call in every step.
HOT_DEFINITION = text_pattern(rf"\bdef[\s\\]+(?:{'|'.join(sorted(HOT_NAMES))})\b", identifiers(*HOT_NAMES))
# Something may run in every step.
HOT = any_of(STEPS, HOT_DEFINITION)

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
# The meta device is the default: tensors created there cannot be moved.
META = any_of(
    identifiers(_EMPTY),
    text_pattern(r"(?:with|enter_context|set_default_device)\b[^\n]{0,200}[\"']meta[\"']", identifiers("meta")),
)

# -- files that must be parsed for the facts that other files need --------------------------------

# Top-level functions whose names say that they return a device.
_DEFINES_DEVICE = any_of(
    text_pattern(rf"def(?<![ \t]def)[\s\\]+\w{{0,80}}?{DEVICE_NAME}", _DEVICES),
    text_pattern(rf"async[\s\\]+def[\s\\]+\w{{0,80}}?{DEVICE_NAME}", all_of(identifier_parts("async"), _DEVICES)),
)
_NEEDS_CUDA = any_of(
    identifiers("init_process_group cpp_extension"),
    text_pattern(
        r"cuda[ \t]*\.[ \t]*(?:Stream|CUDAGraph|graph|make_graphed|nvtx)|cuda[ \t]+(?:as|import)\b", identifiers("cuda")
    ),
)
_VARIES = any_of(
    identifiers("pad_sequence pack_sequence"),
    text_pattern(r"(?:def|class)[\s\\]+\w{0,80}?(?i:collate)", COLLATE),
    all_of(identifiers("torchvision"), of_library(["Resize", "detection"])),
    all_of(identifiers("interpolate"), identifiers("choice randint randrange")),
)
_OWN_MOVE = text_pattern(r"def[\s\\]+to\b", identifiers("to"))
_MAKER = rf"(?:oader(?<!DataLoader)|\b{MAKER_VERBS}\w{{0,80}}data)\w{{0,80}}"
_GETS_LOADER = text_pattern(
    rf"{_MAKER}(?:[\s\\)]|#[^\r\n]{{0,160}}[\r\n]){{0,80}}(?:\(|\bas\b)", identifier_pattern(_MAKER)
)
_CHECKS_CUDA = text_pattern(CUDA_EXIT_CHECK, identifiers("is_available"))
HAS_PROJECT_FACTS = any_of(
    all_of(
        TORCH,
        any_of(
            identifier_parts("cudnn", "deterministic_algorithms"),
            _VARIES,
            _DEFINES_DEVICE,
            _OWN_MOVE,
            _NEEDS_CUDA,
            _CHECKS_CUDA,
        ),
    ),
    imported(CUDA_PACKAGES),
    text_pattern(r"[(,]\s*(?:benchmark|deterministic)\s*=", identifiers("Trainer Fabric")),
    all_of(any_of(MOVE, identifiers("cuda DataLoader")), ITERATES_BATCHES),
    _GETS_LOADER,
)
