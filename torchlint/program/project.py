"""The modules of a project by the names that imports give them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

from torchlint.knowledge.following import DEFAULT_DEVICE, VALIDATION
from torchlint.program.modules import Module
from torchlint.program.world import USUAL, World, option_name
from torchlint.project.definitions import Definitions
from torchlint.project.outline import Outlines


class Program:
    """The Python files of a run, as modules, and the world in which they are run."""

    def __init__(
        self,
        contents: Mapping[str, bytes],
        world: World = USUAL,
    ) -> None:
        self.world = world
        paths = {path.replace("\\", "/"): content for path, content in contents.items()}
        self._definitions = Definitions(paths, Outlines({}))
        self.modules: dict[str, Module] = {}
        seen: Counter[bytes] = Counter()
        for path, content in sorted(paths.items()):
            self.modules[path] = Module(path, _dotted(path), content, copy=seen[content])
            seen[content] += 1
        self._named = {module.name: module for module in self.modules.values()}

    def find(self, name: str, asking: Module | None = None) -> Module | None:
        """The module that an import of a name means; relative names begin with dots."""
        path = self._definitions.module(asking.path if asking is not None else "", name)
        return self.modules.get(path) if path is not None else None

    @cached_property
    def sets_default_device(self) -> bool:
        """Whether some file chooses where tensors are made without ``device``."""
        own = [module.content for module in self.modules.values() if not module.is_test]
        return any(word in content for content in own for word in DEFAULT_DEVICE)

    @cached_property
    def decides_validation(self) -> bool:
        """Whether some file chooses whether distributions check their arguments."""
        return any(VALIDATION in module.content for module in self.modules.values() if not module.is_test)

    def said(self, option: str) -> frozenset[str]:
        """The values that the project gives an option; of the empty name, all words of option files."""
        return self.declared(option) | self._passed.get(option_name(option), frozenset())

    def declared(self, option: str) -> frozenset[str]:
        """The values that option files give an option."""
        return self._declared.get(option_name(option), frozenset())

    @cached_property
    def dotted(self) -> list[str]:
        """The words of option files that may be dotted names."""
        return sorted(word for word in self.declared("") if "." in word)

    @cached_property
    def _declared(self) -> dict[str, frozenset[str]]:
        return _by_name(pair for pair in self.world.said if pair[0][:1] != "-")

    @cached_property
    def _passed(self) -> dict[str, frozenset[str]]:
        return _by_name(pair for pair in self.world.said if pair[0][:1] == "-")

    def named(self, dotted: str) -> Module | None:
        """The module with this full dotted name."""
        return self._named.get(dotted)

    def programs(self) -> list[Module]:
        """The files that are run: first those that seem to train, then those nearest to the root."""
        named = self.world.programs
        found = [m for m in self.modules.values() if (m.is_program if named is None else m.path in named)]
        return sorted(found, key=lambda module: (_order(module), module.path.count("/")))


def _by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for name, value in pairs:
        found[option_name(name)].add(value)
    return {name: frozenset(values) for name, values in found.items()}


def _order(module: Module) -> int:
    file = module.path.rpartition("/")[2]
    if b"__main__" not in module.content:
        return 2
    return 0 if "train" in file or "main" in file else 1


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").strip("/").replace("/", ".")
