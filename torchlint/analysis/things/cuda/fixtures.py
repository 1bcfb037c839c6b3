"""Fixtures of pytest that skip a test without CUDA."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import literal

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.cuda.checks import CudaChecks

_FIXTURE, _USING = "pytest.fixture", "pytest.mark.usefixtures"


class CudaFixtures:
    """Decides which tests of one module run only where CUDA is available, because of a fixture in the same file."""

    def __init__(self, module: SourceModule, checks: CudaChecks) -> None:
        self._module = module
        self._checks = checks

    def precede(self, function: cst.FunctionDef) -> bool:
        """Whether a fixture that requires CUDA runs before a test or fixture."""
        if not self._requiring:
            return False
        if not _requested(function).isdisjoint(self._requiring):
            return True
        used = {str(literal(arg.value)) for call in self._using(function) for arg in call.args}
        return not used.isdisjoint(self._requiring)

    def _using(self, function: cst.FunctionDef) -> list[cst.Call]:
        owner = self._module.class_of(function)
        decorators = [*function.decorators, *(owner.decorators if owner is not None else ())]
        calls = [d.decorator for d in decorators if isinstance(d.decorator, cst.Call)]
        return [call for call in calls if self._module.qualified(call.func) == _USING]

    @cached_property
    def _fixtures(self) -> dict[str, cst.FunctionDef]:
        """The fixtures of the file, by name."""
        if "fixture" not in self._module.text:
            return {}
        return {f.name.value: f for f in self._module.nodes_of(cst.FunctionDef) if self._declaration(f) is not None}

    @cached_property
    def _requiring(self) -> frozenset[str]:
        """The names of the fixtures that require CUDA, themselves or by a fixture that they request."""
        found = {name for name, fixture in self._fixtures.items() if self._requires_cuda(fixture)}
        size = -1
        while size != len(found):
            size = len(found)
            found |= {name for name, fixture in self._fixtures.items() if not _requested(fixture).isdisjoint(found)}
        return frozenset(found)

    def _requires_cuda(self, fixture: cst.FunctionDef) -> bool:
        """Whether a fixture returns or yields only where CUDA is available."""
        yields = list(self._module.within(fixture.body, cst.Yield))
        if yields:
            return all(self._checks.precede_in(fixture, place) for place in yields)
        return self._checks.requires_cuda(fixture)

    @cached_property
    def for_all_tests(self) -> bool:
        """Whether every test of the file gets a fixture that requires CUDA."""
        declared = (self._declaration(self._fixtures[name]) for name in self._requiring)
        calls = [node for node in declared if isinstance(node, cst.Call)]
        return any(
            arg.keyword is not None and arg.keyword.value == "autouse" and literal(arg.value) is True
            for call in calls
            for arg in call.args
        )

    def _declaration(self, function: cst.FunctionDef) -> cst.BaseExpression | None:
        """The decorator that makes a function a fixture."""
        for decorator in function.decorators:
            node = decorator.decorator
            if self._module.qualified(node.func if isinstance(node, cst.Call) else node) == _FIXTURE:
                return node
        return None


def _requested(function: cst.FunctionDef) -> frozenset[str]:
    """The names of the parameters, which are those of fixtures."""
    return frozenset(param.name.value for param in (*function.params.params, *function.params.kwonly_params))
