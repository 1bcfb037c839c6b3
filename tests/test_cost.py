"""What costs a warning: classes of events that readers found right are, those that they found pointless are infos."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torchlint.knowledge import forms
from torchlint.project.cost import is_costly
from torchlint.project.followed import FollowedEvent
from torchlint.solution import solve

PLACE, STATEMENT, WAY, WAIT = (7, 0, 7, 9), (7, 7), (("train.py", 5, "step"),), ("", 6)


def event(form: forms.Form, phase: str, origin: str = "", **more: object) -> FollowedEvent:
    found = FollowedEvent(PLACE, form.key, form.written, phase, "", origin, STATEMENT, WAY)
    return found._replace(**more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "innocent",
    [
        event(forms.HOST_DATA, "inference", "number", loops=("range(n)",)),
        event(forms.HOST_DATA, "sampling", "number", behind=WAIT),
        event(forms.READ_METHOD, "sampling", use="stop", behind=WAIT),
        event(forms.CONDITION, "sampling", use="test", behind=("other.py", 3)),
        event(forms.READ_METHOD, "sampling", use="handed on"),
        event(forms.READ_METHOD, "training", use="backward"),
        event(forms.READ_METHOD, "training", use="measured"),
        event(forms.READ_METHOD, "inference", use="selects"),
        event(forms.BLOCKING, "sampling"),
        event(forms.GROWN, "sampling", "kept"),
    ],
)
def test_what_gains_next_to_nothing_is_no_warning(innocent: FollowedEvent) -> None:
    assert not is_costly(innocent)


@pytest.mark.parametrize(
    "guilty",
    [
        event(forms.HOST_DATA, "training", "number"),
        event(forms.HOST_DATA, "sampling", "number"),
        event(forms.HOST_DATA, "inference", "numbers", loops=("range(n)",)),
        event(forms.READ_METHOD, "sampling", use="stop"),
        event(forms.READ_METHOD, "sampling", use="stop", behind=WAIT, loops=("rows",)),
        event(forms.READ_METHOD, "training", use="selects"),
        event(forms.READ_METHOD, "training", use="kept", behind=WAIT),
        event(forms.BLOCKING, "sampling", loops=("layers",)),
        event(forms.GROWN, "sampling", "kept", loops=("self.layers",)),
    ],
)
def test_what_a_step_pays_for_is_a_warning(guilty: FollowedEvent) -> None:
    assert is_costly(guilty)


TRAIN = """
    import time
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def produce(net, x):
        for at in range(100):
            x = net(x)
            yield x

    def relay(net, x):
        for one in produce(net, x):
            yield one.sum().item()

    def main(data, valid):
        device = torch.device("cuda")
        net = nn.Linear(4, 4).to(device)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for text in relay(net, torch.randn(4, 4, device=device)):
            print(text)
        for x in DataLoader(data):
            loss = net(x.to(device)).sum()
            {line}

    if __name__ == "__main__":
        main(None, None)
"""


def followed(line: str) -> list[FollowedEvent]:
    return list(solve({"train.py": dedent(TRAIN.format(line=line)).encode()}).files["train.py"].events)


@pytest.mark.parametrize(
    ("line", "use"),
    [
        ("if loss.item() > 0: loss.backward()", "backward"),
        ("if valid(loss.item()): loss.backward(); opt.step()", "backward"),
        ("if loss.item() > 0: print(1)", "test"),
        ("torch.cuda.synchronize(); took = time.time(); print(loss.item())", "measured"),
        ("loss.backward(); took = time.time(); print(loss.item())", "text"),
        ("rows = x.to(device).cpu().numpy(); kept = x.numpy()[rows > 3]", "selects"),
        ("least = loss.item(); kept = x[x > least]", "index"),
    ],
)
def test_what_becomes_of_a_value_says_whether_the_host_needs_it(line: str, use: str) -> None:
    assert use in {each.use for each in followed(line) if each.place[0] == 24}


def test_what_a_generator_makes_of_the_steps_of_another_one_is_handed_on() -> None:
    assert [each.use for each in followed("pass") if each.place[0] == 14] == ["handed on"]


def test_a_copy_knows_the_loader_of_its_batch() -> None:
    (copy,) = (each for each in followed("pass") if each.form == forms.BLOCKING.key)
    assert (copy.other, copy.is_round_trip) == (("", 22), False)
