"""Functions of ``torch`` and methods of tensors. Sources: the PyTorch reference manual and its code, 2.4 to 2.15.

Those of one entry are alike in everything.
"""

from __future__ import annotations

from torchlint.catalogue.records import ARGUMENTS, Counted, Function, Wait

_NATIVE = "aten/src/ATen/native"
_READ = Wait(
    "read", f"{_NATIVE}/cuda/CUDAScalar.cu: _local_scalar_dense_cuda; {_NATIVE}/cuda/Copy.cu: copy_kernel_cuda"
)
_TRUTH = Wait("read", f"{_NATIVE}/TensorCompare.cpp: is_nonzero", ("is_nonzero",), 1)
_EQUAL = Wait("equal", f"{_NATIVE}/cuda/Equal.cpp: cuda_equal", ("equal",), 1)
_CLOSE = Wait("allclose", f"{_NATIVE}/TensorCompare.cpp: allclose", ("allclose",), 1)
_NONZERO = Wait("nonzero", f"{_NATIVE}/cuda/Nonzero.cu: nonzero_cuda_out_impl", ("nonzero",), 1)
_MASKED = Wait("masked_select", f"{_NATIVE}/cuda/IndexKernel.cpp: masked_select_cuda", ("masked_select",), 1)
_UNIQUE = Wait("unique", f"{_NATIVE}/cuda/Unique.cu: unique_cuda_template", ("_unique", "_unique2", "unique_dim"))
_RUNS = Wait("unique", f"{_NATIVE}/cuda/Unique.cu: unique_consecutive_cuda", ("unique_consecutive",))
_BINS = Wait("bincount", f"{_NATIVE}/cuda/SummaryOps.cu: _bincount_cuda_template", times=2)
_LINALG = f"{_NATIVE}/BatchLinearAlgebra.cpp"
_SINGULAR = Wait("linalg", f"{_NATIVE}/cuda/linalg/BatchLinearAlgebraLib.cpp: svd_cusolver", times=2)
_ERRORS = Wait("linalg", f"{_LINALG}: _linalg_check_errors", ("_linalg_check_errors",), 1)

_PART = Function(memory="view", keeps="elements", kernel="same", alone=True)
_CAST = Function("m", memory="maybe", keeps="elements", kernel="same", alone=True)

_TABLE: dict[str, Function] = {
    # shapes and parts
    "squeeze unsqueeze permute transpose": _PART._replace(only=True),
    "t swapaxes swapdims movedim moveaxis": _PART,
    "view": _PART._replace(where="m", takes="sizes", only=True),
    "view_as": _PART._replace(where="m"),
    "reshape": _PART._replace(memory="maybe", takes="sizes", only=True),
    "flatten": _PART._replace(memory="maybe", only=True),
    "ravel": _PART._replace(memory="maybe"),
    "reshape_as": _PART._replace(where="m", memory="maybe"),
    "unflatten": Function(memory="view", keeps="elements", takes="sizes", alone=True),
    "expand": _PART._replace(where="m", takes="sizes", only=True, enlarges=True),
    "expand_as": _PART._replace(where="m", enlarges=True),
    "broadcast_to": Function(memory="view", keeps="elements", takes="sizes", alone=True, enlarges=True),
    "atleast_1d atleast_2d atleast_3d": Function("f", memory="maybe", keeps="elements"),
    "view_as_real view_as_complex": Function("f", memory="view"),
    "repeat": Function("m", keeps="elements", takes="sizes", kernel="same", alone=True, only=True, enlarges=True),
    "tile": Function(keeps="elements", takes="sizes", kernel="same", alone=True, enlarges=True),
    "narrow": Function(memory="view", keeps="dtype", takes="sizes", kernel="same", alone=True),
    "select": Function(memory="view", keeps="dtype", takes="numbers", kernel="same"),
    "diagonal": Function(memory="view", keeps="dtype", takes="numbers", kernel="own"),
    "unfold": Function("mn", memory="view", keeps="dtype", takes="counts", kernel="same"),
    "split": Function(gives="list", memory="view", takes="sizes", kernel="same", alone=True),
    "split_with_sizes": Function(gives="list", memory="view", takes="sizes"),
    "chunk": Function(gives="list", memory="view", takes="counts", kernel="same", alone=True),
    "tensor_split": Function(gives="list", memory="view", takes="counts"),
    "unbind": Function(gives="list", memory="view", kernel="same"),
    "meshgrid broadcast_tensors": Function("f", gives="list"),
    "detach": Function(memory="view", keeps="content", kernel="same", alone=True, only=True),
    "contiguous": Function("m", memory="maybe", keeps="content", kernel="same", alone=True, only=True),
    "clone": Function(keeps="content", kernel="same", alone=True, only=True),
    "requires_grad_": Function("m", memory="self", keeps="content", kernel="same", alone=True),
    "pin_memory": Function("m", memory="maybe", keeps="content", place="pinned"),
    "flip": Function(keeps="dtype", kernel="same", alone=True),
    "roll tril triu": Function(keeps="dtype", takes="numbers", kernel="same", alone=True),
    "rot90": Function(keeps="dtype", alone=True),
    "index_select": Function(keeps="dtype", kernel="same"),
    "gather": Function(keeps="dtype", kernel="same", only=True),
    "masked_fill": Function(keeps="dtype", takes="last", kernel="same", only=True),
    "index_fill": Function(keeps="dtype", takes="last", kernel="own"),
    "scatter": Function(kernel="own"),
    "resize": Function("m", takes="counts", kernel="same"),
    "cat concat concatenate stack hstack vstack dstack row_stack": Function("f", kernel="same", alone=True, joins=True),
    "diag": Function(kernel="own", alone=True),
    "new_tensor new": Function("m", made="data"),
    "new_zeros new_ones": Function("m", made="units", takes="sizes"),
    "new_full": Function("m", made="constant", takes="sizes"),
    "new_empty": Function("m", made="nothing", takes="sizes"),
    # dtypes and devices
    "float": _CAST._replace(dtype="float32"),
    "double": _CAST._replace(dtype="float64"),
    "half": _CAST._replace(dtype="float16"),
    "bfloat16": _CAST._replace(dtype="bfloat16"),
    "long": _CAST._replace(dtype="int64"),
    "int": _CAST._replace(dtype="int32"),
    "short": _CAST._replace(dtype="int16"),
    "byte": _CAST._replace(dtype="uint8"),
    "char": _CAST._replace(dtype="int8"),
    "bool": _CAST._replace(dtype="bool"),
    "type": _CAST._replace(dtype="?"),
    "to type_as": Function("m", memory="maybe", dtype="?"),
    "cuda": Function("m", memory="maybe", place="device"),
    "cpu": Function("m", memory="maybe", place="host", waits=_READ),
    "numpy": Function("m", gives="other", memory="view", kernel="same", place="host", waits=_READ),
    "item tolist __bool__ __float__ __int__": Function("m", gives="other", place="host", waits=_READ),
    # how a tensor is stored
    "size": Function("m", gives="size", only=True),
    "dim numel": Function(gives="number", only=True),
    "stride": Function("m", gives="size"),
    "data_ptr": Function("m", gives="number", memory="view"),
    "nelement ndimension element_size get_device is_contiguous is_floating_point is_pinned": Function(gives="number"),
    "storage_offset is_complex is_conj is_neg is_inference is_shared is_signed is_coalesced is_set_to": Function(
        gives="number"
    ),
    "is_same_size sparse_dim dense_dim": Function(gives="number"),
    # what the host waits for
    "equal": Function(gives="flag", waits=_EQUAL),
    "allclose": Function(gives="flag", waits=_CLOSE),
    "is_nonzero": Function(gives="flag", waits=_TRUTH),
    "nonzero": Function(gives="indices", kernel="own", only=True, counts=Counted("indices"), waits=_NONZERO),
    "argwhere": Function(
        gives="indices", kernel="own", counts=Counted("indices"), waits=_NONZERO._replace(operations=())
    ),
    "masked_select": Function(
        keeps="dtype", kernel="own", only=True, counts=Counted("mask", ("input", "mask")), waits=_MASKED
    ),
    "unique": Function(kernel="own", counts=Counted("unique"), waits=_UNIQUE),
    "unique_consecutive": Function(counts=Counted("unique"), waits=_RUNS),
    "bincount": Function(counts=Counted("bins"), waits=_BINS),
    "where": Function(kernel="same", counts=Counted("indices", ("condition", "input", "other"))),
    "one_hot": Function("n", takes="numbers", kernel="same", counts=Counted("one_hot", ("tensor", "num_classes"))),
    "repeat_interleave": Function(
        keeps="dtype",
        kernel="same",
        enlarges=True,
        counts=Counted("repeat", ("input", "repeats", "dim", "output_size")),
    ),
    "inverse": Function(waits=_ERRORS),
    "solve": Function(waits=_ERRORS),
    "inv": Function("f", waits=_ERRORS),
    "cholesky": Function(waits=Wait("linalg", f"{_LINALG}: cholesky", ("cholesky",), 1)),
    "eig": Function(gives="list", waits=Wait("linalg", f"{_LINALG}: linalg_eig", ("linalg_eig",))),
    "eigh": Function(gives="list", waits=Wait("linalg", f"{_LINALG}: linalg_eigh", ("_linalg_eigh",))),
    "eigvalsh": Function(waits=Wait("linalg", f"{_LINALG}: linalg_eigvalsh", ("_linalg_eigvals",))),
    "lstsq": Function(waits=Wait("linalg", f"{_LINALG}: linalg_lstsq", ("linalg_lstsq",))),
    "svd": Function(gives="list", waits=_SINGULAR),
    "svdvals": Function("f", waits=_SINGULAR),
    "lu_factor ldl_factor": Function("f", gives="list", waits=_ERRORS),
    "eigvals": Function("f", waits=Wait("linalg", f"{_LINALG}: linalg_eigvals", times=1)),
    "pinv matrix_rank cond": Function("f", waits=Wait("linalg", f"{_NATIVE}/LinearAlgebra.cpp: linalg_pinv", times=2)),
    "cartesian_prod": Function("f", kernel="same", rank=2),
    "combinations": Function("f", waits=_MASKED._replace(operations=(), times="1+")),
    "gaussian_nll_loss": Function("n", waits=Wait("read", "torch/nn/functional.py: gaussian_nll_loss", times=1)),
    "to_sparse": Function(
        "m", waits=Wait("to_sparse", f"{_NATIVE}/TensorConversions.cpp: dense_to_sparse", ("_to_sparse",))
    ),
    "coalesce": Function(
        "m", waits=Wait("coalesce", f"{_NATIVE}/sparse/cuda/SparseCUDATensor.cu: _coalesce_sparse_cuda", ("_coalesce",))
    ),
    "pinverse": Function(waits=Wait("linalg", f"{_NATIVE}/LinearAlgebra.cpp: linalg_pinv", times=2)),
    "qr slogdet": Function(gives="list"),
    # masks
    "isnan logical_not": Function(gives="mask", kernel="same", alone=True),
    "isfinite isinf": Function(gives="mask", kernel="own", alone=True),
    "isneginf isposinf isreal signbit": Function(gives="mask", alone=True),
    "eq ge gt le lt ne logical_and logical_or": Function(gives="mask", kernel="same"),
    "logical_xor": Function(gives="mask", kernel="own"),
    "greater less greater_equal less_equal not_equal isclose isin": Function(gives="mask"),
    "all any": Function(gives="truth", kernel="same", alone=True, reduces="other"),
    # few elements of many
    "sum mean": Function(kernel="same", alone=True, reduces="sum"),
    "norm": Function(kernel="same", reduces="sum"),
    "prod": Function(kernel="own", alone=True, reduces="sum"),
    "nansum nanmean": Function(reduces="sum"),
    "amax amin std var": Function(kernel="same", reduces="other"),
    "argmin": Function(gives="indices", kernel="same", reduces="other"),
    "argmax": Function(gives="indices", kernel="same", only=True, reduces="other"),
    "max min": Function(gives="pair with dim", kernel="same", reduces="other"),
    "count_nonzero": Function(reduces="other"),
    # order
    "argsort": Function(gives="indices", kernel="same"),
    "sort": Function(gives="pair", kernel="same"),
    "topk": Function(gives="pair", takes="counts", kernel="same", only=True),
    "kthvalue": Function(gives="pair", takes="numbers", kernel="own"),
    "mode": Function(gives="pair"),
    "median cummax cummin": Function(gives="pair with dim", kernel="own"),
    # arithmetic
    "abs add cos diff div exp float_power floor log log1p maximum minimum mul neg pow": Function(kernel="same"),
    "addcmul reciprocal round rsqrt sign sin sqrt square sub take": Function(kernel="same"),
    "relu sigmoid tanh": Function("mfn", kernel="same"),
    "softmax log_softmax": Function("mfn", kernel="same", only=True),
    "clamp clip": Function(takes="limits", kernel="same"),
    "clamp_": Function("m", memory="self", takes="limits", kernel="same"),
    "clip_": Function("m", memory="self", takes="limits"),
    "cumsum": Function(takes="numbers", kernel="same", alone=True),
    "addcdiv atan atan2 ceil cosh cross cumprod erf exp2 expm1 floor_divide fmod frac hypot lerp": Function(
        kernel="own"
    ),
    "log10 log2 logsumexp mm dot outer remainder sinh tan trace true_divide trunc": Function(kernel="own"),
    "cdist einsum": Function("f", kernel="own"),
    "matmul bmm": Function(kernel="own", only=True),
    "nan_to_num": Function(takes="numbers", kernel="own"),
    "histc renorm": Function(takes="numbers"),
    "addmm baddbmm index_add scatter_add vdot xlogy": Function(),
    "sum_to_size": Function("m"),
    "interpolate normalize avg_pool2d max_pool2d": Function("n", kernel="same"),
    "pad": Function("n", takes="counts", kernel="same"),
    "dropout elu hardtanh leaky_relu softplus threshold": Function("n", takes="numbers"),
    # random numbers
    "multinomial": Function(takes="numbers", kernel="own", draws=True),
    "bernoulli": Function(kernel="own", draws=True),
    "poisson": Function("f", kernel="own", draws=True),
    "normal": Function("f", made="random", kernel="own", draws=True),
    "rand randn": Function("f", made="random", takes="sizes", rank=ARGUMENTS, draws=True),
    "randint": Function("f", made="random", takes="sizes", dtype="int64", draws=True),
    "randperm": Function("f", made="random", takes="sizes", dtype="int64", rank=1, draws=True),
    "rand_like randn_like randint_like": Function("f", made="random", draws=True),
    "random_ exponential_ bernoulli_": Function("m", memory="self", alone=True, draws=True),
    "uniform_": Function("m", memory="self", alone=True, draws=True),
    "normal_": Function("m", memory="self", alone=True, draws=True),
    # tensors of sizes, numbers and data
    "zeros ones": Function("f", made="units", takes="sizes", rank=ARGUMENTS),
    "eye": Function("f", made="units", takes="sizes"),
    "zeros_like ones_like": Function("f", made="units"),
    "empty": Function("f", made="nothing", takes="sizes", rank=ARGUMENTS),
    "empty_like": Function("f", made="nothing"),
    "full": Function("f", made="constant", takes="sizes"),
    "tril_indices triu_indices": Function("f", made="constant", takes="sizes", kernel="some"),
    "full_like": Function("f", made="constant", takes="numbers"),
    "arange": Function("f", made="constant", takes="sizes", kernel="same", dtype="int64?", rank=1),
    "range": Function("f", made="constant", takes="sizes", kernel="some", rank=1),
    "linspace logspace": Function("f", made="rounded", takes="sizes", rank=1),
    "hann_window hamming_window bartlett_window blackman_window kaiser_window": Function(
        "f", made="rounded", takes="sizes", rank=1
    ),
    "tensor": Function("f", made="data", kernel="same"),
    "as_tensor asarray": Function("f", memory="maybe", made="data", kernel="same"),
    "from_numpy": Function("f", memory="view", made="data", kernel="same", place="host"),
    "frombuffer": Function("f", memory="view", made="buffer", place="host"),
    "scalar_tensor": Function("f", made="number", rank=0),
    "sparse_coo_tensor": Function("f", made="sparse"),
    # what changes its tensor
    "fill_": Function("m", memory="self", kernel="same", alone=True),
    "zero_": Function("m", memory="self", kernel="same", alone=True),
    "copy_ detach_": Function("m", memory="self", kernel="same"),
    "squeeze_ unsqueeze_ tril_ triu_": Function("m", memory="self", alone=True),
    "masked_fill_ index_fill_": Function("m", memory="self", takes="last"),
    "resize_": Function("m", memory="self", takes="sizes"),
    "scatter_": Function("m", memory="self", kernel="own", only=True),
    "add_ sub_ mul_ div_ exp_ sin_ index_add_ index_copy_ scatter_add_ share_memory_": Function("m", memory="self"),
    # everything else
    "backward": Function("m", gives="none", only=True),
    "register_hook retain_grad storage": Function("m", gives="other"),
    "load save manual_seed seed initial_seed device dtype Generator Size finfo iinfo": Function("f", gives="other"),
    "no_grad enable_grad inference_mode autocast compile jit vmap export hub": Function("f", gives="other"),
    "use_deterministic_algorithms are_deterministic_algorithms_enabled": Function("f", gives="other"),
    "typename promote_types result_type broadcast_shapes can_cast": Function("f", gives="other"),
}

FUNCTIONS: dict[str, Function] = {name: function for names, function in _TABLE.items() for name in names.split()}
METHODS = {name: function for name, function in FUNCTIONS.items() if "m" in function.where}
OF_TORCH = {name: function for name, function in FUNCTIONS.items() if "f" in function.where}
_OTHER = Function()
# Attributes of tensors that tell how they are stored, and those that are tensors with the same memory.
META_ATTRIBUTES = frozenset(
    "shape dtype device ndim requires_grad is_cuda grad_fn layout is_leaf names itemsize nbytes is_sparse "
    "is_quantized".split()
)
TENSOR_ATTRIBUTES = frozenset({"data", "grad", "T", "mT", "H", "mH", "real", "imag"})


def function_named(name: str) -> Function:
    """The record of a function or method, by the last part of its name; an empty one if there is none."""
    return FUNCTIONS.get(name, _OTHER)


def method_named(name: str) -> Function:
    """The record of a method of tensors; an empty one if there is none."""
    return METHODS.get(name, _OTHER)
