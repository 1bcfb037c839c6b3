"""The forms in which the host reads from the device, waits for it, or copies to it.

Every form names the function of PyTorch's source code (2.13) that shows it: one that copies a value or a size to the
host and synchronizes the stream, or that copies data of the host to the device.
"""

from __future__ import annotations

from typing import NamedTuple

READ, WAIT, COPY, GRAPH, GROWTH, EARLY, LOADING = "read", "wait", "copy", "graph", "growth", "early", "loading"


class Form(NamedTuple):
    """A form, as reports write it, with ``{}`` for the name of a function or method.

    ``rules`` are the rules that are about it, of which the first enabled one reports it. ``source`` shows that the host
    waits, or that data is copied. ``advice`` says what to write instead, where the form decides that.
    """

    written: str
    kind: str
    rules: tuple[str, ...]
    source: str
    advice: str = ""

    @property
    def key(self) -> str:
        """What tells the form from all others."""
        return f"{self.kind} {self.written}"

    def named(self, name: str) -> str:
        """The form with this name of a function or method."""
        return self.written.format(name)


_SCALAR = "aten/src/ATen/native/cuda/CUDAScalar.cu: _local_scalar_dense_cuda"
_BULK = "aten/src/ATen/native/cuda/Copy.cu: copy_kernel_cuda"
_CONDITION = "aten/src/ATen/native/TensorCompare.cpp: is_nonzero"
_INDEX = "torch/csrc/autograd/templates/python_variable_methods.cpp: THPVariable_index_scalar"
_NONZERO = "aten/src/ATen/native/cuda/Nonzero.cu: nonzero_cuda_out_impl"
_NEW = "torch/csrc/utils/tensor_new.cpp: internal_new_from_data"
_EARLIER = "if the data of a batch decide it, compute it on the host before they are moved"
_READS, _BRANCHES, _SIZES = ("TL301",), ("TL303", "TL301"), ("TL304", "TL301")

READ_METHOD = Form("`.{}()`", READ, _READS, f"{_SCALAR}; {_BULK}")
READ_FUNCTION = Form("`{}(..)`", READ, _READS, f"{_SCALAR}; {_BULK}")
MOVED_TO_HOST = Form("a move to the CPU", READ, _READS, _BULK)
COPIED_TO_HOST = Form("`.copy_(..)` to the host", READ, _READS, _BULK)
STORED_ON_HOST = Form("storing a tensor of the device in one of the host", READ, _READS, _BULK)
OF_NUMPY = Form("`{}(..)` of NumPy", READ, _READS, "torch/_tensor.py: Tensor.__array__")
FORMATTED = Form("formatting a tensor", READ, _READS, "torch/_tensor.py: Tensor.__format__; torch/_tensor_str.py: _str")
OF_TENSORS = Form(
    "`{}` of tensors of the device",
    READ,
    _READS,
    f"{_NEW}, which calls item() of each",
    "`torch.stack` joins them on the device",
)
NONFINITE = Form("`error_if_nonfinite=True`", READ, _READS, "torch/nn/utils/clip_grad.py: _get_total_norm")
LENGTHS = Form("a tensor of lengths on the device", READ, _READS, "torch/nn/utils/rnn.py: pack_padded_sequence")
LIST_INDEX = Form("a tensor as index of a list", READ, _READS, _INDEX)
HOST_INDEX = Form("an index on the device of a tensor on the host", READ, _READS, _BULK)
SCALAR_INDEX = Form(
    "an index that is a number on the device",
    READ,
    _READS,
    "aten/src/ATen/TensorIndexing.h: handleDimInMultiDimIndexing",
    "`index_select` and `index_fill_` take it without a wait",
)
BOUND = Form("a tensor as slice bound", READ, _READS, _INDEX, _EARLIER)
SIZE = Form("a tensor as size", READ, _READS, _INDEX, _EARLIER)
NUMBER = Form(
    "a tensor as number",
    READ,
    _READS,
    "torch/csrc/utils/python_arg_parser.cpp: PythonArgs::scalar_slow; "
    "aten/src/ATen/native/cuda/Indexing.cu: masked_fill__cuda",
    "write an operation that takes it as a tensor (`x + y * t` for `alpha=t`), or keep the number on the host",
)
CONDITION = Form("a condition on a tensor", READ, _BRANCHES, _CONDITION)
ASSERTED = Form(
    "an assertion on a tensor",
    READ,
    _BRANCHES,
    _CONDITION,
    "use `torch._assert_async`, or check only while debugging",
)
COMPARED = Form(
    "`{}(..)` of Python",
    READ,
    _BRANCHES,
    _CONDITION,
    "`torch.maximum`, `torch.minimum` and `.clamp` stay on the device",
)
TESTED = Form("`{}(..)` of tensors", READ, _BRANCHES, _CONDITION)
RANGE = Form("`range(..)`", READ, _BRANCHES, _INDEX, _EARLIER)
LOOKED_UP = Form("looking up a tensor in a list", READ, _BRANCHES, _CONDITION)
CONTAINED = Form("looking up a value in a tensor", READ, _BRANCHES, "torch/_tensor.py: Tensor.__contains__")

WAITING_METHOD = Form("`.{}()`", WAIT, _SIZES, _NONZERO)
WAITING_FUNCTION = Form("`{}(..)`", WAIT, _SIZES, _NONZERO)
_CHECKED = "aten/src/ATen/native/cuda/Equal.cpp: cuda_equal; aten/src/ATen/native/BatchLinearAlgebra.cpp: linalg_inv"
CHECKING_METHOD = Form("`.{}()`, whose result the host checks", WAIT, _READS, _CHECKED)
CHECKING_FUNCTION = Form("`{}(..)`, whose result the host checks", WAIT, _READS, _CHECKED)
MASK_INDEX = Form("a mask as index", WAIT, _SIZES, f"aten/src/ATen/native/IndexingUtils.h: expandTensors; {_NONZERO}")
MASK_ASSIGNED = Form("assigning through a mask", WAIT, _SIZES, MASK_INDEX.source)
REPEATS = Form(
    "repeats in a tensor",
    WAIT,
    _SIZES,
    "aten/src/ATen/native/Repeat.h: repeat_interleave_common",
    "pass `output_size`, if the host knows the sum",
)
ONE_HOT = Form(
    "`one_hot` without `num_classes`", WAIT, _SIZES, "aten/src/ATen/native/Onehot.cpp: one_hot", "pass `num_classes`"
)
CTC_LENGTHS = Form(
    "`ctc_loss`, which copies the lengths to the device",
    WAIT,
    _READS,
    "aten/src/ATen/native/cuda/LossCTC.cu: ctc_loss_gpu_template",
)
BARRIER = Form(
    "`barrier()`", WAIT, ("TL306",), "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp: WorkNCCL::synchronizeInternal"
)
SYNCHRONIZE = Form(
    "`torch.cuda.synchronize()`",
    WAIT,
    ("TL306",),
    "torch/csrc/cuda/Module.cpp: THCPModule_cudaSynchronize",
    "nothing here measures time, so remove it, and the host can queue work ahead of the device",
)
STREAM = Form(
    "`synchronize()` of a stream",
    WAIT,
    ("TL306",),
    "torch/csrc/cuda/Stream.cpp: THCPStream_synchronize",
    "let the stream that needs the results wait instead, with `wait_stream`",
)
EVENT = Form(
    "`synchronize()` of an event",
    WAIT,
    ("TL306",),
    "torch/csrc/cuda/Event.cpp: THCPEvent_synchronize",
    "let the stream that needs the results wait instead, with `wait` of the event",
)
# Of no use but to measure time, or to hand memory on.
EXPLICIT = (SYNCHRONIZE, STREAM, EVENT)
_CHECKS = "torch/distributions/distribution.py: Distribution"
_UNCHECKED, _NOT_CHECKED = (
    ("TL307",),
    "distributions check what they get, which `validate_args=False` switches off once the model works",
)
PARAMETERS = Form("`{}(..)`, which checks its parameters", WAIT, _UNCHECKED, f"{_CHECKS}.__init__", _NOT_CHECKED)
PARAMETERS_ANYWAY = Form(
    "`{}(..)`, which checks its parameters whatever it gets",
    WAIT,
    _UNCHECKED,
    PARAMETERS.source,
    "this distribution checks what it gets unless `torch.distributions.Distribution.set_default_validate_args(False)` "
    "switches that off for the whole program",
)
SUPPORT = Form("`.{}(..)`, which checks its argument", WAIT, _UNCHECKED, f"{_CHECKS}._validate_sample", _NOT_CHECKED)
DEVIATIONS = Form(
    "`torch.normal`, which checks the deviations",
    WAIT,
    _UNCHECKED,
    "aten/src/ATen/native/DistributionTemplates.h: CHECK_NORMAL_TENSOR_STD",
    "`mean + std * torch.randn_like(std)` draws the same numbers without a check",
)
SAMPLED = Form(
    "`sample` of a normal distribution, which checks the deviations",
    WAIT,
    _UNCHECKED,
    f"torch/distributions/normal.py: Normal.sample; {DEVIATIONS.source}",
    "`rsample().detach()` draws the same numbers without a check",
)
# TL808 decides which of these serve a purpose.
EMPTIED = Form("`empty_cache()`", WAIT, (), "c10/cuda/CUDACachingAllocator.cpp: release_cached_blocks")

BLOCKING = Form("a blocking copy", COPY, ("TL202",), _BULK)
ASYNCHRONOUS = Form("an asynchronous copy", COPY, (), _BULK)
PAGEABLE = Form("`non_blocking=True` from memory that is not pinned", COPY, ("TL207",), _BULK)
BY_LIBRARY = Form("{}", COPY, (), _BULK)  # moves the batches of the loaders that it gets
HOST_NUMBER = Form(
    "`torch.where` of a tensor of the host",
    COPY,
    ("TL105",),
    "aten/src/ATen/native/TensorCompare.cpp: where_self_out",
    "write the number itself, or make the tensor on the device",
)
HOST_DATA = Form("`{}` of data of the host", COPY, ("TL103",), _NEW)
LEGACY_DATA = Form("a tensor of data of the host", COPY, ("TL103",), _NEW)
STORED_ON_DEVICE = Form("storing a tensor of the host in one of the device", COPY, ("TL202",), _BULK)
STORED_ARRAY = Form("storing an array in a tensor of the device", COPY, ("TL103",), _NEW)
_WRITES = "aten/src/ATen/native/TensorAdvancedIndexing.cpp: _index_put_impl_"
NUMBER_AT = Form(
    "writing a number by an index tensor",
    COPY,
    ("TL105",),
    _WRITES,
    "`index_fill_` writes it without a copy, and `index_put_` a tensor that was made on the device once",
)
NUMBER_IN = Form(
    "writing a number to a single element",
    COPY,
    ("TL105",),
    "aten/src/ATen/TensorIndexing.h: copy_to",
    "`fill_` of the element (`x[i].fill_(number)`) writes it without a copy",
)
DEVICE_INDEX = Form(
    "an index on the host", COPY, ("TL305",), "aten/src/ATen/native/TensorAdvancedIndexing.cpp: make_info"
)
LISTED_INDEX = Form(
    "a list as index", COPY, ("TL305",), DEVICE_INDEX.source, "use slices, or an index tensor made on the device once"
)

READ_EARLY = Form(
    "this copy is only queued, and {} reads it",
    EARLY,
    ("TL204",),
    _BULK,
    "remove `non_blocking=True`, or synchronize first",
)
WRITTEN_EARLY = Form(
    "this copy is only queued, and {} writes what it copies",
    EARLY,
    ("TL204",),
    _BULK,
    "take turns with a second buffer, or wait for an event that is recorded after the copy",
)

# TL806 reports it.
RECORDED = Form("`{}`", GRAPH, (), "torch/csrc/autograd/functions/utils.h: compute_requires_grad")

# TL108 reports it.
GROWN = Form("`{}(..)` of itself", GROWTH, (), "aten/src/ATen/native/cuda/Shape.cu: cat_out_cuda")

# TL405 reports it, and TL406.
RESTARTED = Form("a new iterator of a loader", LOADING, (), "torch/utils/data/dataloader.py: DataLoader.__iter__")
IN_WORKER = Form("{}", LOADING, (), "torch/cuda/__init__.py: _lazy_init")

# Rules about reads in loops of a step, copies of what never changes, and copies that take back others.
REPEATED, UNCHANGED, RETURNING = ("TL302",), ("TL205",), ("TL201",)
GENERATED = frozenset("made drawn fixed generated".split())  # content that the device can make
# Rules about copies of what the program makes itself on the host, by where it comes from.
_OF_ORIGINS = {
    **dict.fromkeys(("made", "drawn", "fixed"), ("TL104",)),
    "generated": ("TL103", "TL104"),
    **dict.fromkeys(("number", "numbers", "constant numbers"), ("TL105",)),
}


def waiting(*, method: bool, counts: bool) -> Form:
    """The form of a function or method that waits, because it counts what it finds or for another reason."""
    forms = (WAITING_METHOD, CHECKING_METHOD) if method else (WAITING_FUNCTION, CHECKING_FUNCTION)
    return forms[not counts]


def rules_about(form: Form, origin: str) -> tuple[str, ...]:
    """The rules of which the first enabled one reports a form, for what is copied."""
    if origin == "same" and form in (BLOCKING, ASYNCHRONOUS, PAGEABLE):
        return (*UNCHANGED, *form.rules)
    if form is PAGEABLE and origin in GENERATED:
        return ("TL104",)
    own = _OF_ORIGINS.get(origin, ()) if form in (BLOCKING, HOST_DATA, LEGACY_DATA) else ()
    return (*own, *form.rules)


FORMS = tuple(value for value in globals().values() if isinstance(value, Form))
# What keeps the host from going ahead in a step of inference, too: shapes that it must know, and waiting for all work.
HOLDING = frozenset(form.key for form in FORMS if form.rules == _SIZES or form is SYNCHRONIZE)
# Those at which the host waits for the device, or may; and those that are wrong wherever they stand, in steps or not.
WAITING = frozenset(form.key for form in FORMS if form not in (ASYNCHRONOUS, RECORDED, READ_EARLY, WRITTEN_EARLY))
ANYWHERE = frozenset({PAGEABLE, READ_EARLY, WRITTEN_EARLY})
# Rules that report what following the programs sees.
REPORTING = frozenset((*REPEATED, *UNCHANGED, *RETURNING)).union(*(form.rules for form in FORMS))
