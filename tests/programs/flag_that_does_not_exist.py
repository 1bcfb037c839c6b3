import torch

torch.backends.cudnn.benchmrk = True  # TL507 confirmed "every flag was what it was before"
print(torch.ones(2).sum())
