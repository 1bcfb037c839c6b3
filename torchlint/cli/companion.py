"""The commands of the runtime companion."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torchlint.base.version import installation
from torchlint.cli import terminal
from torchlint.cli.output import Failure, colored, need, print_text, write_file
from torchlint.cli.settings import configured
from torchlint.config.config import Config
from torchlint.config.files import read_budget
from torchlint.confirm import again, evidence, lasting, launch, order, prepare, prices
from torchlint.confirm.budget import BudgetProblem
from torchlint.confirm.order import Order
from torchlint.confirm.result import Result, result
from torchlint.run import results, session
from torchlint.run.plan import Plan
from torchlint.text.visible import visible

_PROBLEMS = (order.OrderProblem, evidence.EvidenceProblem, prices.ProfileProblem, BudgetProblem)
CLEAN, FOUND, FAILED = 0, 1, 2


def run(arguments: argparse.Namespace, program: Sequence[str]) -> int:
    """Run a command; ``program`` is the part of the command line after ``--``."""
    try:
        if arguments.command == "verdict":
            return _verdict(arguments)
        if arguments.command == "calibrate":
            return _calibrate(arguments)
        given = list(program) or [word for word in arguments.program if word != "--"]
        if arguments.command == "compare":
            return _compare(arguments, given)
        return _confirm(arguments, given)
    except _PROBLEMS as problem:
        raise Failure(str(problem)) from None


# -- confirm -------------------------------------------------------------------------------------


def _confirm(arguments: argparse.Namespace, given: Sequence[str]) -> int:
    need(arguments.output_format)
    if arguments.output_format == "html" and not arguments.output_file:
        raise Failure("--output-format html: give --output-file FILE; the program's own output goes to the terminal")
    what = prepare.program(given)
    _need_torch()
    plan = _plan(arguments, what.shown)
    budget = _budget(arguments, plan.config)
    price_list = _prices(arguments)
    directory = prepare.folder(arguments.evidence)
    try:
        ordered, path = _ordered(arguments, what, plan, directory)
        shown = sys.stderr.isatty() and not arguments.quiet and not prepare.rank()
        told = _Progress() if shown else None
        ended = launch.launch(path, ordered, told.show if told else None)
        if told is not None:
            told.clear()
        if ended.refused is not None:
            raise Failure(ended.refused)
        if prepare.rank() != 0:
            return ended.status
        return _report(arguments, plan, ordered, price_list, budget, ended.status)
    finally:
        if arguments.evidence is None and prepare.rank() == 0:
            prepare.remove(directory)


def _need_torch() -> None:
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise Failure(f"PyTorch is not installed for this Python; install it: {installation('runtime')}")


def _ordered(arguments: argparse.Namespace, what: prepare.Program, plan: Plan, directory: str) -> tuple[Order, str]:
    """The order of this run, and its file; all ranks of torchrun share that of rank 0."""
    name = prepare.run_name()
    if prepare.rank() != 0 and name is not None:
        path = prepare.await_order(directory, name)
        return order.read(directory), path
    paths = prepare.files_of(what)
    found = (
        order.read_findings(arguments.findings, os.getcwd()) if arguments.findings else prepare.findings_of(paths, plan)
    )
    made = _limited(arguments, prepare.make(what, found, paths, plan, directory))
    made = replace(made, run=name or made.run, reported=bool(arguments.findings))
    return made, order.write(made)


def _limited(arguments: argparse.Namespace, made: Order) -> Order:
    """The order with the mode and the limits of the command line."""
    return replace(
        made,
        mode=arguments.on,
        steps=arguments.steps,
        seconds=arguments.seconds,
        devices=arguments.devices,
        profile_steps=getattr(arguments, "profile_steps", 0),
    )


def _report(
    arguments: argparse.Namespace,
    plan: Plan,
    ordered: Order,
    price_list: prices.Prices,
    budget: Mapping[str, float],
    status: int,
) -> int:
    """Judge the evidence, however the program ended; a failure of the program itself is reported first."""
    try:
        world = int(os.environ.get("WORLD_SIZE", "1") or 1)
        if world > 1:
            prepare.await_ranks(ordered.directory, ordered.run, world)
        seen = _evidence(ordered, price_list)
        changed = order.stale(ordered, {})
        if changed is not None:
            raise Failure(f"{changed}: was changed while the program ran; run it again")
        ordered = again.with_findings(ordered, seen, price_list, plan)
        judged = result(ordered, seen, price_list, budget if not status else {})
    except (*_PROBLEMS, Failure) as problem:
        if not status:
            raise Failure(str(problem)) from None
        print_text(f"torchlint: error: {visible(str(problem))}\n", sys.stderr)
        return status
    if arguments.evidence is not None:
        _keep(ordered, seen, price_list)
    _write(arguments, judged, sys.stderr)
    if status:
        return status
    return FOUND if judged.fails(plan.config.fail_on) else CLEAN


def _keep(ordered: Order, seen: evidence.Run, price_list: prices.Prices) -> None:
    """Write what can be committed; if that fails, the report still says what the run has shown."""
    try:
        lasting.write(ordered, seen, price_list)
    except OSError as error:
        said = f"{error.filename}: cannot be written ({error.strerror}); later runs cannot lint with this evidence"
        print_text(f"torchlint: error: {visible(said)}\n", sys.stderr)


def _write(arguments: argparse.Namespace, judged: Result, stream: Any) -> None:
    from torchlint.confirm import chrome, documents, text
    from torchlint.run.rules import registry

    if arguments.trace:
        write_file("--trace", arguments.trace, chrome.document(judged.run))
    to_file = bool(arguments.output_file) and arguments.output_file != "-"
    target = sys.stdout if arguments.output_file == "-" else stream
    if arguments.output_format == "text":
        color = colored(arguments.color, to_file=to_file, stream=target)
        written = text.render(judged, color=color, verbose=arguments.verbose)
    else:
        written = documents.RENDERERS[arguments.output_format](judged, results.infos(registry.load()))
    if to_file:
        write_file("--output-file", arguments.output_file, written)
    else:
        sys.stdout.flush()
        print_text(written, target)


def _plan(arguments: argparse.Namespace, start: str) -> Plan:
    """The plan for linting the program's files."""
    return session.plan_of(configured(arguments, [start]))


def _prices(arguments: argparse.Namespace) -> prices.Prices:
    """The price list, and how long a step takes on a GPU if the command line says it."""
    return replace(prices.load(arguments.profile), step=arguments.gpu_step)


def _evidence(ordered: Order, price_list: prices.Prices) -> evidence.Run:
    """The evidence of an order's run, which says so if a given time of a step is not used."""
    seen = evidence.read(ordered.directory, ordered.run)
    if price_list.step is not None and seen.mode != "sim":
        seen.notes.append("--gpu-step is not used: the steps of a run that is not simulated are measured")
    return seen


def _budget(arguments: argparse.Namespace, config: Config) -> Mapping[str, float]:
    return read_budget(arguments.budget) if arguments.budget else config.budget


class _Progress:
    """One line on the terminal with the progress of the program."""

    def __init__(self) -> None:
        terminal.prepare()

    def show(self, steps: int, seconds: float, waits: int) -> None:
        """Redraw the line."""
        text = f"torchlint: {steps} steps in {seconds:.0f} s, {waits} synchronizations"
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Erase the line."""
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


# -- verdict -------------------------------------------------------------------------------------


def _verdict(arguments: argparse.Namespace) -> int:
    need(arguments.output_format)
    ordered = order.read(arguments.directory)
    plan = _plan(arguments, ordered.script or ".")
    price_list = _prices(arguments)
    seen = _evidence(ordered, price_list)
    changed = order.stale(ordered, {} if ordered.lint else seen.sources)
    if changed is not None:
        raise Failure(f"{changed}: is not what it was when the evidence was recorded; run `torchlint confirm` again")
    seen.notes += [f"{path} has changed since; this is what it was" for path in order.changed(ordered)]
    if ordered.lint:
        ordered = prepare.adopted(ordered, plan)
    ordered = again.with_findings(ordered, seen, price_list, plan)
    judged = result(ordered, seen, price_list, _budget(arguments, plan.config))
    _write(arguments, judged, sys.stdout)
    return FOUND if judged.fails(plan.config.fail_on) else CLEAN


# -- compare and calibrate -----------------------------------------------------------------------


def _compare(arguments: argparse.Namespace, given: Sequence[str]) -> int:
    from torchlint.confirm import compare

    what = prepare.program(given)
    _need_torch()
    plan = _plan(arguments, what.shown)
    paths = prepare.files_of(what)
    found = (
        order.read_findings(arguments.findings, os.getcwd()) if arguments.findings else prepare.findings_of(paths, plan)
    )
    directory = prepare.folder(None)
    try:
        finding = compare.chosen(found, arguments.finding)
        made = _limited(arguments, prepare.make(what, [finding], paths, plan, directory))
        forms = compare.Forms(finding, made, unsafe=arguments.unsafe_fixes)
        measured = compare.measure(forms, arguments.method, blocks=arguments.blocks, pairs=arguments.pairs, told=_tell)
    except compare.ComparisonProblem as problem:
        raise Failure(str(problem)) from None
    finally:
        prepare.remove(directory)
    written = compare.as_json(measured) if arguments.output_format == "json" else compare.as_text(measured)
    if arguments.output_file:
        write_file("--output-file", arguments.output_file, written)
    else:
        print_text(written, sys.stderr)
    return CLEAN


def _tell(doing: str) -> None:
    print_text(f"torchlint: {doing}\n", sys.stderr)


def _calibrate(arguments: argparse.Namespace) -> int:
    import subprocess

    _need_torch()
    target = os.path.abspath(arguments.output_file)
    command = [*prepare.python(), "-m", "torchlint.runtime.calibrate", target, arguments.name or ""]
    status = subprocess.run(command, check=False).returncode
    if status:
        return FAILED
    measured = prices.load(target)
    print_text(
        f"{arguments.output_file}: prices of {measured.device}: {measured.pageable / 1000:.1f} GB/s from pageable and "
        f"{measured.pinned / 1000:.1f} GB/s from pinned memory, {measured.copy:.1f} us a copy, "
        f"{measured.synchronize:.1f} us a synchronization\n"
    )
    return CLEAN
