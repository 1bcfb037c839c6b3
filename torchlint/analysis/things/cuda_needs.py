"""Needs of CUDA: what a file or a function cannot be imported or run without, whatever device it names."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import argument, keyword, literal
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.cuda_guards import CudaGuards
from torchlint.knowledge import portability as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class CudaNeeds:
    """Finds what one module needs CUDA for."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._guards = module.shared(CudaGuards)

    def of_file(self) -> str | None:
        """What makes the file CUDA-only by nature, in words; None when nothing does."""
        packages = self.packages()
        return f"it imports `{packages[0]}`" if packages else self._call() or self._imported()

    def _imported(self) -> str | None:
        """A file of the project that is imported without asking cannot be imported without CUDA."""
        for binding in self._module.project_imports():
            if not any(self._module.guards(binding.node)):
                found = self._module.project.cuda_only(str(binding.qualified))
                if found is not None:
                    return f"it imports {found[0]}, and that imports `{found[1]}`"
        return None

    def packages(self) -> list[str]:
        """The packages that exist for CUDA alone and are imported without asking, as the imports name them.

        What is a module of the project is no such package: its own facts tell what it needs.
        """
        found: list[str] = []
        for bindings in self._module.names.module.bindings.values():
            for binding in bindings:
                name = binding.qualified or ""
                plain = name.lstrip(".")
                needed = plain.partition(".")[0] in known.CUDA_PACKAGES or plain.startswith("torch.cuda.nvtx")
                if binding.kind != "import" or not needed or any(self._module.guards(binding.node)):
                    continue
                if plain == name or not self._module.project.contains_all([name]):
                    found.append(name)
        return found

    def _call(self) -> str | None:
        for call in self._module.iter_nodes(cst.Call, self._cuda_names | self._module.project_symbol_names):
            reason = self._unguarded(call) or self._foreign_need(call)
            if reason is not None:
                return reason
        return None

    def _unguarded(self, call: cst.Call) -> str | None:
        name = self._module.qualified(call.func)
        needed = name is not None and self._needs_cuda(call, name) and not self._guards.guarded(call)
        return f"it calls `{name}`" if needed else None

    def _foreign_need(self, call: cst.Call) -> str | None:
        """A function of another file that cannot run without CUDA is called without asking."""
        name = self._module.project_symbol(call.func)
        found = self._module.project.needs_cuda(name) if name is not None else None
        if found is None or self._guards.guarded(call):
            return None
        return f"it calls `{name}` of {found[0]}, and {found[1].replace('it calls', 'that calls')}"

    @cached_property
    def _cuda_names(self) -> frozenset[str]:
        return self._module.aliases(known.CUDA_NAMES)

    def of_function(self, function: cst.FunctionDef) -> str | None:
        """What makes a function impossible without CUDA, in words, as far as this file tells."""
        calls = self._module.within(function.body, cst.Call, self._cuda_names)
        return next((reason for call in calls if (reason := self._unguarded(call)) is not None), None)

    def _needs_cuda(self, call: cst.Call, name: str) -> bool:
        if name in known.CUDA_CALLS:
            return True
        if name == "torch.distributed.init_process_group":
            return literal(argument(call, "backend", 0)) == "nccl"
        if name in known.EXTENSIONS:
            texts = [literal(n) for n in descendants(call) if isinstance(n, cst.SimpleString)]
            return keyword(call, "cuda_sources") is not None or any(str(t).endswith(".cu") for t in texts)
        return False
