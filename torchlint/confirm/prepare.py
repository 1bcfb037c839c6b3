"""Prepares a run: the program, the user's modules that it imports, and their findings."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from torchlint.base import user_cache
from torchlint.base.paths import shown
from torchlint.confirm import evidence, order
from torchlint.confirm.imports import closure, program_file
from torchlint.confirm.order import Order, OrderProblem
from torchlint.model import SYNTAX_ERROR, Finding, Recipe
from torchlint.run import session
from torchlint.run.plan import Plan

_WAIT = 60.0


@dataclass(frozen=True)
class Program:
    """A script or a module, and the file that it runs."""

    script: str | None
    module: str | None
    arguments: tuple[str, ...]
    file: str

    @property
    def shown(self) -> str:
        """The path of the file as shown in reports."""
        return shown(self.file)


def program(given: Sequence[str]) -> Program:
    """The program of a command line. Raises :class:`OrderProblem`."""
    words = list(given[1:] if given and given[0] == "--" else given)
    if not words:
        raise OrderProblem("there is no program to run; write `-- script.py arguments` or `-- -m package.module`")
    if words[0] == "-m":
        if len(words) < 2:
            raise OrderProblem("-m needs a module; write `-- -m package.module arguments`")
        found = program_file(words[1], [os.getcwd()])
        if found is None:
            raise OrderProblem(f"-m {words[1]}: there is no such module here or on sys.path; check its name")
        return Program(None, words[1], tuple(words[2:]), found)
    script = words[0]
    if script.startswith("-"):
        raise OrderProblem(f"{script} is not a script; options of torchlint go before `--`")
    if os.path.isdir(script):
        raise OrderProblem(f"{script}: is a folder; name the script in it")
    if not os.path.isfile(script):
        raise OrderProblem(f"{script}: there is no such file; check the path")
    if script.lower().endswith(".ipynb"):
        advice = "convert it with `jupyter nbconvert --to script`, or call torchlint.runtime.observe in it"
        raise OrderProblem(f"{script}: is a notebook, not a program; {advice}")
    try:
        with open(script, "rb"):
            pass
    except OSError as error:
        raise OrderProblem(f"{script}: cannot be read ({error.strerror}); check its permissions") from None
    return Program(script, None, tuple(words[1:]), os.path.realpath(script))


def files_of(what: Program) -> list[str]:
    """The program's file and the user's modules that it imports."""
    bases = [os.path.dirname(what.file)]
    if what.module is not None:
        depth = what.module.count(".") + (1 if os.path.basename(what.file) == "__main__.py" else 0)
        folder = os.path.dirname(what.file)
        for _ in range(depth):
            folder = os.path.dirname(folder)
        bases.append(folder)
        if "site-packages" in folder:  # of an installed package, only the program's own modules
            return [path for path in closure(what.file, bases) if path.startswith(os.path.dirname(what.file))]
    here = os.getcwd()
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [entry for entry in entries if entry and not _has_installed(entry)]
    return closure(what.file, [*bases, here, *paths])


def _has_installed(folder: str) -> bool:
    """Whether packages are installed in a folder, as by ``pip install --target``."""
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        return False


def findings_of(paths: Sequence[str], plan: Plan) -> list[Finding]:
    """Lint files. Syntax errors are left to Python, which will report them itself."""
    run = session.run([shown(path) for path in paths], plan)
    return [finding for finding in run.findings if finding.rule in recipes_of(plan) and finding.rule != SYNTAX_ERROR]


def recipes_of(plan: Plan) -> Mapping[str, Recipe | None]:
    """How a run can confirm the findings of each rule, by its id."""
    return {rule.id: rule.recipe for rule in plan.rules}


def make(what: Program, findings: Sequence[Finding], paths: Sequence[str], plan: Plan, directory: str) -> Order:
    """The order for a run with default limits and mode."""
    recipes = recipes_of(plan)
    named = {str(number): finding for number, finding in enumerate(findings) if finding.rule in recipes}
    return Order(
        directory=directory,
        base=os.getcwd(),
        script=what.script,
        module=what.module,
        arguments=what.arguments,
        findings=named,
        recipes={name: recipes[finding.rule] for name, finding in named.items()},
        files=hashed([*paths, *(os.path.realpath(finding.path) for finding in named.values())]),
        cache=user_cache.folder(),
    )


def hashed(paths: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of all readable files."""
    return {path: found for path in sorted(set(paths)) if (found := order.digest(path)) is not None}


def adopted(made: Order, plan: Plan) -> Order:
    """An order with ``lint`` set, completed with the findings of its files."""
    recipes = recipes_of(plan)
    named = {str(number): finding for number, finding in enumerate(findings_of(list(made.files), plan))}
    return replace(made, findings=named, recipes={name: recipes[found.rule] for name, found in named.items()})


# -- where evidence goes -------------------------------------------------------------------------


def rank() -> int:
    """The rank of this process under torchrun, else 0."""
    return int(os.environ.get("RANK", "0") or 0)


def run_name() -> str | None:
    """A name that all ranks of one torchrun launch share; None without torchrun."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return None
    parts = ("TORCHELASTIC_RUN_ID", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT")
    return "-".join([*(os.environ.get(part, "") for part in parts), str(os.getppid())])


def folder(wanted: str | None) -> str:
    """The folder for the evidence, with older evidence deleted. Raises :class:`OrderProblem`."""
    if wanted is None:
        name = run_name()
        if name is None:
            return tempfile.mkdtemp(prefix="torchlint-")
        wanted = os.path.join(tempfile.gettempdir(), f"torchlint-{getattr(os, 'getuid', int)()}-{name}")
    wanted = os.path.abspath(wanted)
    try:
        os.makedirs(wanted, exist_ok=True)
        if rank() == 0:
            _emptied(wanted)
    except OSError as error:
        raise OrderProblem(f"--evidence: {wanted} cannot be used ({error.strerror}); name another folder") from None
    return wanted


def _emptied(wanted: str) -> None:
    for name in os.listdir(wanted):
        if name in (order.NAME, "refused.json") or name.startswith("evidence-"):
            path = os.path.join(wanted, name)
            if not os.path.isdir(path):
                os.unlink(path)


def remove(directory: str) -> None:
    """Delete a temporary evidence folder."""
    shutil.rmtree(directory, ignore_errors=True)


def await_order(directory: str, run: str) -> str:
    """Wait for the order that rank 0 writes. Raises :class:`OrderProblem`."""
    until = time.monotonic() + _WAIT
    while time.monotonic() < until:
        try:
            if order.read(directory).run == run:
                return os.path.join(directory, order.NAME)
        except OrderProblem:
            pass
        time.sleep(0.1)
    raise OrderProblem(f"{directory}: rank 0 has written no order; give all ranks the same --evidence folder")


def await_ranks(directory: str, run: str, world: int) -> None:
    """Wait until the other ranks have written their final evidence, with a timeout."""
    until = time.monotonic() + _WAIT
    while time.monotonic() < until:
        try:
            found = evidence.read(directory, run)
        except evidence.EvidenceProblem:
            return
        if len(found.ranks) >= world and not found.unfinished:
            return
        time.sleep(0.2)


def python() -> list[str]:
    """The Python command with the interpreter options of this process."""
    import subprocess

    return [sys.executable, *subprocess._args_from_interpreter_flags()]  # type: ignore[attr-defined]
