"""Which waits find an empty queue: the host has waited before, and nothing that takes long was queued since."""

from __future__ import annotations

import json
from textwrap import dedent, indent

import pytest

from torchlint.run.packed_programs import unpacked
from torchlint.solution import solve

TRAIN = """
import torch
from torch import nn
from torch.utils.data import DataLoader


def twice(x):
    return x + x


def read(x):
    return x.sum().item()


def run(net, x):
    return net(x).sum()


def main(data, args):
    device = torch.device("cuda")
    net = nn.Linear(4, 4).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in DataLoader(data):
        x = torch.randn(4, 4, device=device)
        loss = net(x).sum()
{body}


if __name__ == "__main__":
    main(None, None)
"""
FIRST = TRAIN.split("{body}", maxsplit=1)[0].count("\n") + 1


def behind(body: str, *, steps: bool = True) -> dict[int, int]:
    """The lines of the body with waits, from 1, and behind which line each is: 0 if it may have to wait."""
    body = dedent(body).strip("\n")
    end = "\nloss.backward()\nopt.step()" if steps else ""
    source = TRAIN.format(body=indent(body + end, " " * 8))
    events = solve({"train.py": source.encode()}).files["train.py"].events
    return {
        event.place[0] - FIRST + 1: event.behind[1] - FIRST + 1 if event.behind[1] else 0
        for event in events
        if event.form.startswith(("read", "wait")) and event.place[0] >= FIRST
    }


def test_the_first_wait_of_a_step_has_to_wait_and_the_next_one_has_not() -> None:
    assert behind("a = loss.item()\nb = x.sum()\nc = b.item()") == {1: 0, 3: 1}


@pytest.mark.parametrize("queued", ["y = net(x)", "y = run(net, x)", "loss.backward()", "opt.step()"])
def test_what_takes_long_in_between_fills_the_queue(queued: str) -> None:
    assert behind(f"a = loss.item()\n{queued}\nc = x.sum().item()") == {1: 0, 3: 0}


@pytest.mark.parametrize("between", ["y = twice(x)", "print(1)", "y = x * 2"])
def test_what_is_quick_in_between_does_not(between: str) -> None:
    assert behind(f"a = loss.item()\n{between}\nc = x.sum().item()") == {1: 0, 3: 1}


def test_branches_that_exclude_one_another_do_not_drain_each_other() -> None:
    body = """
        if args.first:
            a = loss.item()
        else:
            b = loss.item()
        c = loss.item()
    """
    assert behind(body) == {2: 0, 4: 0, 5: 4}


def test_a_branch_that_may_not_be_taken_drains_nothing() -> None:
    assert behind("if args.first:\n    a = loss.item()\nc = loss.item()") == {2: 0, 3: 0}


def test_a_branch_that_may_queue_something_fills_the_queue() -> None:
    assert behind("a = loss.item()\nif args.first:\n    y = net(x)\nc = loss.item()") == {1: 0, 4: 0}


def test_what_follows_a_branch_that_leaves_is_behind_its_test() -> None:
    assert behind("if loss > 3:\n    y = net(x)\n    continue\nc = loss.item()") == {1: 0, 4: 1}


def test_a_wait_in_a_function_that_was_called_drains_what_follows() -> None:
    assert behind("a = read(loss)\nc = loss.item()") == {2: -FIRST + 1 + 12}


def test_the_end_of_a_step_drains_the_begin_of_the_next_only_if_nothing_is_queued_behind_it() -> None:
    step = "loss.backward()\nopt.step()\nb = loss.item()\nx2 = x.sum().item()"
    assert behind(step, steps=False) == {3: 0, 4: 3}
    first = f"y = net(x).sum()\n{step}"
    source = TRAIN.replace("        loss = net(x).sum()\n", "        a = x.sum().item()\n        loss = net(x).sum()\n")
    for last, line in (("", FIRST + 5), ("\nopt.step()", 0)):
        text = source.format(body=indent(first + last, " " * 8)).encode()
        events = solve({"train.py": text}).files["train.py"].events
        (begin,) = (event for event in events if event.place[0] == FIRST - 1 and event.form.startswith("read"))
        assert begin.behind[1] == line


def test_the_cache_keeps_behind_which_wait_another_one_is() -> None:
    source = TRAIN.format(body="        a = loss.item()\n        b = loss.item()\n        loss.backward()").encode()
    known = solve({"train.py": source}).files["train.py"]
    stored = unpacked(json.loads(json.dumps(known)))
    assert stored == known
    assert any(event.behind == ("", FIRST) for event in stored.events)
