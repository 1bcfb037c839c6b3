"""Accelerate 1.15 (``accelerator.py``): loaders that are prepared give batches of the device."""

import torch
from torchlint_stubs import moved, prepared

class Accelerator:
    def __init__(self, cpu=False, device_placement=True, **kwargs):
        self._moves = device_placement and not cpu
        self.device = torch.device("cpu" if cpu else "cuda")
        self.is_main_process = True
        self.is_local_main_process = True
        self.sync_gradients = True
        self.num_processes = 1

    def prepare(self, *values, **kwargs):
        return prepared(values, self._moves)

    def prepare_model(self, model, **kwargs):
        return model

    def prepare_optimizer(self, optimizer, **kwargs):
        return optimizer

    def prepare_data_loader(self, loader, **kwargs):
        return prepared((loader,), self._moves)

    def skip_first_batches(self, loader, num_batches=0):
        return loader

    def backward(self, loss, **kwargs):
        torch.autograd.backward(loss)

    def gather(self, tensor):
        return tensor

    def gather_for_metrics(self, tensor, **kwargs):
        return tensor

    def reduce(self, tensor, *args, **kwargs):
        return tensor

    def pad_across_processes(self, tensor, *args, **kwargs):
        return tensor

    def unwrap_model(self, model, **kwargs):
        return model

    def clip_grad_norm_(self, parameters, max_norm, norm_type=2):
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm)

    def print(self, *values, **kwargs):
        print(*values)

def send_to_device(tensor, device, **kwargs):
    return moved(tensor, device)
