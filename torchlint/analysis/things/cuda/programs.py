"""CUDA programs: whether the programs that run the code of a file work only with CUDA, whatever device it names."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.things.cuda.device_choices import DeviceChoices, is_main_test
from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.analysis.things.cuda.needs import CudaNeeds, outermost_function

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class CudaPrograms:
    """Finds out whether all programs that run the code of one module need CUDA."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._guards = module.shared(CudaGuards)
        self._needs = module.shared(CudaNeeds)
        self._gpus: dict[cst.FunctionDef, frozenset[int]] = {}

    def reason(self, node: cst.CSTNode) -> str | None:
        """The reason why a node only runs where CUDA is needed anyway, in words, or None."""
        reason = self._needs.file_reason or self._of_several(node)
        if reason is not None:
            return reason
        if self._module.shared(DeviceChoices).is_main(node):
            return self.own_reason
        found = self._module.project.cuda_programs()
        return f"it runs in {found[0]}, and {found[1]}" if found is not None else None

    @cached_property
    def own_reason(self) -> str | None:
        """The reason why the file needs CUDA if it is started as a program, as far as it shows itself, or None."""
        if self._guards.file_requires_cuda or any(map(self._guards.checks.at_end_of, self._main_parts)):
            return "it ends without CUDA"
        return self._needs.own_reason()

    @cached_property
    def _main_parts(self) -> list[cst.IndentedBlock]:
        tests = (part for part in self._module.tree.body if isinstance(part, cst.If) and is_main_test(part.test))
        return [part.body for part in tests if isinstance(part.body, cst.IndentedBlock)]

    def _of_several(self, node: cst.CSTNode) -> str | None:
        """The reason that a node is in a function that needs several GPUs; in a test, another one than the first."""
        function = outermost_function(self._module, node)
        if function is None:
            return None
        if function not in self._gpus:
            self._gpus[function] = self._needs.gpus_of(function)
        gpus = self._gpus[function]
        needs = any(gpus) if self._module.in_test(node) else len(gpus) > 1
        return "it needs several GPUs" if needs else None
