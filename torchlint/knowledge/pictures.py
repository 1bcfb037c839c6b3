"""Libraries that draw, show and save pictures. Their functions take much longer than a copy from the device."""

from __future__ import annotations

# What the qualified names of their functions and classes begin with. OpenCV also computes on images.
DRAWING = tuple(
    "matplotlib. seaborn. plotly. PIL. imageio. visdom. skimage.io. torchvision.utils. "
    "torchvision.transforms.ToPILImage torchvision.transforms.functional.to_pil_image cv2.im cv2.VideoWriter "
    "wandb.Image wandb.Video".split()
)
# Methods of the writers of TensorBoard, which are often created out of sight.
WRITING_METHODS = frozenset({"add_image", "add_images", "add_figure"})
