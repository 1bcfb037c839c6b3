"""What the files of one run know of each other: small facts of each file, merged, and asked for by name.

A fact says what a file offers to others: helpers that set backend flags, functions that feed batches to an
accelerator, whether anything is seeded. Facts are plain JSON, so that they can be kept in the cache and
sent to other processes, and merging them does not depend on any order.

Each file asks through a :class:`View`, which notes questions and answers: a result stays valid for as long as
the answers stay the same.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, TypedDict


class FlagWrite(TypedDict):
    """A backend flag that a helper leaves behind; ``soft`` where it only warns."""

    flag: str
    value: bool | None
    soft: bool
    line: int


class FlagExit(TypedDict):
    """The flags at the end of one way through a helper, and what its parameters were on that way."""

    writes: list[FlagWrite]
    conditions: dict[str, bool]


class FlagHelper(TypedDict):
    """A function that sets backend flags; ``parameters`` in order, ``defaults`` where they are literals."""

    parameters: list[str]
    defaults: dict[str, bool]
    exits: list[FlagExit]


class Feeding(TypedDict):
    """A loader whose batches are moved to an accelerator; ``evaluation`` where gradients are off."""

    line: int
    evaluation: bool


class Made(TypedDict):
    """A result of a function of another file that is used as a loader; ``place`` is its place in a tuple."""

    function: str
    place: int | None
    feeding: Feeding


class Relay(TypedDict):
    """A result of one function of another file that is given to a second one, which may feed it."""

    function: str
    place: int | None
    to: str
    argument: int | str


class Given(TypedDict):
    """A loader made in this file and given to a function of another one."""

    function: str
    argument: int | str
    pins: bool
    line: int


class FileFacts(TypedDict, total=False):
    """What one file offers to the others. Whatever is absent is not there."""

    seeds: bool
    tunes: bool
    sets_device: bool
    sets_dtype: bool
    flags: dict[str, FlagHelper]
    feeds: dict[str, dict[str, Feeding]]
    parameters: dict[str, list[str]]
    made: list[Made]
    relays: list[Relay]
    given: list[Given]
    shapes: list[tuple[int, str]]
    cuda_packages: list[str]
    needs_cuda: dict[str, str]
    devices: dict[str, str]
    cuda_checks: dict[str, str]
    containers: bool
    convolves: bool


Question = tuple[str, ...]
_KINDS = ("flags", "feeds", "devices", "needs_cuda", "cuda_checks")


class Project:
    """The facts of the files of a run, by path with forward slashes."""

    def __init__(self, facts: Mapping[str, FileFacts] | None = None) -> None:
        self.facts = {path.replace("\\", "/"): found for path, found in sorted((facts or {}).items())}

    # -- where a name is defined -----------------------------------------------------------------

    def module(self, asking: str, dotted: str) -> str | None:
        """The file that an import of a module means, seen from another file; None outside of the run.

        Absolute names are looked up the way a script finds them: beside the file, then in each folder above.
        """
        folder = posixpath.dirname(asking.replace("\\", "/"))
        name = dotted.lstrip(".")
        tail = name.replace(".", "/")
        level = len(dotted) - len(name)
        if level:
            for _ in range(level - 1):
                folder = posixpath.dirname(folder)
            return self._file(posixpath.join(folder, tail) if tail else folder)
        while True:
            found = self._file(posixpath.join(folder, tail))
            if found is not None or folder == posixpath.dirname(folder):
                return found
            folder = posixpath.dirname(folder)

    def _file(self, stem: str) -> str | None:
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            if path in self.facts:
                return path
        return None

    def definition(self, asking: str, dotted: str, kind: str) -> tuple[str, str] | None:
        """The file and the name in it that a dotted name stands for, where that has facts of a kind.

        A package may hand on a name of a module inside it: then exactly one module must offer it.
        """
        target = self._target(asking, dotted)
        if target is None:
            return None
        path, name = target
        if name in self.facts[path].get(kind, {}):  # type: ignore[operator]
            return path, name
        if posixpath.basename(path) != "__init__.py":
            return None
        inside = posixpath.dirname(path) + "/"
        offers = [other for other in self._offers.get((kind, name), ()) if other.startswith(inside)]
        return (offers[0], name) if len(offers) == 1 else None

    @cached_property
    def _offers(self) -> dict[tuple[str, str], list[str]]:
        found: dict[tuple[str, str], list[str]] = {}
        for path, facts in self.facts.items():
            for kind in _KINDS:
                for name in facts.get(kind, {}):  # type: ignore[attr-defined]
                    found.setdefault((kind, name), []).append(path)
        return found

    # -- answers ---------------------------------------------------------------------------------

    def flag_helper(self, asking: str, name: str) -> tuple[str, FlagHelper] | None:
        """The function of another file that a call runs, if it sets backend flags, with its path."""
        found = self.definition(asking, name, "flags")
        return (found[0], self.facts[found[0]]["flags"][found[1]]) if found else None

    def fed(self, asking: str, name: str, argument: str) -> tuple[str, Feeding] | None:
        """Whether a function of another file feeds the loader that it gets as an argument.

        ``argument`` is a keyword, or the number of a positional argument.
        """
        found = self.definition(asking, name, "feeds")
        if found is None:
            return None
        path, function = found
        facts = self.facts[path]
        if argument.isdigit():
            parameters = facts.get("parameters", {}).get(function, [])
            if int(argument) >= len(parameters):
                return None
            argument = parameters[int(argument)]
        feeding = facts["feeds"][function].get(argument)
        return (path, feeding) if feeding else None

    def results_fed(self, asking: str, name: str) -> list[tuple[str, int | None, Feeding]]:
        """Where other files feed the loaders that a function of the asking file returns."""
        return self._made.get((asking.replace("\\", "/"), name), [])

    @cached_property
    def _made(self) -> dict[tuple[str, str], list[tuple[str, int | None, Feeding]]]:
        found: dict[tuple[str, str], list[tuple[str, int | None, Feeding]]] = {}
        for path, facts in self.facts.items():
            for made in facts.get("made", ()):
                target = self._target(path, made["function"])
                if target is not None:
                    found.setdefault(target, []).append((path, made["place"], made["feeding"]))
            for relay in facts.get("relays", ()):
                target = self._target(path, relay["function"])
                fed = self.fed(path, relay["to"], str(relay["argument"])) if target is not None else None
                if target is not None and fed is not None:
                    found.setdefault(target, []).append((fed[0], relay["place"], fed[1]))
        return found

    def _target(self, asking: str, dotted: str) -> tuple[str, str] | None:
        """The file that a dotted name leads to, and the rest of the name: a function, class or ``Class.method``."""
        level = len(dotted) - len(dotted.lstrip("."))
        parts = dotted[level:].split(".")
        for length in (1, 2):
            head = "." * level + ".".join(parts[:-length])
            path = self.module(asking, head) if head and len(parts) >= length else None
            if path is not None:
                return path, ".".join(parts[-length:])
        return None

    def pinned(self, asking: str, name: str) -> dict[str, tuple[str, bool, int]]:
        """Which parameters of a function of the asking file get a loader from another file, and if it pins.

        The keys are keywords or the numbers of positional arguments, as the calls are written.
        """
        return self._given.get((asking.replace("\\", "/"), name), {})

    @cached_property
    def _given(self) -> dict[tuple[str, str], dict[str, tuple[str, bool, int]]]:
        found: dict[tuple[str, str], dict[str, tuple[str, bool, int]]] = {}
        for path, facts in self.facts.items():
            for given in facts.get("given", ()):
                target = self._target(path, given["function"])
                if target is not None:
                    place = found.setdefault(target, {})
                    key = str(given["argument"])
                    known = place.get(key)
                    place[key] = (path, given["pins"] and (known is None or known[1]), given["line"])
        return found

    def device(self, asking: str, name: str) -> str | None:
        """``cpu``, ``cuda`` or ``variable`` for a function of another file that returns such a device."""
        found = self.definition(asking, name, "devices")
        return self.facts[found[0]]["devices"][found[1]] if found else None

    def seeds(self, _: str) -> bool:
        """Some file of the run seeds random numbers."""
        return any(facts.get("seeds") for facts in self.facts.values())

    def tunes(self, _: str) -> bool:
        """Some file of the run names cuDNN's switches or asks for determinism."""
        return any(facts.get("tunes") for facts in self.facts.values())

    def sets_device(self, _: str) -> bool:
        """Some file of the run sets or scopes the default device."""
        return any(facts.get("sets_device") for facts in self.facts.values())

    def sets_dtype(self, _: str) -> bool:
        """Some file of the run sets the default dtype."""
        return any(facts.get("sets_dtype") for facts in self.facts.values())

    def closed(self, asking: str, *modules: str) -> bool:
        """All of these imports mean files of the run, so that nothing of the program is out of sight."""
        return all(self._imported(asking, name) for name in modules)

    def containers(self, asking: str, *modules: str) -> bool:
        """Some class of the file or of what it imports has a ``to`` that does not take ``non_blocking``."""
        return any(self.facts[path].get("containers") for path in [asking, *self._meant(asking, modules)])

    def convolves(self, asking: str, *modules: str) -> bool:
        """Some file that these imports mean builds convolutions."""
        return any(self.facts[path].get("convolves") for path in self._meant(asking, modules))

    def _meant(self, asking: str, modules: Iterable[str]) -> list[str]:
        found = {self._imported(asking, name) for name in modules}
        return sorted(path for path in found if path)

    def shapes(self, asking: str, *modules: str) -> list[tuple[str, int, str]]:
        """What makes input shapes vary, in the files that some imports mean."""
        return [
            (path, line, text)
            for path in self._meant(asking, modules)
            for line, text in self.facts[path].get("shapes", ())
        ]

    def cuda_only(self, asking: str, module: str) -> tuple[str, str] | None:
        """The file that an import means, and the package for CUDA that it cannot be imported without, if so."""
        path = self._imported(asking, module)
        package = self._cuda_package(path) if path is not None else None
        return (path, package) if path is not None and package is not None else None

    def _cuda_package(self, path: str) -> str | None:
        """What is a module of the project is no package for CUDA; its own facts tell what it needs."""
        todo, seen = [path], {path}
        while todo:
            current = todo.pop()
            for name in self.facts[current].get("cuda_packages", ()):
                own = self._imported(current, name) if name.startswith(".") else None
                if own is None:
                    return name
                if own not in seen:
                    seen.add(own)
                    todo.append(own)
        return None

    def _imported(self, asking: str, name: str) -> str | None:
        """The file that an import of a module, or of something in it, means."""
        around = name.rpartition(".")[0]
        return self.module(asking, name) or (self.module(asking, around) if around.strip(".") else None)

    def needs_cuda(self, asking: str, name: str) -> tuple[str, str] | None:
        """The file of a function that cannot run without CUDA, and why it cannot."""
        found = self.definition(asking, name, "needs_cuda")
        return (found[0], self.facts[found[0]]["needs_cuda"][found[1]]) if found else None

    def cuda_check(self, asking: str, name: str) -> str | None:
        """What a function of another file does about a missing CUDA: ``ends`` or ``falls back``."""
        found = self.definition(asking, name, "cuda_checks")
        return self.facts[found[0]]["cuda_checks"][found[1]] if found else None


class View:
    """The project as one file sees it. ``asked`` holds every question with its answer."""

    def __init__(self, project: Project, path: str) -> None:
        self._project = project
        self._path = path.replace("\\", "/")
        self.asked: dict[Question, Any] = {}

    def digests(self) -> tuple[tuple[Question, str], ...]:
        """Every question asked, with a digest of its answer."""
        return tuple((question, _digest(found)) for question, found in sorted(self.asked.items()))

    def _ask(self, *question: str) -> Any:
        if question not in self.asked:
            self.asked[question] = answer(self._project, self._path, question)
        return self.asked[question]

    def seeds(self) -> bool:
        """See :meth:`Project.seeds`."""
        return bool(self._ask("seeds"))

    def tunes(self) -> bool:
        """See :meth:`Project.tunes`."""
        return bool(self._ask("tunes"))

    def sets_device(self) -> bool:
        """See :meth:`Project.sets_device`."""
        return bool(self._ask("sets_device"))

    def sets_dtype(self) -> bool:
        """See :meth:`Project.sets_dtype`."""
        return bool(self._ask("sets_dtype"))

    def flag_helper(self, name: str) -> tuple[str, FlagHelper] | None:
        """See :meth:`Project.flag_helper`."""
        return self._ask("flag_helper", name)  # type: ignore[no-any-return]

    def fed(self, name: str, argument: int | str) -> tuple[str, Feeding] | None:
        """See :meth:`Project.fed`."""
        return self._ask("fed", name, str(argument))  # type: ignore[no-any-return]

    def results_fed(self, name: str) -> list[tuple[str, int | None, Feeding]]:
        """See :meth:`Project.results_fed`."""
        return self._ask("results_fed", name)  # type: ignore[no-any-return]

    def pinned(self, name: str) -> dict[str, tuple[str, bool, int]]:
        """See :meth:`Project.pinned`."""
        return self._ask("pinned", name)  # type: ignore[no-any-return]

    def device(self, name: str) -> str | None:
        """See :meth:`Project.device`."""
        return self._ask("device", name)  # type: ignore[no-any-return]

    def closed(self, modules: Iterable[str]) -> bool:
        """See :meth:`Project.closed`."""
        return bool(self._ask("closed", *sorted(set(modules))))

    def containers(self, modules: Iterable[str]) -> bool:
        """See :meth:`Project.containers`."""
        return bool(self._ask("containers", *sorted(set(modules))))

    def convolves(self, modules: Iterable[str]) -> bool:
        """See :meth:`Project.convolves`."""
        return bool(self._ask("convolves", *sorted(set(modules))))

    def shapes(self, modules: Iterable[str]) -> list[tuple[str, int, str]]:
        """See :meth:`Project.shapes`."""
        return self._ask("shapes", *sorted(set(modules)))  # type: ignore[no-any-return]

    def cuda_only(self, module: str) -> tuple[str, str] | None:
        """See :meth:`Project.cuda_only`."""
        return self._ask("cuda_only", module)  # type: ignore[no-any-return]

    def needs_cuda(self, name: str) -> tuple[str, str] | None:
        """See :meth:`Project.needs_cuda`."""
        return self._ask("needs_cuda", name)  # type: ignore[no-any-return]

    def cuda_check(self, name: str) -> str | None:
        """See :meth:`Project.cuda_check`."""
        return self._ask("cuda_check", name)  # type: ignore[no-any-return]


def answer(project: Project, path: str, question: Question) -> Any:
    """What a project answers to a question of a file. Raises ``KeyError`` for a question there is not."""
    name, *words = question
    if name not in QUESTIONS:
        raise KeyError(name)
    return getattr(project, name)(path, *words)


def digest_of(project: Project, path: str, question: Question) -> str:
    """A digest of what a project answers to a question of a file; of a question there is not, none at all."""
    try:
        return _digest(answer(project, path.replace("\\", "/"), question))
    except (KeyError, TypeError, ValueError):
        return ""


def _digest(found: object) -> str:
    import json

    from torchlint.base.digests import blake2b

    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


QUESTIONS = frozenset(
    "seeds tunes sets_device sets_dtype closed containers convolves flag_helper fed results_fed pinned device shapes "
    "cuda_only needs_cuda cuda_check".split()
)
