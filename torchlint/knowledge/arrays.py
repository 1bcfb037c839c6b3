"""Functions and methods that return ndarrays.

Sources: the NumPy, SciPy, OpenCV, librosa, soundfile, scikit-image and pandas reference manuals.
"""

from __future__ import annotations

from typing import NamedTuple

from torchlint.catalogue.functions import FUNCTIONS
from torchlint.catalogue.views import CASTS, REDUCING


class ArrayFact(NamedTuple):
    """The result of a call that returns an ndarray.

    ``dtype`` is the default dtype; ``position`` the positional index of ``dtype``; ``fresh`` means that the memory is
    newly allocated (for NumPy, ``numpy_memory`` tells); ``rank`` is the number of dimensions, if certain;
    ``unshareable`` means that a tensor cannot share the memory (read-only memory, negative strides); ``readonly`` that
    the array may be read-only; ``destination`` is the positional index of an array that is filled and returned.
    """

    dtype: str | None = None
    position: int | None = None
    fresh: bool = True
    rank: int | None = None
    unshareable: bool = False
    readonly: bool = False
    destination: int | None = None


def _named(prefix: str, names: str, fact: ArrayFact) -> dict[str, ArrayFact]:
    return {f"{prefix}.{name}": fact for name in names.split()}


_SHARED = ArrayFact(fresh=False)
_UNSHAREABLE = ArrayFact(unshareable=True)

ARRAYS: dict[str, ArrayFact] = {
    **_named("numpy", "zeros ones empty loadtxt genfromtxt", ArrayFact("float64", 1)),
    "numpy.identity": ArrayFact("float64", 1, rank=2),
    "numpy.eye": ArrayFact("float64", 3, rank=2),
    "numpy.linspace": ArrayFact("float64", 5, rank=1),
    "numpy.logspace": ArrayFact("float64", 5, rank=1),
    "numpy.geomspace": ArrayFact("float64", 4, rank=1),
    **_named("numpy", "hanning hamming blackman bartlett kaiser", ArrayFact("float64", rank=1)),
    **_named("numpy", "array zeros_like ones_like empty_like fromfile fromstring fromiter", ArrayFact(position=1)),
    **_named("numpy", "full full_like", ArrayFact(position=2)),
    **_named(
        "numpy",
        "tile repeat pad roll load stack concatenate vstack hstack dstack column_stack block append delete insert "
        "unique sort argwhere bincount digitize cov corrcoef convolve fromfunction interp outer kron packbits "
        "unpackbits atleast_1d atleast_2d atleast_3d reshape ravel transpose squeeze expand_dims swapaxes moveaxis "
        "rollaxis triu tril diag diagonal random.permutation",
        ArrayFact(),
    ),
    "numpy.arange": ArrayFact(position=3, rank=1),
    "numpy.frombuffer": ArrayFact(position=1, unshareable=True),
    "numpy.broadcast_to": _UNSHAREABLE,
    **_named("numpy", "asarray ascontiguousarray asfortranarray asanyarray", ArrayFact(position=1)),
    **_named("numpy", "flip fliplr flipud rot90 memmap", _UNSHAREABLE),
    **_named("numpy.fft", "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 fftshift fftfreq rfftfreq", ArrayFact()),
    **_named("numpy.linalg", "inv pinv cholesky", ArrayFact()),
    "cv2.imread": ArrayFact("uint8"),
    **_named("cv2", "cvtColor resize imdecode flip dilate erode medianBlur rotate blur", ArrayFact(destination=2)),
    **_named("cv2", "applyColorMap", ArrayFact(destination=2)),
    **_named("cv2", "GaussianBlur warpAffine warpPerspective Canny", ArrayFact(destination=3)),
    **_named("cv2", "remap bilateralFilter", ArrayFact(destination=4)),
    "cv2.addWeighted": ArrayFact(destination=5),
    "cv2.copyMakeBorder": ArrayFact(destination=6),
    **_named("imageio", "imread v2.imread v3.imread", ArrayFact(readonly=True)),
    **_named("skimage.io", "imread", ArrayFact(readonly=True)),
    **_named("skimage.transform", "resize rescale rotate warp", ArrayFact()),
    **_named("skimage.color", "rgb2lab lab2rgb rgb2hsv hsv2rgb", ArrayFact()),
    **_named("skimage.color", "rgb2gray gray2rgb", _SHARED),  # some versions return the same image
    **_named("skimage.util", "img_as_float img_as_float32 img_as_ubyte", _SHARED),
    **_named("matplotlib.pyplot", "imread", ArrayFact(readonly=True)),
    **_named("scipy.signal", "resample lfilter filtfilt convolve medfilt fftconvolve sosfilt", ArrayFact()),
    **_named("scipy.ndimage", "zoom shift map_coordinates", ArrayFact(destination=2)),
    "scipy.ndimage.gaussian_filter": ArrayFact(destination=3),
    **_named("scipy.ndimage", "rotate affine_transform distance_transform_edt", ArrayFact(destination=4)),
    "scipy.special.softmax": ArrayFact(),
    **_named("scipy.special", "expit logit", ArrayFact(destination=1)),
    **_named("librosa.feature", "melspectrogram mfcc chroma_stft spectral_centroid", ArrayFact()),
    **_named("librosa", "stft istft amplitude_to_db power_to_db", ArrayFact()),
    "librosa.resample": _SHARED,  # with equal rates the signal is returned as it is
    **_named("librosa.filters", "mel", ArrayFact()),
    **_named("librosa.util", "normalize pad_center fix_length", _SHARED),
    **_named("tifffile", "imread", ArrayFact()),
}

# Calls that return several values: the indices of the ndarrays among them.
TUPLES: dict[str, tuple[ArrayFact | None, ...]] = {
    "librosa.load": (ArrayFact("float32"), None),
    "soundfile.read": (ArrayFact("float64"), None),
    "scipy.io.wavfile.read": (None, ArrayFact()),
    "librosa.effects.trim": (_SHARED, ArrayFact()),
}

# numpy.random and Generator methods, which return an ndarray only if a size is passed: its positional index.
RANDOM_SIZE: dict[str, int] = {
    **dict.fromkeys("random random_sample standard_normal rand randn".split(), 0),
    **dict.fromkeys("choice poisson exponential".split(), 1),
    **dict.fromkeys("randint integers normal uniform binomial beta gamma laplace lognormal".split(), 2),
}
RANDOM_INTEGER = frozenset({"randint", "integers", "binomial", "poisson"})
RANDOM_UNKNOWN_DTYPE = frozenset({"choice"})

# Elementwise functions, which return an ndarray if an argument is one.
ELEMENTWISE = frozenset(
    "abs absolute fabs sign exp expm1 exp2 log log2 log10 log1p sqrt square cbrt sin cos tan arcsin "
    "arccos arctan arctan2 "
    "sinh cosh tanh add subtract multiply divide true_divide floor_divide power mod remainder maximum "
    "minimum fmax fmin "
    "floor ceil rint round around clip where isnan isinf isfinite logical_and logical_or logical_not "
    "equal not_equal "
    "greater less negative reciprocal nan_to_num real imag conj angle deg2rad rad2deg argsort cumsum "
    "cumprod diff gradient "
    "heaviside hypot sort unwrap isin matmul".split()
)
REDUCTIONS = (REDUCING - {"norm"}) | frozenset("median percentile quantile nanmax nanmin average ptp".split())

# Methods of an ndarray, which return an ndarray; whether its memory is new is another question (`numpy_memory`).
METHODS_NEW = frozenset("copy flatten repeat clip cumsum cumprod argsort take choose compress dot".split())
METHODS_VIEW = frozenset("reshape ravel transpose squeeze swapaxes view diagonal byteswap conj round".split())
ATTRIBUTES_VIEW = frozenset({"T", "real", "imag", "flat", "mT"})

DTYPES = frozenset(
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128 bool".split()
)
# The types of NumPy's scalars, which convert arrays as well, with their dtypes; some may be those of an array already.
SCALAR_TYPES: dict[str, str] = {
    **{name: name for name in DTYPES},
    "bool_": "bool",
    "float_": "float64",
    "int_": "int64",
    "single": "float32",
    "double": "float64",
    "half": "float16",
    "byte": "int8",
    "ubyte": "uint8",
    "short": "int16",
    "ushort": "uint16",
}
# Functions that convert what is no array, and may return an array as it is.
CONVERTERS = frozenset(f"numpy.{name}" for name in "asarray ascontiguousarray asfortranarray asanyarray".split())
# Parameters of other libraries that take an array to fill, and to return.
OUTPUTS = frozenset("out dst output distances indices".split())
DTYPE_NAMES: dict[str, str] = {
    **{f"numpy.{name}": dtype for name, dtype in SCALAR_TYPES.items()},
    **{f"torch.{name}": name for name in DTYPES},
    **{f"torch.{name}": dtype for name, dtype in CASTS.items()},
    "builtins.float": "float64",
    "builtins.int": "int64",
    "builtins.bool": "bool",
    "builtins.complex": "complex128",
}

# pandas: functions that create frames and series, and their attributes and methods that lead to an ndarray.
FRAMES = frozenset(
    f"pandas.{n}"
    for n in "read_csv read_excel read_parquet read_table read_json read_pickle read_hdf DataFrame concat merge".split()
)
SERIES = frozenset({"pandas.Series", "pandas.to_datetime"})
FRAME_METHODS = frozenset(
    "drop dropna fillna sort_values reset_index set_index rename head tail sample copy astype apply "
    "filter query merge join "
    "drop_duplicates replace iloc loc assign select_dtypes".split()
)
# scikit-learn functions that return two arrays for every argument.
SPLITTERS = frozenset({"sklearn.model_selection.train_test_split"})
# A file that mentions none of these contains no known arrays.
ARRAY_LIBRARIES = "numpy cv2 pandas librosa soundfile skimage scipy sklearn imageio h5py tifffile matplotlib".split()
ARRAY_ANNOTATIONS = frozenset({"numpy.ndarray", "numpy.typing.NDArray"})

# Functions that return a list or tuple of arrays of the same kind.
ARRAY_LISTS = frozenset(
    f"numpy.{name}"
    for name in "meshgrid array_split split hsplit vsplit dsplit nonzero histogram broadcast_arrays "
    "unravel_index".split()
)
SAMPLE_DATASETS = "sklearn.datasets."
# Objects whose methods return ndarrays, by the prefix of the name that creates them.
PRODUCERS: dict[str, frozenset[str]] = {
    **{
        f"sklearn.preprocessing.{name}": frozenset({"fit_transform", "transform", "inverse_transform"})
        for name in "StandardScaler MinMaxScaler RobustScaler MaxAbsScaler Normalizer LabelEncoder "
        "OrdinalEncoder "
        "QuantileTransformer PowerTransformer PolynomialFeatures".split()
    },
    "sklearn.decomposition.PCA": frozenset({"fit_transform", "transform", "inverse_transform"}),
    "scipy.spatial.transform.Rotation.": frozenset("as_matrix as_quat as_euler as_rotvec as_mrp".split()),
}
# Attributes that do not depend on the elements.
SHAPE_ATTRIBUTES = frozenset("shape size ndim dtype nbytes itemsize strides".split())
# Methods that modify their array.
MUTATORS = frozenset("fill sort partition put resize setfield itemset setflags byteswap shuffle".split())
WRITING_FUNCTIONS = frozenset(
    "numpy.random.shuffle numpy.copyto numpy.put numpy.place numpy.putmask numpy.fill_diagonal "
    "random.shuffle cv2.rectangle "
    "cv2.line cv2.circle cv2.putText cv2.polylines cv2.fillPoly cv2.drawContours cv2.ellipse "
    "cv2.normalize".split()
)
CONSTANTS = frozenset("numpy.pi numpy.e numpy.inf numpy.nan math.pi math.e math.inf math.nan math.tau".split())
# Functions and methods of NumPy that torch also has, with the same or another name, and with a kernel of the device.
ON_DEVICE = frozenset(name for name, function in FUNCTIONS.items() if function.kernel in ("same", "own")) | frozenset(
    "absolute array ascontiguousarray astype ceil copy divide equal expand_dims float16 float32 float64 fliplr flipud "
    "greater int64 less log2 multiply nan_to_num negative ones_like power prod rot90 subtract zeros_like".split()
)
