import torch

for _ in range(2):
    x = torch.zeros(2).cuda()  # TL701 confirmed "2 evaluations"
print(x.device)
