"""torchmetrics 1.7 (``metric.py``): a metric is where the values are that it gets."""

import torch

class Metric(torch.nn.Module):
    def __init__(self, *args, **kwargs):
        self._seen = None
        self._state = 0

    def to(self, device):
        self._state = torch.zeros((), device=device)
        return self

    def cuda(self):
        return self.to("cuda")

    def forward(self, *values, **kwargs):
        self.update(*values, **kwargs)
        return self.compute()

    def update(self, *values, **kwargs):
        self._seen = values[0]

    def compute(self):
        return self._seen + self._state

    def reset(self): ...

class MetricCollection(Metric):
    def compute(self):
        return {}
