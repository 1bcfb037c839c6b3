"""Random numbers of simulated devices.

A program computes what it computes on the CPU, so devices draw from the generator of the host until the program gives
one of them a state of its own (``torch.cuda.manual_seed``, ``torch.cuda.set_rng_state``). From then on its operations
run with that state, as long as the two differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
import torch.cuda.random

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_get, _set, _seed = torch.get_rng_state, torch.set_rng_state, torch.manual_seed


class Random:
    """The states of devices that have their own."""

    def __init__(self, simulation: Machine) -> None:
        self._sim = simulation
        self.own: dict[int, Any] = {}
        self._seeds: dict[int, int] = {}

    def install(self) -> None:
        """Replace the functions that seed, and that read and restore states."""
        functions = {
            "get_rng_state": self.state,
            "set_rng_state": self.restore,
            "get_rng_state_all": lambda: [self.state(index) for index in range(self._sim.devices)],
            "set_rng_state_all": self._restore_all,
            "manual_seed": lambda seed: self.seed(self._sim.current, seed),
            "manual_seed_all": self._seed_all,
            "seed": lambda: self.seed(self._sim.current, torch.random.default_generator.seed()),
            "seed_all": lambda: self._seed_all(torch.random.default_generator.seed()),
            "initial_seed": lambda: self._seeds.get(self._sim.current, torch.initial_seed()),
        }
        for module in (torch.cuda, torch.cuda.random):
            self._sim.patches.set_all(module, **functions)
        for module in (torch, torch.random):
            self._sim.patches.set_all(module, manual_seed=self._seeded, set_rng_state=self._restored)

    def install_generators(self) -> None:
        """The default generators of devices, as soon as generators can name them."""
        generators = tuple(self._default(index) for index in range(self._sim.devices))
        self._sim.patches.set(torch.cuda, "default_generators", generators)

    # -- the generator of the host -------------------------------------------------------------------

    def _seeded(self, seed: Any) -> Any:
        """``torch.manual_seed`` seeds all devices as well."""
        with self._sim.direct():
            made = _seed(seed)
        self.own.clear()
        self._seeds.clear()
        return made

    def _restored(self, new_state: Any) -> None:
        """``torch.set_rng_state``: devices with the same state follow the host again."""
        _check(new_state)
        _set(new_state)
        self._follow()

    def _follow(self) -> None:
        if self.own:
            here = _get()
            self.own = {index: state for index, state in self.own.items() if not _equal(state, here)}

    # -- those of devices ------------------------------------------------------------------------------

    def _index(self, device: Any) -> int:
        index = self._sim.index(device)
        return self._sim.current if index is None else index

    def state(self, device: Any = "cuda") -> Any:
        """The state of a device."""
        own = self.own.get(self._index(device))
        return _get() if own is None else own.clone()

    def restore(self, new_state: Any, device: Any = "cuda") -> None:
        """Give a device a state."""
        _check(new_state)
        self.own[self._index(device)] = new_state.clone()
        self._follow()

    def _restore_all(self, new_states: Any) -> None:
        for index, state in enumerate(new_states):
            self.restore(state, index)

    def seed(self, index: int, seed: int) -> Any:
        """Seed one device."""
        self._seeds[index] = int(seed)
        self.own[index] = torch._C.Generator().manual_seed(int(seed)).get_state()
        self._follow()

    def _seed_all(self, seed: int) -> None:
        for index in range(self._sim.devices):
            self.seed(index, seed)

    def drawing(self, index: int | None) -> Any:
        """A context in which operations draw what a device would draw."""
        return self._swapped(index) if index in self.own else nullcontext()

    @contextmanager
    def _swapped(self, index: int) -> Iterator[None]:
        here = _get()
        _set(self.own[index])
        try:
            yield
        finally:
            self.own[index] = _get()
            _set(here)

    def _default(self, index: int) -> Any:
        random = self

        class Default(torch.Generator):
            """``torch.cuda.default_generators[0]``."""

            def manual_seed(self, seed: int) -> Any:
                random.seed(index, seed)
                return self

            def seed(self) -> int:
                random.seed(index, super().seed())
                return self.initial_seed()

            def initial_seed(self) -> int:
                return random._seeds.get(index, torch.initial_seed())

            def get_state(self) -> Any:
                return random.state(index)

            def set_state(self, new_state: Any) -> Any:
                random.restore(new_state, index)
                return self

        return Default(torch.device("cuda", index))


def _equal(one: Any, other: Any) -> bool:
    with torch._C._DisableTorchDispatch():
        return torch.equal(one, other)


def _check(state: Any) -> None:
    if state.is_cuda:
        raise TypeError("RNG state must be a torch.ByteTensor")
