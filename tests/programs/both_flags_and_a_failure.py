import torch
from torch.backends import cudnn

cudnn.benchmark = True
cudnn.deterministic = True  # TL501 unknown "no convolution ran on the device" "so far"
print({}["data"])
