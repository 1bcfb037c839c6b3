import torch

for _ in range(2):
    x = torch.zeros(2).cuda()  # TL701 unknown "it ran with CUDA"
print(x.device)
