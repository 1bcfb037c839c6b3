"""Installed packages, which are not part of a project: their names are not looked up among its files."""

from __future__ import annotations

LIBRARIES = frozenset(
    "builtins os sys re math time json random typing pathlib argparse logging collections itertools functools "
    "dataclasses enum copy glob shutil subprocess pickle datetime warnings contextlib abc tempfile threading queue "
    "multiprocessing inspect operator string struct io csv socket signal platform importlib unittest pprint "
    "__future__ torch torchvision torchaudio torchtext torchdata torchmetrics numpy scipy pandas sklearn skimage cv2 "
    "PIL matplotlib seaborn plotly tqdm yaml requests transformers datasets tokenizers accelerate diffusers peft trl "
    "timm wandb tensorboard tensorboardX mlflow comet_ml neptune pytorch_lightning lightning ignite poutyne fastai "
    "lightning_fabric monai kornia "
    "albumentations einops omegaconf hydra click typer fire absl gym gymnasium stable_baselines3 jax tensorflow "
    "keras h5py imageio librosa soundfile nltk spacy sentencepiece apex deepspeed horovod ray joblib numba cupy psutil "
    "pytest setuptools pip rich loguru termcolor easydict yacs mmcv mmengine mmdet detectron2 fvcore torch_geometric "
    "dgl networkx open_clip clip".split()
)
# Those that run programs of torch.
FRAMEWORKS_OF_TORCH = frozenset(
    "accelerate ignite lightning lightning_fabric poutyne pytorch_lightning transformers trl".split()
)
