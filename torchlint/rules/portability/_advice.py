"""TL701: what a finding says, and whether the program that it is in can run without CUDA otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torchlint.analysis.things.cuda.device_choices import DeviceChoices
from torchlint.analysis.things.cuda.device_in_scope import DevicesInScope
from torchlint.knowledge import portability as known
from torchlint.model import Evidence
from torchlint.rules.portability._attribute_devices import AttributeDevices
from torchlint.rules.portability._hardcoded import Hardcoded

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.cuda.request import CudaRequest

_WHAT = {
    "method": "`.cuda()` needs CUDA",
    "device": "this device is CUDA on every machine",
    "type": "a CUDA tensor type needs CUDA",
    "constant": "this sets the device to CUDA on every machine",
}
_AUTOCAST = (
    "`torch.autocast` takes effect on CUDA only, in code that chooses its device: pass `device.type`, so that it also "
    "takes effect on other devices"
)
_DEFAULT = (
    "this default device is CUDA on every machine: choose it with `torch.cuda.is_available()`, so that the program "
    "also runs without CUDA by default"
)
_RANKS = "every rank of this program would use the same GPU; use the local rank as the index"
_CHOSEN = "use the device that is chosen there"
_FALLBACK = 'use a device with a fallback, such as `torch.device("cuda" if torch.cuda.is_available() else "cpu")`'


class Choice(NamedTuple):
    """What shows that the program can run without CUDA: words, the device to use (or none), and the evidence."""

    words: str
    instead: str | None = None
    evidence: tuple[Evidence, ...] = ()


class Advice:
    """Says of the requests of one module what to do about them."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._hardcoded = module.shared(Hardcoded)

    def message(self, use: CudaRequest) -> tuple[str, tuple[Evidence, ...]]:
        """The message of a finding, and its evidence."""
        if use.overridable:
            return (_AUTOCAST if use.kind == "autocast" else _DEFAULT), ()
        choice = self._choice(use)
        what = f"{_WHAT[use.kind]}, {choice.words if choice else 'and nothing before it checks for CUDA'}"
        evidence = choice.evidence if choice else ()
        if use.indexed and self._is_distributed():
            return f"{what}: {_RANKS}", evidence
        place = self._hardcoded.in_forward(use.node)
        if place in ("module", "function"):
            return f"{what}: in `forward`, use the device of the input (`x.device`)", evidence
        if place == "lightning":
            return f"{what}: in a Lightning module, use `self.device`", evidence
        return f"{what}: {(choice and choice.instead) or _FALLBACK}", evidence

    def _is_distributed(self) -> bool:
        """Whether several processes run the file, one for each device."""
        return any(word in self._module.text for word in known.DISTRIBUTED_WORDS)

    # -- choices -----------------------------------------------------------------------------------

    def _choice(self, use: CudaRequest) -> Choice | None:
        found = self._variable(use) or self._attribute(use)
        if found is not None or self._module.in_test(use.node):
            return found
        return self._in_file(use)

    def _variable(self, use: CudaRequest) -> Choice | None:
        devices = self._module.shared(DevicesInScope)
        found = devices.at(use.node)
        if found is None:
            return None
        does = "falls back to the CPU" if devices.is_cuda_or_cpu(found) else "need not be CUDA"
        named = f"`{found.name}` from {self._module.line_in_words(found.node)}"
        evidence = self._module.evidence(found.node, f"`{found.name}` {does}")
        return Choice(f"while {named} {does}", f"use `{found.name}`", (evidence,))

    def _attribute(self, use: CudaRequest) -> Choice | None:
        found = self._module.shared(AttributeDevices).at(use.node)
        if found is None:
            return None
        text = self._module.code(found)
        evidence = self._module.evidence(found, f"`{text}` is the device here")
        return Choice(f"while `{text}` need not be CUDA", f"use `{text}`", (evidence,))

    def _in_file(self, use: CudaRequest) -> Choice | None:
        found = self._module.shared(DeviceChoices).at(use.node)
        if found is None:
            return None
        where = self._module.line_in_words(found.node)
        evidence = self._module.evidence(found.node, found.text)
        return Choice(f"while {found.text} ({where})", _CHOSEN, (evidence,))
