"""Ignite 0.6 (``engine/engine.py``): what an engine calls for each batch, and its handlers."""

import torch
from torchlint_stubs import batches, moved, one_of

class _Event:
    def __init__(self, name):
        self.name = name

    def __call__(self, *args, **kwargs):
        return _Event("seldom")

class Events:
    ITERATION_STARTED = _Event("iteration")
    ITERATION_COMPLETED = _Event("iteration")
    GET_BATCH_STARTED = _Event("iteration")
    GET_BATCH_COMPLETED = _Event("iteration")
    EPOCH_STARTED = _Event("epoch")
    EPOCH_COMPLETED = _Event("epoch")
    STARTED = _Event("run")
    COMPLETED = _Event("run")

class Engine:
    def __init__(self, process_function):
        self._process_function = process_function
        self._of_iterations = []
        self._of_epochs = []

    def on(self, event_name, *args, **kwargs):
        def register(handler):
            self.add_event_handler(event_name, handler)
            return handler

        return register

    def add_event_handler(self, event_name, handler, *args, **kwargs):
        if event_name.name == "iteration":
            self._of_iterations.append(handler)
        else:
            self._of_epochs.append(handler)

    def run(self, data=None, max_epochs=None, **kwargs):
        for _epoch in range(max_epochs):
            for batch in batches(data):
                self._process_function(self, batch)
                one_of(self._of_iterations)(self)
            one_of(self._of_epochs)(self)

class _Training:
    def __init__(self, model, optimizer, loss_fn, device):
        self.model, self.optimizer, self.loss_fn, self.device = model, optimizer, loss_fn, device

    def __call__(self, engine, batch):
        x, y = moved(batch, self.device)
        loss = self.loss_fn(self.model(x), y)
        torch.autograd.backward(loss)
        self.optimizer.step()
        return loss

class _Evaluation:
    def __init__(self, model, device):
        self.model, self.device = model, device

    def __call__(self, engine, batch):
        x, y = moved(batch, self.device)
        return self.model(x), y

def create_supervised_trainer(model, optimizer, loss_fn, device=None, **kwargs):
    return Engine(_Training(model, optimizer, loss_fn, device))

def create_supervised_evaluator(model, metrics=None, device=None, **kwargs):
    return Engine(_Evaluation(model, device))

def convert_tensor(x, device=None, **kwargs):
    return moved(x, device)
