"""The facts about all files of a run, merged, with queries by dotted name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from torchlint.project.definitions import Definitions
from torchlint.project.facts import FileFacts, FlagHelper
from torchlint.project.followed import NOT_FOLLOWED, FollowedFile, Unfollowed, digest, moved
from torchlint.project.outline import Outlines
from torchlint.project.programs import Programs


class Project:
    """The facts about all files of a run, by path with forward slashes. ``asking`` is the file that queries.

    ``followed`` is what following the programs of the project tells of each file. Without facts, each file is linted
    ``alone``, with its own facts and with what is followed.
    """

    def __init__(
        self,
        facts: Mapping[str, FileFacts] | None = None,
        outlines: Outlines | None = None,
        followed: Mapping[str, FollowedFile] | None = None,
    ) -> None:
        self.alone = facts is None
        self._followed = followed or {}
        self.facts = {path.replace("\\", "/"): found for path, found in sorted((facts or {}).items())}
        self._definitions = Definitions(self.facts, outlines or Outlines({}))
        self._programs = Programs(self.facts, self._definitions)
        self._cuda_packages: dict[str, str | None] = {}

    def for_content(self, path: str, content: bytes) -> Project:
        """The project for linting this content of a file: without what was followed of another content of it."""
        name = path.replace("\\", "/")
        known = self._followed.get(name)
        if known is None or known.content == digest(content):
            return self
        return self._with_file(name, NOT_FOLLOWED)

    def for_edit(self, path: str, before: bytes, after: bytes) -> Project:
        """The project for linting other content of a file: what was followed of lines that stay is known of them."""
        name = path.replace("\\", "/")
        return self._with_file(name, moved(self._followed.get(name, NOT_FOLLOWED), before, after))

    def _with_file(self, name: str, known: FollowedFile) -> Project:
        found = Project(None if self.alone else self.facts, followed={**self._followed, name: known})
        found._definitions, found._programs = self._definitions, self._programs
        return found

    def of_file(self, path: str, facts: FileFacts) -> Project:
        """A file with its own facts alone, and with what is followed."""
        return Project({path: facts}, followed=self._followed)

    def with_followed(self, followed: Mapping[str, FollowedFile]) -> Project:
        """The same files, of which something else is known."""
        found = Project(self.facts, followed=followed)
        found._definitions, found._programs = self._definitions, self._programs
        return found

    # -- where a name is defined -----------------------------------------------------------------

    def module(self, asking: str, dotted: str) -> str | None:
        """See :meth:`Definitions.module`."""
        return self._definitions.module(asking, dotted)

    def definition(self, asking: str, dotted: str, kind: str) -> tuple[str, str] | None:
        """The file and the name in it that a dotted name resolves to, if it has facts of a kind."""
        place = self._definitions.place(asking, dotted)
        return place if place is not None and place[1] in self.facts[place[0]].get(kind, {}) else None  # type: ignore[operator]

    def unresolved(self, path: str) -> list[str]:
        """See :meth:`Definitions.unresolved`."""
        return self._definitions.unresolved(path)

    # -- queries ---------------------------------------------------------------------------------

    def followed(self, asking: str) -> FollowedFile:
        """What following the programs of the project tells of the asking file."""
        return self._followed.get(asking, NOT_FOLLOWED)

    def unfollowed(self) -> list[tuple[str, Unfollowed]]:
        """What the limit of the work left out of the programs of the project, by file."""
        left = ((path, known.unfollowed) for path, known in sorted(self._followed.items()))
        return [(path, one) for path, one in left if one != Unfollowed()]

    def flag_helper(self, asking: str, name: str) -> tuple[str, FlagHelper] | None:
        """The callee in another file, if it sets backend flags, with its path."""
        found = self.definition(asking, name, "flags")
        return (found[0], self.facts[found[0]]["flags"][found[1]]) if found else None

    def device(self, asking: str, name: str) -> str | None:
        """The device that a function of another file returns: ``cpu``, ``cuda`` or ``variable``; None if unknown."""
        found = self.definition(asking, name, "devices")
        return self.facts[found[0]]["devices"][found[1]] if found else None

    def seeds(self, _: str) -> bool:
        """Whether some file of the run seeds random number generators."""
        return any(facts.get("seeds") for facts in self.facts.values())

    def configures_cudnn(self, _: str) -> bool:
        """Whether some file of the run mentions cuDNN's flags or deterministic algorithms."""
        return any(facts.get("configures_cudnn") for facts in self.facts.values())

    def sets_device(self, _: str) -> bool:
        """Whether some file of the run sets the default device, globally or in a context."""
        return any(facts.get("sets_device") for facts in self.facts.values())

    def sets_dtype(self, _: str) -> bool:
        """Whether some file of the run sets the default dtype."""
        return any(facts.get("sets_dtype") for facts in self.facts.values())

    def redefines(self, _: str) -> bool:
        """Whether some file of the run defines classes that act as tensors, or changes what torch's functions do."""
        return any(facts.get("redefines") for facts in self.facts.values())

    def own_moves(self, asking: str, *modules: str) -> bool:
        """Whether the file or its imports define a method that moves objects of its own."""
        return any(self.facts[path].get("own_moves") for path in [asking, *self._meant(asking, modules)])

    def sets_precision(self, _: str) -> bool:
        """Whether some file of the run chooses how float32 is computed, or computes in another dtype."""
        return any(facts.get("sets_precision") for facts in self.facts.values())

    def multiplies(self, asking: str, *modules: str) -> bool:
        """Whether a file that these imports resolve to multiplies matrices, other than in convolutions."""
        return any(self.facts[path].get("multiplies") for path in self._meant(asking, modules))

    def lacks_device(self, asking: str) -> bool:
        """Whether a file computes with tensors, and no file of the run shows that they may be on an accelerator."""
        name = asking.replace("\\", "/")
        known = self._followed.get(name, NOT_FOLLOWED)
        others = (facts for path, facts in self.facts.items() if path != name)
        shown = known.steps or known.tensors or any(facts.get("trains_on_accelerator") for facts in others)
        return bool(self.facts.get(name, {}).get("lacks_device")) and not shown

    def contains_all(self, asking: str, *modules: str) -> bool:
        """Whether all of these imports resolve to files of the run, so that the whole program is visible."""
        return all(self._definitions.imported(asking, name) for name in modules)

    def convolves(self, asking: str, *modules: str) -> bool:
        """Whether a file that these imports resolve to constructs convolutions."""
        return any(self.facts[path].get("convolves") for path in self._meant(asking, modules))

    def _meant(self, asking: str, modules: Iterable[str]) -> list[str]:
        found = {self._definitions.imported(asking, name) for name in modules}
        return sorted(path for path in found if path)

    def varying_shapes(self, asking: str, *modules: str) -> list[tuple[str, int, str]]:
        """The reasons for varying input shapes in the files that these imports resolve to: path, line and text."""
        return [
            (path, line, text)
            for path in self._meant(asking, modules)
            for line, text in self.facts[path].get("varying_shapes", ())
        ]

    def cuda_only(self, asking: str, module: str) -> tuple[str, str] | None:
        """The file that an import resolves to, and the CUDA-only package without which it cannot be imported."""
        if not self._imports_cuda_packages:
            return None
        for path in self._definitions.loaded(asking, module):
            package = self._cuda_package(path)
            if package is not None:
                return path, package
        return None

    @cached_property
    def _imports_cuda_packages(self) -> bool:
        return any(name for path in self.facts for name in self._own_cuda_packages(path))

    def _cuda_package(self, path: str) -> str | None:
        """The first CUDA-only package that a file imports, directly or through modules of the project."""
        if path not in self._cuda_packages:
            self._cuda_packages[path] = next(self._cuda_packages_of(path), None)
        return self._cuda_packages[path]

    def _cuda_packages_of(self, path: str) -> Iterator[str]:
        todo = [path]
        seen = set(todo)
        for current in todo:  # which grows
            yield from self._own_cuda_packages(current)
            found = self._definitions.loads(current) - seen
            todo += sorted(found)
            seen |= found

    def _own_cuda_packages(self, path: str) -> Iterator[str]:
        """The CUDA-only packages that a file imports directly; a module of the project may have the name of one."""
        for name in self.facts[path].get("cuda_packages", ()):
            if not name.startswith(".") or self._definitions.imported(path, name) is None:
                yield name
        yield from (name for name in self._definitions.required(path) if self.compiled_for_cuda(path, name))

    def compiled_for_cuda(self, asking: str, name: str) -> bool:
        """Whether an import is that of an extension for CUDA: the project builds it, or its name says so.

        The name does if it is that of a module, such as ``deform_conv_cuda``, of which the run has no file.
        """
        last = name.rpartition(".")[2]
        named = last.endswith("_cuda") and not name[: -len(last)].strip(".")
        return (named or last in self._cuda_extensions) and self.module(asking, name) is None

    @cached_property
    def _cuda_extensions(self) -> frozenset[str]:
        """The extensions that the files of the run build for CUDA, without their packages."""
        every = (name for facts in self.facts.values() for name in facts.get("cuda_extensions", ()))
        return frozenset(name.rpartition(".")[2] for name in every)

    def cuda_programs(self, asking: str) -> tuple[str, str] | None:
        """A program that uses the file, and why it needs CUDA, if every program that uses the file does.

        A file that no program imports is a program itself.
        """
        found = [(path, self._program_reason(path)) for path in self._programs.using(asking) or (asking,)]
        needy = [(path, why) for path, why in found if why is not None]
        return needy[0] if needy and len(needy) == len(found) else None

    def _program_reason(self, path: str) -> str | None:
        facts = self.facts.get(path, {})
        package = self._cuda_package(path) if facts else None
        return f"it imports `{package}`" if package else facts.get("cuda_program")

    def needs_cuda(self, asking: str, name: str) -> tuple[str, str] | None:
        """The file of a function that cannot run without CUDA, and the reason."""
        found = self.definition(asking, name, "needs_cuda")
        return (found[0], self.facts[found[0]]["needs_cuda"][found[1]]) if found else None

    def cuda_check(self, asking: str, name: str) -> str | None:
        """What a function of another file does if CUDA is not available: ``ends`` or ``falls back``."""
        found = self.definition(asking, name, "cuda_checks")
        return self.facts[found[0]]["cuda_checks"][found[1]] if found else None
