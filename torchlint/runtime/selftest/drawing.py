"""Probes of random numbers: seeds, states and generators of devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchlint.runtime.selftest.running import gives, refuses, there


def _draws(*kinds: str) -> list[Any]:
    return [torch.rand(4, device=kind).tolist() for kind in kinds]


def _seeded(seed: Callable[[], Any]) -> bool:
    """Drawing anew after seeding gives the same numbers, and other numbers than going on."""
    seed()
    first = _draws("cuda")
    further = _draws("cuda")
    seed()
    return _draws("cuda") == first != further


def _restored(read: Callable[[], Any], restore: Callable[[Any], Any]) -> bool:
    state = read()
    first = _draws("cuda")
    further = _draws("cuda")
    restore(state)
    return _draws("cuda") == first != further


def _apart() -> bool:
    """Seeding a device leaves the numbers of the host as they are."""
    torch.manual_seed(5)
    wanted = _draws("cpu", "cpu")
    torch.manual_seed(5)
    first = _draws("cpu")
    torch.cuda.manual_seed(1)
    there(3).normal_()
    torch.nn.functional.dropout(there(3))
    return first + _draws("cpu") == wanted


def _everywhere(device: str) -> Any:
    """A program that seeds all devices draws what it draws on the CPU."""
    torch.manual_seed(3)
    if device == "cuda":
        torch.cuda.manual_seed_all(3)
    return [torch.rand(2, device=device).tolist(), torch.rand(2).tolist(), torch.randperm(4, device=device).tolist()]


def _forked() -> bool:
    state = torch.cuda.get_rng_state()
    with torch.random.fork_rng(devices=[0]):
        torch.cuda.manual_seed(9)
        there(3).normal_()
    return bool((torch.cuda.get_rng_state() == state).all())


def _checkpointed(device: str) -> Any:
    """Checkpointing runs a region twice, with the same random numbers."""
    from torch.utils.checkpoint import checkpoint

    weight = torch.ones(8, device=device, requires_grad=True)
    loss = checkpoint(lambda x: torch.nn.functional.dropout(x * 2).sum(), weight, use_reentrant=False)
    loss.backward()
    gradient = weight.grad
    assert gradient is not None
    return loss.item(), gradient.tolist()


def _generator() -> Any:
    return torch.Generator(device="cuda").manual_seed(1)


def _drawn() -> list[Any]:
    """What takes a generator takes that of the device."""
    own, x = _generator(), there(3)
    x.normal_(generator=own)
    x.uniform_(generator=own)
    x.bernoulli_(0.5, generator=own)
    torch.multinomial(there(3), 1, generator=own)
    torch.bernoulli(there(3), generator=own)
    made = [torch.randperm(3, generator=own, device="cuda"), torch.randint(0, 3, (2,), generator=own, device="cuda")]
    return [str(tensor.device) for tensor in (*made, torch.rand(1, generator=own, device="cuda"))]


def _shuffled() -> Any:
    return list(torch.utils.data.DataLoader([1, 2], shuffle=True, generator=_generator()))


PROBES: dict[str, Callable[[str], Any]] = {
    "manual_seed": gives(True, lambda: _seeded(lambda: torch.manual_seed(3))),
    "cuda_manual_seed": gives(True, lambda: _seeded(lambda: torch.cuda.manual_seed(seed=3))),
    "cuda_manual_seed_all": gives(True, lambda: _seeded(lambda: torch.cuda.manual_seed_all(seed=3))),
    "generator_of_device": gives(
        True, lambda: _seeded(lambda: torch.cuda.default_generators[torch.cuda.current_device()].manual_seed(3))
    ),
    "state": gives(
        True,
        lambda: _restored(
            lambda: torch.cuda.get_rng_state(device="cuda"),
            lambda state: torch.cuda.set_rng_state(new_state=state, device="cuda"),
        ),
    ),
    "states": gives(
        True,
        lambda: _restored(torch.cuda.get_rng_state_all, lambda states: torch.cuda.set_rng_state_all(new_states=states)),
    ),
    "state_of_generator": gives(
        True,
        lambda: (
            (own := _generator(), state := own.get_state(), one := there(3).normal_(generator=own).tolist())[2]
            == (own.set_state(state), there(3).normal_(generator=own).tolist())[1]
            == one
        ),
    ),
    "host_apart": gives(True, _apart),
    "forked": gives(True, _forked),
    "seeded_everywhere": _everywhere,
    "checkpointed": _checkpointed,
    "initial_seed": gives(7, lambda: (torch.cuda.manual_seed(7), torch.cuda.initial_seed())[1]),
    "generators": gives(2, lambda: len(torch.cuda.default_generators)),
    "drawn": gives(["cuda:0"] * 3, _drawn),
    "seeded_again": gives(True, lambda: _seeded(lambda: torch.manual_seed(0))),
    "state_on_device": refuses("TypeError", lambda: torch.cuda.set_rng_state(torch.cuda.get_rng_state().to("cuda"))),
    "host_generator": refuses("RuntimeError", lambda: torch.rand(3, device="cuda", generator=torch.Generator())),
    "host_generator_of_method": refuses("RuntimeError", lambda: there(3).uniform_(generator=torch.Generator())),
    "device_generator": refuses("RuntimeError", lambda: torch.rand(3, generator=_generator())),
    "device_generator_of_method": refuses("RuntimeError", lambda: torch.ones(3).uniform_(generator=_generator())),
    "device_generator_of_loader": refuses("RuntimeError", _shuffled),
}
