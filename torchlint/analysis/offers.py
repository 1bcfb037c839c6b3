"""Facts: what one file offers to the others of a run, gathered from its analysis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.analysis.things.cuda.needs import CudaNeeds
from torchlint.analysis.things.cuda.programs import CudaPrograms
from torchlint.analysis.things.flags.writes import FlagWrites
from torchlint.analysis.things.shapes import Shapes
from torchlint.analysis.things.step import Steps
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.knowledge.portability import CUDA_EXIT_CHECK, DEVICE_NAME
from torchlint.prefilter import concepts

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
from torchlint.project.facts import FileFacts

_DEVICE_NAME = re.compile(DEVICE_NAME)
_CHECK = re.compile(CUDA_EXIT_CHECK)


def collect(module: SourceModule, facts: FileFacts) -> FileFacts:
    """The facts of a parsed file, added to the ``facts`` that its bytes have told already."""
    text = module.text
    if "cudnn" in text or "deterministic" in text:
        flags = FlagWrites(module)
        offered = _offered(module) if flags.flags else ()
        helpers = {f.name.value: helper for f in offered if (helper := flags.helper_summary(f)) is not None}
        if helpers:
            facts["flags"] = helpers
    shapes = [(module.line(node), words) for node, words in Shapes(module).varying_places()]
    if shapes:
        facts["varying_shapes"] = shapes
    devices = {f.name.value: device for f in _offered(module) if (device := _device(module, f)) is not None}
    if devices:
        facts["devices"] = devices
    if module.text_index.has(concepts.REPEATS_STEPS):
        loops = module.shared(Steps).recognized()
        if loops:
            facts["loops"] = loops
    _add_cuda(module, facts)
    return facts


def _offered(module: SourceModule) -> Iterator[cst.FunctionDef]:
    """The functions that other files can import."""
    for statement in module.tree.body:
        if isinstance(statement, cst.FunctionDef):
            yield statement


# -- devices -------------------------------------------------------------------------------------


def _add_cuda(module: SourceModule, facts: FileFacts) -> None:
    """What the file needs CUDA for, and which of its functions ask for it."""
    guards = module.shared(CudaGuards)
    checking = _CHECK.search(module.text) is not None
    asking = (f for f in _offered(module) if checking or _DEVICE_NAME.search(f.name.value))
    checks = {f.name.value: check for f in asking if (check := guards.checks.outcome_of(f)) is not None}
    if checks:
        facts["cuda_checks"] = checks
    cuda = module.shared(CudaNeeds)
    packages = cuda.required_packages()
    if packages:
        facts["cuda_packages"] = packages
    extensions = cuda.compiled_extensions()
    if extensions:
        facts["cuda_extensions"] = extensions
    program = module.shared(CudaPrograms).own_reason
    if program is not None:
        facts["cuda_program"] = program
    needs = {f.name.value: why for f in _offered(module) if (why := cuda.function_reason(f)) is not None}
    if needs:
        facts["needs_cuda"] = needs


def _device(module: SourceModule, function: cst.FunctionDef) -> str | None:
    if not _DEVICE_NAME.search(function.name.value):
        return None
    value = module.evaluator.return_value(function)
    known = value.kind is Kind.DEVICE and value.device is not Device.UNKNOWN
    return value.device.value if known else None
