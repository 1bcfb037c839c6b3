import torch
from torch.backends import cudnn

cudnn.benchmark = True
cudnn.deterministic = True  # TL501 refuted "no convolution ran on the device"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.nn.Linear(3, 4).to(device)(torch.ones(1, 3, device=device)).sum())
