"""Poutyne 1.17 (``framework/model.py``, ``framework/experiment.py``): moves batches if a device is given."""

import torch
from torchlint_stubs import batches, moved

class Model:
    def __init__(self, network, optimizer=None, loss_function=None, *, device=None, **kwargs):
        self.network, self.device = network, device

    def fit_generator(self, train_generator, valid_generator=None, *, epochs=1000, **kwargs):
        for _epoch in range(epochs):
            for batch in batches(train_generator):
                torch.autograd.backward(self.network(moved(batch, self.device)))
            if valid_generator is not None:
                self.evaluate_generator(valid_generator)

    def evaluate_generator(self, generator, **kwargs):
        for batch in batches(generator):
            self.network(moved(batch, self.device))

    predict_generator = evaluate_generator

class Experiment:
    def __init__(self, directory, network, *, device=None, **kwargs):
        self.model = Model(network, device=device)

    def train(self, train_generator, valid_generator=None, **kwargs):
        self.model.fit_generator(train_generator, valid_generator)

    def test(self, test_generator, **kwargs):
        self.model.evaluate_generator(test_generator)
