"""Needs for CUDA: why a file or function works only with CUDA, whatever device it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import argument, keyword, literal, method
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.cuda.checks import needs_cuda
from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.analysis.values.functions import argument_for
from torchlint.knowledge import portability as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.bindings import Binding

_START = "torch.distributed.init_process_group"
_OTHERS = known.CUDA_ONLY_FUNCTIONS | known.COLLECTIVES
_INDEXED = re.compile(r"cuda:(\d{1,3})")
_DEPTH = 3  # calls, through which a backend is passed


class CudaNeeds:
    """Finds out why one module needs CUDA."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._guards = module.shared(CudaGuards)
        self._around: dict[cst.FunctionDef | None, bool] = {}

    @cached_property
    def file_reason(self) -> str | None:
        """The reason why the file works only with CUDA, in words, or None."""
        packages = self.required_packages()
        packages += filter(self._module.project.compiled_for_cuda, () if packages else self._imports)
        return f"it imports `{packages[0]}`" if packages else self._call_reason() or self._import_reason()

    def own_reason(self) -> str | None:
        """The reason why the calls in the file work only with CUDA, apart from what it imports, or None."""
        calls = self._module.iter_nodes(cst.Call, self._cuda_names)
        reasons = (self._unguarded_call(call) or self._default_reason(call) for call in calls)
        return next((reason for reason in reasons if reason is not None), None)

    def _import_reason(self) -> str | None:
        """The reason that the package around the file needs CUDA, or a file of the project that it always imports."""
        imports = (b for b in self._module.project_imports() if not any(self._module.guards(b.node)))
        for name in (".", *(str(binding.qualified) for binding in imports)):
            found = self._module.project.cuda_only(name)
            if found is not None:
                return f"it imports {found[0]}, and that imports `{found[1]}`"
        return None

    def required_packages(self) -> list[str]:
        """The packages that require CUDA and are imported without a guard, by the names in the imports.

        A module of the project does not count: its own facts say what it needs. Calls at module level that require
        CUDA, such as building an extension from CUDA sources, are named as well.
        """
        found: list[str] = []
        for name in self._imports:
            absolute = name.lstrip(".")
            is_needed = needs_cuda(absolute) or absolute.startswith("torch.cuda.nvtx")
            if is_needed and (absolute == name or not self._module.project.contains_all([name])):
                found.append(name)
        calls = self._module.iter_nodes(cst.Call, self._cuda_names)
        found += [self._module.qualified(call.func) or "" for call in calls if self._is_needed_to_import(call)]
        return found

    @cached_property
    def _imports(self) -> list[str]:
        """The names that the module imports under no condition."""
        bindings = (binding for found in self._module.names.module.bindings.values() for binding in found)
        every = (b for b in bindings if b.kind == "import" and b.qualified and not any(self._module.guards(b.node)))
        return [str(binding.qualified) for binding in every]

    def compiled_extensions(self) -> list[str]:
        """The names of the modules that the file builds from CUDA sources, under no condition."""
        calls = self._module.nodes_of(cst.Call, self._module.aliases({"CUDAExtension"}))
        made = [call for call in calls if self._module.qualified(call.func) == known.CUDA_EXTENSION]
        names = [literal(argument(call, "name", 0)) for call in made if not any(self._module.guards(call))]
        return [name for name in names if isinstance(name, str)]

    def _is_needed_to_import(self, call: cst.Call) -> bool:
        outside = self._module.function_of(call) is None and not any(self._module.guards(call))
        return outside and self._unguarded_call(call) is not None

    def _call_reason(self) -> str | None:
        for call in self._module.iter_nodes(cst.Call, self._cuda_names | self._module.project_symbol_names):
            reason = self._unguarded_call(call) or self._project_call_reason(call) or self._default_reason(call)
            if reason is not None:
                return reason
        return None

    def _unguarded_call(self, call: cst.Call) -> str | None:
        name = self._module.qualified(call.func)
        needs_cuda = name is not None and self._needs_cuda(call, name) and not self._guards.is_guarded(call)
        return f"it calls `{name}`" if needs_cuda else None

    def _default_reason(self, call: cst.Call) -> str | None:
        """The reason that the backend for several processes is NCCL unless callers ask for another one."""
        starts = self._module.qualified(call.func) == _START
        is_nccl = starts and self._is_nccl(argument(call, "backend", 0), _DEPTH)
        return f"it calls `{_START}`" if is_nccl and not self._guards.is_guarded(call) else None

    def _project_call_reason(self, call: cst.Call) -> str | None:
        """The reason that a function of another file needs, which is called without a guard."""
        name = self._module.project_symbol(call.func)
        found = self._module.project.needs_cuda(name) if name is not None else None
        if found is None or self._guards.is_guarded(call):
            return None
        return f"it calls `{name}` of {found[0]}, and {found[1].replace('it calls', 'that calls')}"

    @cached_property
    def _cuda_names(self) -> frozenset[str]:
        return self._module.aliases(known.CUDA_NAMES)

    def needed_around(self, node: cst.CSTNode) -> bool:
        """Whether the outermost function around a node, or the code outside of functions, needs CUDA anyway.

        Functions of `torch.cuda` that raise an error without CUDA count, and collectives, which NCCL may serve, unless
        a guard precedes them.
        """
        function = outermost_function(self._module, node)
        if function not in self._around:
            calls = calls_of(self._module, function)
            self._around[function] = any(
                self._module.qualified(call.func) in _OTHERS and not self._guards.is_guarded(call) for call in calls
            )
        return self._around[function]

    def gpus_of(self, function: cst.FunctionDef) -> frozenset[int]:
        """The indices of the GPUs that a function names; several where a wrapper of a model gets its devices."""
        texts = (str(literal(text)) for text in self._module.within(function.body, cst.SimpleString))
        found = {int(index[1]) for text in texts if (index := _INDEXED.fullmatch(text))}
        return frozenset(found.union(*map(self._gpus_of_call, self._module.within(function.body, cst.Call))))

    def _gpus_of_call(self, call: cst.Call) -> set[int]:
        name = self._module.qualified(call.func) or ""
        if name.startswith("torch.nn.") and name.rpartition(".")[2] in known.PARALLEL:
            return {0, 1} if argument(call, "device_ids", 1) is not None else set()
        of_device = name == "torch.cuda.set_device" or method(call) in ("cuda", "to")
        index = argument(call, "index", 1) if name == "torch.device" else None
        number = literal(argument(call, "device", 0) if of_device else index)
        return {number} if isinstance(number, int) and not isinstance(number, bool) else set()

    def function_reason(self, function: cst.FunctionDef) -> str | None:
        """The reason why a function works only with CUDA, in words, as far as this file shows."""
        calls = self._module.within(function.body, cst.Call, self._cuda_names)
        return next((reason for call in calls if (reason := self._unguarded_call(call)) is not None), None)

    def _is_nccl(self, backend: cst.BaseExpression | None, depth: int = 0) -> bool:
        """Whether a backend is ``"nccl"``, also through an attribute that the file sets to nothing else.

        Parameters are followed through ``depth`` calls in the file to their default.
        """
        if isinstance(backend, cst.Name) and depth > 0:
            defined = self._module.definitions(backend)
            return bool(defined) and all(self._defaults_to_nccl(binding, depth) for binding in defined)
        if not isinstance(backend, cst.Attribute):
            return literal(backend) == "nccl"
        parents = (self._module.parent(node) for node in self._module.attributes_named(backend.attr.value))
        assigns = [self._module.parent(target) for target in parents if isinstance(target, cst.AssignTarget)]
        values = [literal(assign.value) for assign in assigns if isinstance(assign, cst.Assign)]
        return bool(values) and set(values) == {"nccl"}

    def _defaults_to_nccl(self, binding: Binding, depth: int) -> bool:
        param, function = binding.statement, self._module.function_of(binding.node)
        if not isinstance(param, cst.Param) or function is None:
            return binding.value is not None and not binding.path and self._is_nccl(binding.value, depth - 1)
        if param.default is not None:
            return literal(param.default) == "nccl"
        sites = self._module.functions.callers(function).sites
        given = [argument_for(function, param, site.call, skip=int(site.bound)) for site in sites]
        return bool(given) and all(self._is_nccl(value, depth - 1) for value in given)

    def _needs_cuda(self, call: cst.Call, name: str) -> bool:
        if name in known.CUDA_ONLY_CALLS:
            return True
        if name == _START:
            return self._is_nccl(argument(call, "backend", 0))
        if name in known.EXTENSIONS:
            texts = [literal(n) for n in descendants(call) if isinstance(n, cst.SimpleString)]
            return keyword(call, "cuda_sources") is not None or any(str(t).endswith(".cu") for t in texts)
        return False


def outermost_function(module: SourceModule, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The outermost function whose body contains a node."""
    below, found = node, None
    for around in module.ancestors(node):
        if isinstance(around, cst.FunctionDef) and around.body is below:
            found = around
        below = around
    return found


def calls_of(module: SourceModule, function: cst.FunctionDef | None) -> Iterator[cst.Call]:
    """The calls in a function, or for None, outside of functions."""
    if function is not None:
        return module.within(function.body, cst.Call)
    return (call for call in module.nodes_outside_functions(cst.Call) if outermost_function(module, call) is None)
