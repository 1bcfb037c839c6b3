"""What following the programs gets to without a plain call: streams, evaluations in between, wrapped functions."""

from __future__ import annotations

import pytest

from tests.test_following_infos import SETUP, STEP, phases

STREAM = (
    SETUP
    + """
    def decode(tokens):
        start = torch.zeros(1, device=device).item()
        for _ in range(100):
            tokens = model(tokens)
            yield tokens

    for tokens in decode(torch.randn(4, device=device)):
        if tokens.sum() > 3:
            break
"""
)


def test_what_a_generator_does_once_is_in_no_step_of_the_loop_that_asks_for_its_values() -> None:
    assert not [line for line, *_ in phases(main=STREAM) if line.startswith("start")]


def test_a_generator_without_a_model_makes_no_steps() -> None:
    assert phases(main=STREAM.replace("model(tokens)", "tokens + 1")) == set()


def test_a_loop_that_asks_for_what_a_model_generates_is_a_step() -> None:
    assert ("if tokens.sum() > 3:", "inference", False) in phases(main=STREAM)


RARELY = (
    SETUP
    + """
    def evaluate():
        for image in DataLoader(torch.randn(8, 4)):
            print(model(image.to(device)).sum().item())
"""
    + STEP
    + """
        if step % 1000 == 0:
            print(loss.item())
            evaluate()
"""
)


def test_an_evaluation_in_between_is_made_of_steps_and_what_is_around_it_is_not() -> None:
    found = phases(train=RARELY)
    assert ("print(model(image.to(device)).sum().item())", "inference", False) in found
    assert "print(loss.item())" not in {line for line, *_ in found}


SCALED = (
    SETUP
    + """
    from croco.misc import Scaler

    scaler = Scaler()
    for x in DataLoader(torch.randn(32, 4)):
        loss = model(x.to(device)).mean()
        print(float(loss))
        scaler(loss, optimizer)
"""
)


@pytest.mark.parametrize(
    ("call", "phase"), [("report(x, optimizer)", "inference"), ("scaler(loss, optimizer)", "training")]
)
def test_a_scaler_of_a_library_that_gets_the_loss_and_the_optimizer_goes_backward(call: str, phase: str) -> None:
    assert ("print(float(loss))", phase, False) in phases(train=SCALED.replace("scaler(loss, optimizer)", call))


UNKNOWN_BASE = """
    import torch
    from blocks.patches import Embed
    device = "cuda"

    class Own(Embed):
        def forward(self, x):
            return x.unsqueeze(0).sum().item()
"""


def test_a_class_on_an_unknown_library_is_a_module_if_it_has_a_forward() -> None:
    assert ("return x.unsqueeze(0).sum().item()", "training", True) in phases(own=UNKNOWN_BASE)
    assert phases(own=UNKNOWN_BASE.replace("from blocks.patches import Embed", "from abc import ABC as Embed")) == set()


WRAPPED = """
    import torch
    device = "cuda"

    def checked(forward):
        def wrapper(self, *args):
            return forward(self, *args)
        return wrapper

    class One(torch.nn.Module):
        @checked
        def forward(self, x: torch.Tensor):
            return torch.zeros(3, device=device).item()

    class Two(torch.nn.Module):
        @checked
        def forward(self, x: torch.Tensor):
            return x + 1
"""


def test_each_function_that_a_decorator_wraps_is_entered() -> None:
    assert ("return torch.zeros(3, device=device).item()", "training", True) in phases(
        wrapped=WRAPPED, train=SETUP + STEP
    )


METHODS = """
    import torch

    class Model(torch.nn.Module):
        def forward(self, x):
            return x + 1

        def jforward(self, tokens: torch.Tensor, device: str = "cuda"):
            return tokens[0].item()
"""


def test_public_methods_of_modules_that_take_tensors_are_assumed_to_run_in_steps() -> None:
    assert phases(model=METHODS.replace("jforward", "_unused")) == set()
    assert phases(model=METHODS.replace("torch.Tensor", "list")) == set()
    assert phases(model=METHODS) == {("return tokens[0].item()", "training", True)}


SAMPLERS = (
    SETUP
    + """
    def euler(model, x, sigmas):
        for i in range(30):
            x = model(x) * sigmas[i]
        return x

    @torch.no_grad()
    def heun(model, x, sigmas):
        for i in range(30):
            x = model(x) * sigmas[i]
            if sigmas[i + 1] == 0:
                break
        return x

    euler(model, torch.randn(4, device=device), torch.linspace(1, 0, 31, device="here"))
"""
)


@pytest.mark.parametrize(("here", "reads"), [("cpu", False), ("cuda", True)])
def test_what_programs_pass_by_a_name_is_assumed_of_other_functions_of_the_file(here: str, reads: bool) -> None:
    lines = {line for line, *_ in phases(sample=SAMPLERS.replace("here", here))}
    assert ("if sigmas[i + 1] == 0:" in lines) is reads


MADE = (
    SETUP
    + STEP
    + """
        with torch.device("cuda"):
            mask = torch.zeros(4)
        out = out + mask.to(device)
"""
)


def test_tensors_are_made_on_the_device_of_the_context() -> None:
    copy = ("out = out + mask.to(device)", "training", False)
    assert copy not in phases(train=MADE)
    assert copy in phases(train=MADE.replace("            mask", "            pass\n        mask"))
