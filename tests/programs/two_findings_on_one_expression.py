import torch

for _ in range(2):
    x = torch.zeros(2).cuda()  # TL701 unknown "2 evaluations with CUDA"
print(x.device)
