"""Text concepts: what several rules and facts need that identifiers alone would tell too often.

Each is here because reading the text for it spares more than it costs; ``benchmarks/layers.py`` measures that. A
comment or a continued line in an odd place can hide code from a pattern; identifiers cannot be hidden.
"""

from __future__ import annotations

from torchlint.knowledge.heat import HOT_NAMES, MAKER_VERBS
from torchlint.knowledge.portability import CUDA_CHECK, CUDA_PACKAGES, DEVICE_NAME
from torchlint.knowledge.transfers import FRAMEWORKS, OTHER_ACCELERATORS
from torchlint.prefilter.needs import all_of, any_of, identifiers, imported, of_library, parts, spelled, text

TORCH = identifiers("torch")
# A call of `to` with nothing or with a dtype alone is no move to a device.
_DTYPE = r"[\w.]*dtype|dtype\s*=\s*[\w.]+|torch\.\w*(?:float|int|bool|half|double|long|short)\d*"
MOVE = text(
    rf"\.[\s\\]*(?:cuda\b|type_as[\s\\]*\(|type[\s\\]*\(|to[\s\\]*(?!\(\s*(?:{_DTYPE})?\s*\))\()",
    identifiers("cuda to type_as type"),
)
_DEVICES = parts("dev", "cuda", "gpu", "rank")
_QUOTED = rf"[\"'](?:cuda|{'|'.join(OTHER_ACCELERATORS)})"
# A device is given to a variable that is not called so.
_KEPT_DEVICE = text(
    r"(?:(?m:^)|[;:])[ \t]*(?!\w{0,80}(?i:dev|cuda|gpu|rank))\w{1,80}[ \t]*(?::[^=\r\n]{0,80})?=(?!=)"
    rf"(?:[ \t]*[(\\][ \t]*\r?\n)?[^\r\n]{{0,300}}?(?:\.[ \t]*device\b|device[ \t]*\(|{_QUOTED})",
    parts("device", "cuda", *OTHER_ACCELERATORS),
)
# Something is put on an accelerator. Sound for what `analysis.values.device_evidence` calls a move.
ON_ACCELERATOR = any_of(
    of_library(["cuda"]),
    text(
        rf"\.[\s\\]*to[\s\\]*\([^()]{{0,200}}?(?:(?i:dev|cuda|gpu|rank)|{_QUOTED})",
        all_of(identifiers("to"), any_of(_DEVICES, parts(*OTHER_ACCELERATORS))),
    ),
    all_of(text(r"\.[\s\\]*to[\s\\]*\(", identifiers("to")), _KEPT_DEVICE),
    *(text(word.replace("(", r"\("), parts(word.strip("(").rpartition(".")[2])) for word in FRAMEWORKS),
)
COLLATE = parts("collate")
_NO_BATCH = r"(?:(?:named_)?(?:parameters|buffers|modules)|children|values|keys)"
_GENERATOR = r"\s*\(?[^()\n]{0,200}(?:\([^()\n]{0,200}\)[^()\n]{0,200}){0,9}\bfor\b"
LOADERS = any_of(
    spelled(r"(?i)loader(?!\w{0,80}mixin\b)|(?:data|train)_iter"),
    # `next` of something that may be a loader: not of parameters, and not of a generator expression.
    text(
        rf"\bnext[\s\\)]*\((?!\s*(?:iter\s*\(\s*)?[\w.]+\.{_NO_BATCH}\s*\(|{_GENERATOR})",
        identifiers("next"),
    ),
)
# A file that goes through loaders, or through what is mostly called like one.
FED = any_of(
    LOADERS,
    text(
        r"\bin\b[^:]{0,200}?(?:data|iter|batches)\w{0,80}[\s\\]{0,40}(?:[:,#)\]}]|(?:if|for|async)\b)",
        parts("data", "iter", "batches"),
    ),
)
# Some code of the file may make a step of training, or go through batches.
STEPS = any_of(
    LOADERS,
    identifiers("backward manual_backward"),
    all_of(identifiers("step"), parts("optim", " opt ", "opt_", "solver", "scaler")),
    parts("fetcher", "dl "),
)
# A function that frameworks call in every step is defined.
HOT_DEFINITION = text(rf"\bdef[\s\\]+(?:{'|'.join(sorted(HOT_NAMES))})\b", identifiers(*HOT_NAMES))

# -- facts that bytes tell -----------------------------------------------------------------------

SEEDS = any_of(
    *(
        text(source, parts("seed", "determinis", "rng_state"))
        for source in (
            r"(?<!\w)seed(?:_everything|_all_rng|_all|_worker|_torch)\s*\(",
            r"\b(?:manual_|(?:set|fix|init)_(?:all_|random_)?|setup_|random_|random\.)seed(?:_all|s)?\s*\(",
            r"\b(?:set|make|enable)_determinis(?:m|tic)\s*\(",
            r"\bset_rng_state(?:_all)?\s*\(",
        )
    )
)
TUNES = any_of(
    text(r"cudnn\s*\.\s*(?:benchmark|deterministic|flags)", parts("cudnn")),
    parts("deterministic_algorithms"),
    text(r"[(,]\s*benchmark\s*=", identifiers("benchmark")),
)
CONVOLVES = identifiers("Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d")

# -- default devices and dtypes ------------------------------------------------------------------

_TYPE, _EMPTY = "set_default_tensor_type", "init_empty_weights"
# Functions of frameworks that have modules constructed on another device, or in another dtype.
_CONSTRUCTING = ("init_module", "init_tensor", "init_on_device", "OnDevice", _EMPTY)
# `with torch.device(..)`, `with device`, also after simple ones; `torch.cuda.device` chooses one GPU among others.
_ITEM = r"[\w.]{1,80}(?:\([^()\n]{0,80}\))?\s{0,80},\s{0,80}"
_SCOPED = r"(?:\w{1,80}\.){0,5}(?<!cuda\.)(?:device|DEVICE)[ \t]*(?:[(:,)]|as\b)"
SETS_TYPE = identifiers(_TYPE)
SETS_DEVICE = any_of(
    identifiers("set_default_device", "DeviceContext", _TYPE, *_CONSTRUCTING),
    text(rf"with[ \t(]\s{{0,80}}\(?(?:{_ITEM}){{0,4}}{_SCOPED}", identifiers("device DEVICE")),
    text(r"enter_context[ \t]*\([^\n]{0,200}device\b", identifiers("enter_context")),
    text(r"nullcontext\b[^\n]{0,200}device\b", identifiers("nullcontext")),
    text(r"device\([^\n]{0,200}nullcontext\b", identifiers("nullcontext")),
    text(r"@(?:torch\.)?device\(", identifiers("device")),
)
SETS_DTYPE = identifiers("set_default_dtype", "set_default_torch_dtype", _TYPE, *_CONSTRUCTING)
# The meta device as the default: tensors made on it cannot be moved.
META = any_of(
    identifiers(_EMPTY),
    text(r"(?:with|enter_context|set_default_device)\b[^\n]{0,200}[\"']meta[\"']", identifiers("meta")),
)

# -- files that have to be parsed for what they offer to others ----------------------------------

# Functions of the module level whose names say that they give a device.
_DEFINES_DEVICE = any_of(
    text(rf"def(?<![ \t]def)[\s\\]+\w{{0,80}}?{DEVICE_NAME}", _DEVICES),
    text(rf"async[\s\\]+def[\s\\]+\w{{0,80}}?{DEVICE_NAME}", all_of(parts("async"), _DEVICES)),
)
_NEEDS_CUDA = any_of(
    identifiers("init_process_group cpp_extension"),
    text(
        r"cuda[ \t]*\.[ \t]*(?:Stream|CUDAGraph|graph|make_graphed|nvtx)|cuda[ \t]+(?:as|import)\b", identifiers("cuda")
    ),
)
_VARIES = any_of(
    identifiers("pad_sequence pack_sequence"),
    text(r"(?:def|class)[\s\\]+\w{0,80}?(?i:collate)", COLLATE),
    all_of(identifiers("torchvision"), of_library(["Resize", "detection"])),
    all_of(identifiers("interpolate"), identifiers("choice randint randrange")),
)
_OWN_MOVE = text(r"def[\s\\]+to\b", identifiers("to"))
_MAKER = rf"(?:oader(?<!DataLoader)|\b{MAKER_VERBS}\w{{0,80}}data)\w{{0,80}}"
_GETS_LOADER = text(rf"{_MAKER}(?:[\s\\)]|#[^\r\n]{{0,160}}[\r\n]){{0,80}}(?:\(|\bas\b)", spelled(_MAKER))
_CHECKS_CUDA = text(CUDA_CHECK, identifiers("is_available"))
OFFERS = any_of(
    all_of(
        TORCH,
        any_of(
            parts("cudnn", "deterministic_algorithms"), _VARIES, _DEFINES_DEVICE, _OWN_MOVE, _NEEDS_CUDA, _CHECKS_CUDA
        ),
    ),
    imported(CUDA_PACKAGES),
    text(r"[(,]\s*(?:benchmark|deterministic)\s*=", identifiers("Trainer Fabric")),
    all_of(any_of(MOVE, identifiers("cuda DataLoader")), FED),
    _GETS_LOADER,
)
