"""What following a program needs to know about PyTorch and other libraries."""

from __future__ import annotations

import re

# Classes that are loaders, by the end of their names, where nothing else is known about them.
LOADER = re.compile(r"(Data|Tensor|Batch|Episode)?[Ll]oaders?X?$|[Dd]ata_?loader")
# Annotations of tensors, and the beginnings of those of containers by name.
TENSOR_ANNOTATION = re.compile(
    r"(?:typing\.)?(?:Optional\[)?(?:torch\.)?(?:Float|Long|Bool|Int|Half|Double|Byte)?Tensor\]?(?: \| None)?"
)
# Decorators of functions that compute without gradients.
NO_GRADIENTS = re.compile(r"no_grad|inference_mode")
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
# Classes of libraries whose instances are called for every token that a model generates.
CALLED_IN_STEPS = frozenset("StoppingCriteria LogitsProcessor LogitsWarper".split())
# Functions of libraries that do not call the functions that they get while they run.
NO_CALLBACK = frozenset(
    "DataLoader partial spawn map Process Thread isinstance filter sorted compile wraps lru_cache max min getattr "
    "callable checkpoint script defaultdict super hasattr print len next iter enumerate zip list tuple set dict str "
    "Sequential ModuleList ModuleDict".split()
)

# -- tensors ---------------------------------------------------------------------------------------

META_METHODS = frozenset(
    "size dim numel element_size stride get_device is_contiguous ndimension is_floating_point is_complex nelement "
    "data_ptr storage_offset is_inference is_shared is_pinned is_conj is_neg".split()
)
META_ATTRIBUTES = frozenset(
    "shape dtype device ndim requires_grad is_cuda grad_fn layout is_leaf names itemsize nbytes is_sparse "
    "is_quantized".split()
)
SAME_TENSOR = frozenset("data grad T mT real imag H".split())  # attributes that are tensors at the same place
TENSOR_FIELDS = frozenset("loss logits last_hidden_state".split())  # of outputs of models
MASKING = frozenset(
    "eq ne gt lt ge le isnan isinf isfinite logical_and logical_or logical_not logical_xor bool isclose isin greater "
    "less any all".split()
)
KEEPS_MASK = frozenset(
    "view reshape squeeze unsqueeze flatten expand clone detach expand_as view_as t transpose permute "
    "contiguous".split()
)
# Methods whose result shares the memory of the tensor.
VIEWS = frozenset(
    "view reshape squeeze unsqueeze flatten expand detach expand_as view_as t transpose permute contiguous narrow "
    "select pin_memory unflatten movedim swapaxes requires_grad_".split()
)
# Methods and functions whose result has a size that depends on content, or that check content on the host.
WAITING = frozenset(
    "nonzero unique unique_consecutive masked_select argwhere bincount equal allclose inverse inv cholesky solve svd "
    "eigh eig eigvalsh lstsq is_nonzero pinverse".split()
)
PAIRS = frozenset(
    "max min topk sort median mode kthvalue cummax cummin".split()
)  # values and indices, with a dimension
SIZED = frozenset(
    "view reshape repeat expand narrow new_zeros new_ones new_full new_empty unflatten split split_with_sizes tile "
    "resize_".split()
)
# Functions and methods whose arguments besides the tensor are numbers, so that tensors among them are read; and those
# of which the last argument is one, although it may be a tensor for Python. Counted with torch 2.13.
NUMBERED = frozenset(
    "topk kthvalue multinomial roll tril triu diagonal chunk select unfold full_like nan_to_num renorm hardtanh "
    "leaky_relu elu dropout threshold softplus one_hot pad cumsum histc".split()
)
FILLED = frozenset("masked_fill masked_fill_ index_fill index_fill_".split())
# Arguments by name that are numbers, of functions and methods that also take tensors.
NUMBERS = frozenset("alpha beta value".split())
LIMITED = frozenset("clamp clamp_ clip clip_".split())  # two tensors, or two numbers
LISTS = frozenset("split chunk unbind meshgrid tensor_split broadcast_tensors split_with_sizes".split())
SURE_METHODS = frozenset(
    "view reshape permute transpose squeeze unsqueeze contiguous detach clone argmax softmax expand flatten "
    "masked_fill scatter_ gather matmul bmm topk log_softmax backward".split()
)
TENSOR_METHODS = (
    frozenset(
        """abs add add_ addmm all any argmax argmin argsort backward bmm bool byte ceil chunk clamp clamp_ clip clone
    contiguous copy_ cos cpu cross cuda cumsum cumprod data_ptr detach detach_ diag div div_ dot double eq equal exp
    expand expand_as fill_ flatten flip float floor fmod gather ge gt half index_add_ index_copy_ index_fill_
    index_select int inverse is_contiguous isnan item le lerp log log_softmax long lt masked_fill masked_fill_
    masked_select matmul max mean median min mm mul mul_ narrow ne neg new_empty new_full new_ones new_tensor new_zeros
    nonzero norm normal_ numel numpy permute pin_memory pow prod random_ reciprocal relu repeat repeat_interleave
    requires_grad_ reshape resize_ round rsqrt scatter scatter_ scatter_add_ select share_memory_ sigmoid sign sin size
    softmax sort split sqrt squeeze squeeze_ std stride sub sub_ sum swapaxes t tan tanh tile to tolist topk trace
    transpose tril triu type type_as unbind unfold uniform_ unique unsqueeze unsqueeze_ var view view_as where zero_
    eigh register_hook retain_grad bfloat16 dim ndimension new sin_ exp_ bernoulli bernoulli_ multinomial cholesky
    cummax cummin floor_divide is_floating_point logical_and logical_or logical_not logsumexp maximum minimum movedim
    remainder roll rot90 sinh cosh square sum_to_size take unflatten vdot xlogy amax amin allclose nelement
    element_size get_device isinf isfinite keys values items get pop update addcmul addcdiv baddbmm index_fill kthvalue
    diagonal nan_to_num""".split()
    )
    | META_METHODS
)
READING = frozenset("item cpu numpy tolist __bool__ __float__ __int__".split())

# -- functions -------------------------------------------------------------------------------------

FROM_HOST = frozenset(
    "tensor as_tensor FloatTensor LongTensor Tensor IntTensor ByteTensor BoolTensor DoubleTensor HalfTensor "
    "scalar_tensor from_numpy".split()
)
FACTORIES = FROM_HOST | frozenset(
    "zeros ones empty full rand randn randint arange linspace eye randperm normal logspace hann_window "
    "hamming_window range tril_indices triu_indices sparse_coo_tensor".split()
)
# What sets the device on which tensors are made.
DEFAULT_DEVICE = (b"set_default_device", b"set_default_tensor_type", b"with torch.device(")
LEGACY_TYPES = frozenset("FloatTensor LongTensor ByteTensor BoolTensor HalfTensor DoubleTensor IntTensor".split())
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
