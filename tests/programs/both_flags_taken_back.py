import torch
from torch.backends import cudnn

cudnn.benchmark = True
cudnn.deterministic = True  # TL501 refuted "none under benchmark=True and deterministic=True"
for name in ["benchmark"]:
    setattr(cudnn, name, False)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.nn.Conv2d(3, 4, 3).to(device)(torch.ones(1, 3, 8, 8, device=device)).sum())
