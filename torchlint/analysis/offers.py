"""Facts: what one file offers to the others of a run, gathered from its analysis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.things.cuda_guards import CudaGuards
from torchlint.analysis.things.cuda_needs import CudaNeeds
from torchlint.analysis.things.cuda_programs import CudaPrograms
from torchlint.analysis.things.device_choices import DeviceChoices
from torchlint.analysis.things.flag_writes import FlagWrites
from torchlint.analysis.things.framework_use import FrameworkUses
from torchlint.analysis.things.loader import Loaders
from torchlint.analysis.things.loops import recognized
from torchlint.analysis.things.shapes import Shapes
from torchlint.analysis.things.step_call import StepCalls
from torchlint.analysis.things.step_results import StepResults
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.knowledge.heat import LOADER_MAKER
from torchlint.knowledge.portability import CUDA_EXIT_CHECK, DEVICE_NAME
from torchlint.prefilter import concepts

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
from torchlint.project.facts import FileFacts, ForwardedLoader, MadeLoader, PassedLoader

_DEVICE_NAME = re.compile(DEVICE_NAME)
_CHECK = re.compile(CUDA_EXIT_CHECK)
_MAKER = re.compile(LOADER_MAKER)
_NO_LOADERS = (Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.NDARRAY, Kind.TENSOR, Kind.DATASET)


def collect(module: SourceModule, known: FileFacts) -> FileFacts:
    """The facts of a parsed file, added to those that its bytes have told already."""
    facts = known
    text = module.text
    if "cudnn" in text or "deterministic" in text:
        flags = FlagWrites(module)
        offered = _offered(module) if flags.any_writes else ()
        helpers = {f.name.value: helper for f in offered if (helper := flags.helper_summary(f)) is not None}
        if helpers:
            facts["flags"] = helpers
    _add_loaders(module, facts)
    if module.text_index.has(concepts.STEPS) and module.device_evidence.on_accelerator:
        calls = StepCalls(module).all()
        if calls:
            facts["step_calls"] = calls
    if module.text_index.has(concepts.HAS_PROJECT_FACTS):  # else it depends on the rules whether the file is parsed
        instances = list(StepCalls(module).instances_passed())
        if instances:
            facts["passed_instances"] = instances
    shapes = [(module.line(node), words) for node, words in Shapes(module).varying_places()]
    if shapes:
        facts["varying_shapes"] = shapes
    devices = {f.name.value: device for f in _offered(module) if (device := _device(module, f)) is not None}
    if devices:
        facts["devices"] = devices
    if module.text_index.has(concepts.REPEATS_STEPS):
        loops = recognized(module)
        if loops:
            facts["loops"] = loops
    _add_cuda(module, facts)
    if any(_is_own_move(f) for f in module.nodes_of(cst.FunctionDef, frozenset(("to",)))):
        facts["has_custom_to"] = True
    return facts


def collect_later(module: SourceModule) -> FileFacts:
    """The facts of a parsed file that follow from those of others: what functions call in every step, and return."""
    facts: FileFacts = {}
    calls = StepCalls(module).all(later=True)
    if calls:
        facts["further_step_calls"] = calls
    results = StepResults(module).all()
    if results:
        facts["step_results"] = results
    return facts


def _offered(module: SourceModule) -> Iterator[cst.FunctionDef]:
    """The functions that other files can import."""
    for statement in module.tree.body:
        if isinstance(statement, cst.FunctionDef):
            yield statement


# -- loaders -------------------------------------------------------------------------------------


def _add_loaders(module: SourceModule, facts: FileFacts) -> None:
    """Who passes loaders on, and which frameworks run where."""
    relays = list(_relays(module)) if "data" in module.text or "oader" in module.text else []
    if relays:
        facts["forwarded_loaders"] = relays
    if module.text_index.has(concepts.PASSES_LOADERS):
        given = list(_given(module))
        if given:
            facts["passed_loaders"] = given
        made = dict(_made(module))
        if made:
            facts["made_loaders"] = made
    if module.text_index.has(concepts.RUNS_FRAMEWORK):
        runs = module.shared(FrameworkUses).runs()
        if runs:
            facts["framework_runs"] = runs


def _relays(module: SourceModule) -> Iterator[ForwardedLoader]:
    """``data = load_data(..); TrainLoop(data=data)`` with both from other files."""
    if not any(
        _makes_loader(module.project_symbol(call.func))
        for call in module.nodes_of(cst.Call, module.project_symbol_names)
    ):
        return
    for call in module.nodes_of(cst.Call, module.project_symbol_names | module.project_result_names):
        to = module.project_symbol(call.func) or module.project_method(call)
        if to is None or any(arg.star for arg in call.args):
            continue
        for position, arg in enumerate(call.args):
            bindings = module.definitions(arg.value) if isinstance(arg.value, cst.Name) else ()
            bindings = tuple(b for b in bindings if b.path or literal(b.value) is not None)
            made = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
            name = module.project_symbol(made.func) if isinstance(made, cst.Call) else None
            if name is None or not _makes_loader(name):
                continue
            path = bindings[0].path
            place = path[0] if len(path) == 1 and isinstance(path[0], int) else None
            argument = arg.keyword.value if arg.keyword is not None else position
            yield {"function": name, "place": place, "to": to, "argument": argument}


def _made(module: SourceModule) -> Iterator[tuple[str, MadeLoader]]:
    """The functions that return a loader on every path, and whether it pins."""
    loaders = module.shared(Loaders)
    for function in _offered(module):
        if not _makes_loader(function.name.value):
            continue
        returned = [loaders.iterated_by(found.value) for found in module.evaluator.functions.body(function).returns]
        made = [loader for loader in returned if loader is not None]
        if made and len(made) == len(returned) and not any(loader.unpinnable for loader in made):
            yield (
                function.name.value,
                {"line": module.line(made[0].call), "pins": all(one.pins is True for one in made)},
            )


def _makes_loader(name: str | None) -> bool:
    return name is not None and _MAKER.search(name.rpartition(".")[2]) is not None


def _given(module: SourceModule) -> Iterator[PassedLoader]:
    """The loaders that are passed to functions of other files, and whether they pin; also what is no loader there."""
    for call in module.nodes_of(cst.Call, module.project_symbol_names | module.project_result_names):
        name = module.project_symbol(call.func) or module.project_method(call)
        if name is None or any(arg.star for arg in call.args):
            continue
        for place, arg in enumerate(call.args):
            value = module.value(arg.value)
            key: int | str = arg.keyword.value if arg.keyword is not None else place
            if value.kind is Kind.LOADER:
                made = value.origin if isinstance(value.origin, cst.Call) else None
                loader = module.shared(Loaders).at(made) if made is not None else None
                pins = loader is not None and loader.pins is True
                yield {"function": name, "argument": key, "pins": pins, "line": module.line(made or call)}
            elif value.kind in _NO_LOADERS:
                yield {"function": name, "argument": key, "pins": None, "line": module.line(call)}


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
    choice = module.shared(DeviceChoices).first
    if choice is not None:
        facts["device_choice"] = module.line(choice.node)
    needs = {f.name.value: why for f in _offered(module) if (why := cuda.function_reason(f)) is not None}
    if needs:
        facts["needs_cuda"] = needs


def _device(module: SourceModule, function: cst.FunctionDef) -> str | None:
    if not _DEVICE_NAME.search(function.name.value):
        return None
    value = module.evaluator.return_value(function)
    known = value.kind is Kind.DEVICE and value.device is not Device.UNKNOWN
    return value.device.value if known else None


def _is_own_move(function: cst.FunctionDef) -> bool:
    """A method ``to`` that has no parameter ``non_blocking``."""
    params = (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params)
    named = function.name.value == "to" and bool(params) and params[0].name.value == "self"
    return named and function.params.star_kwarg is None and all(p.name.value != "non_blocking" for p in params)
