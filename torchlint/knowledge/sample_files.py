"""Functions that read or decode a file, as datasets do for a sample. Sources: the documentation of the libraries."""

from __future__ import annotations

DECODERS = frozenset(
    "PIL.Image.open cv2.imread cv2.VideoCapture cv2.imdecode imageio.imread imageio.v2.imread imageio.v3.imread "
    "skimage.io.imread matplotlib.pyplot.imread tifffile.imread torchvision.io.read_image torchvision.io.decode_image "
    "torchvision.io.decode_jpeg torchvision.io.read_video torchvision.datasets.folder.default_loader librosa.load "
    "librosa.core.load torchaudio.load soundfile.read scipy.io.wavfile.read scipy.io.loadmat nibabel.load "
    "SimpleITK.ReadImage rasterio.open pandas.read_csv pandas.read_parquet numpy.load numpy.loadtxt numpy.genfromtxt "
    "torch.load".split()
)
# Datasets that read and decode a file for each sample.
FILE_DATASETS = frozenset(
    f"torchvision.datasets.{name}"
    for name in "ImageFolder DatasetFolder ImageNet CocoDetection CocoCaptions CelebA VOCSegmentation VOCDetection "
    "Cityscapes Places365 Food101 Flowers102 StanfordCars OxfordIIITPet DTD SUN397 Caltech101 Caltech256 Kinetics "
    "UCF101 HMDB51".split()
)
# Handles that cannot be sent to a worker process, or must not be shared with it.
HANDLES = frozenset("h5py.File lmdb.open sqlite3.connect tables.open_file netCDF4.Dataset".split())
