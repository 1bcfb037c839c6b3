import torch


def unused(model):
    return model.cuda()  # TL701 not reached "never evaluated"


print(torch.ones(2).sum())
