"""What following a program needs to know about PyTorch and other libraries."""

from __future__ import annotations

import re

# Classes that are loaders, by the end of their names, where nothing else is known about them.
LOADER = re.compile(r"(Data|Tensor|Batch|Episode)?[Ll]oaders?X?$|[Dd]ata_?loader")
# Annotations of tensors, and the beginnings of those of containers by name.
TENSOR_ANNOTATION = re.compile(
    r"(?:typing\.)?(?:Optional\[)?(?:torch\.)?(?:Float|Long|Bool|Int|Half|Double|Byte)?Tensor\]?(?: \| None)?"
)
NUMBERS_ANNOTATION = re.compile(r"(?:typing\.)?(?:list|tuple|sequence)\[(?:int|float|bool)\b", re.I)
# What may copy to the host and back in one expression, by the names of methods.
RETURNING = re.compile(rb"\.(cpu|item|tolist|type|to)\(.{0,120}?(\.to\(|\.cuda\(|device=)", re.S)
# What computes without gradients; contexts and decorators that may, as far as their names tell; modules of `torch.nn`
# that have parameters.
NO_GRADIENTS = re.compile(r"no_grad|inference_mode|set_grad_enabled")
EVALUATES = re.compile(r"grad|eval|infer|frozen|stack", re.I)
PARAMETERS = re.compile(
    r"Module$|Sequential|Module(List|Dict)|(Bil|L|LazyL)inear|(Lazy)?Conv|(Sync|Lazy)?Batch|Layer|Group|RMS|Embedding|Transformer|"
    r"LSTM|GRU|RNN|Multihead|PReLU|(Distributed)?DataParallel"
)
NAMED_TENSORS = ("Dict[str", "dict[str", "Mapping[str", "typing.Dict[str")
# Bases of modules: names that begin so.
MODULE_BASES = (
    "torch.nn", "pytorch_lightning", "lightning", "torch.jit.ScriptModule", "transformers", "timm.",
    "torch_geometric.nn", "torchvision.models",
)  # fmt: skip
# Methods that go backward, and what scales their loss.
BACKWARD = frozenset("backward manual_backward scale".split())
# Methods of modules that frameworks call in every step.
STEPPED = frozenset(
    "forward training_step compute_loss on_train_batch_end on_train_batch_start training_step_end shared_step".split()
)
# Methods and functions that workers of loaders call for every sample or batch, and methods that trainers of all kinds
# call for every batch, also of an evaluation.
CALLED_FOR_SAMPLES = frozenset("__getitem__ __getitems__ __next__".split())
COLLATING = frozenset("collate_fn collate collate_batch".split())
EVALUATING = frozenset("validation_step test_step predict_step".split())
CALLED_FOR_BATCHES = (
    EVALUATING | CALLED_FOR_SAMPLES | frozenset("forward training_step compute_loss optimize_parameters".split())
)
# Classes of libraries whose instances are called for every token that a model generates.
CALLED_IN_STEPS = frozenset("StoppingCriteria LogitsProcessor LogitsWarper".split())
# Functions of libraries that do not call the functions that they get while they run.
NO_CALLBACK = frozenset(
    "DataLoader partial spawn map Process Thread isinstance filter sorted compile wraps lru_cache max min getattr "
    "callable checkpoint script defaultdict super hasattr print len next iter enumerate zip list tuple set dict str "
    "Sequential ModuleList ModuleDict".split()
)

TENSOR_FIELDS = frozenset("loss logits last_hidden_state".split())  # of outputs of models
# What sets the device on which tensors are made.
DEFAULT_DEVICE = (b"set_default_device", b"set_default_tensor_type")
# What decides whether distributions check their arguments.
VALIDATION = b"set_default_validate_args"
# Namespaces of `torch` whose functions make no tensors.
OTHER_NAMESPACES = (
    "torch.utils.", "torch.backends", "torch.profiler", "torch.onnx", "torch.fx", "torch.version", "torch.ops",
    "torch.library", "torch.nn.init", "torch.random", "torch.hub", "torch.distributed", "torch.amp",
)  # fmt: skip
WRAPPERS = frozenset(
    "DistributedDataParallel DataParallel DDP FSDP FullyShardedDataParallel convert_syncbn_model ModelEMA compile "
    "script trace".split()
)
# Those that move the arguments of each call to the device; the second only with `device_ids`.
# torch/nn/parallel/data_parallel.py: scatter; torch/distributed/fsdp/_runtime_utils.py: _root_pre_forward;
# torch/nn/parallel/distributed.py: _pre_forward.
MOVING_WRAPPERS = frozenset({"DataParallel", "FullyShardedDataParallel"})
MOVING_TO_DEVICES = frozenset({"DistributedDataParallel"})
OPTIMIZERS = frozenset("GradScaler Adam AdamW SGD FusedAdam Lion AdamWScheduleFree FusedLAMB".split())
RECURRENT = frozenset("LSTM GRU RNN MultiheadAttention LSTMCell".split())
MODEL_LIBRARIES = frozenset(
    "timm transformers torchvision diffusers segmentation_models_pytorch torch_geometric open_clip".split()
)
TENSOR_LIBRARIES = frozenset("einops kornia torchmetrics lpips flash_attn xformers pytorch_msssim".split())
PROGRESS = frozenset("tqdm trange track progress_bar alive_it ProgressBar".split())
CLOCKS = frozenset("time.time time.perf_counter time.monotonic timeit.default_timer".split())
NAMESPACES = frozenset("SimpleNamespace Namespace".split())
MAPPINGS = frozenset("defaultdict OrderedDict Counter EasyDict edict AttrDict Munch Bunch".split())
# Functions that read files of options.
READ_OPTIONS = frozenset(
    "yaml.safe_load yaml.load yaml.full_load yaml.unsafe_load json.load json.loads toml.load toml.loads tomllib.load "
    "tomllib.loads tomli.load tomli.loads omegaconf.OmegaConf.load".split()
)
QUEUES = frozenset("deque Queue SimpleQueue LifoQueue JoinableQueue".split())
LOGGING = frozenset("add_scalar info write add_scalars log_metric warning add_histogram add_text debug".split())
QUIET = frozenset(
    "append update add extend load_state_dict save state_dict register_buffer register_hook put insert".split()
)
SELF_RETURNING = frozenset(
    "cuda to train eval half float double requires_grad_ apply share_memory cpu bfloat16 type to_empty".split()
)

# -- options ---------------------------------------------------------------------------------------

# Options that select the accelerator count as on, whatever their default; those against it as off.
FOR_ACCELERATOR = re.compile(r"cuda|gpu|device|accelerat", re.IGNORECASE)
AGAINST_ACCELERATOR = re.compile(r"(no|disable|use|force|only)_?(cuda|gpu)|(use_?|force_?)?cpu(_only)?$", re.IGNORECASE)
# What returns cached memory to the driver.
EMPTYING = tuple(
    f"torch.{owner}.empty_cache"
    for owner in ("cuda", "cuda.memory", "accelerator", "accelerator.memory", "mps", "xpu", "xpu.memory")
)
