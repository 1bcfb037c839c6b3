"""Backends: flags that are on together, flags that stay off, and who meant it so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.flag_paths import Path, Write
from torchlint.analysis.things.flags import Flags
from torchlint.analysis.values.mappings import Mappings
from torchlint.knowledge import backends as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Conflict(NamedTuple):
    """Two writes that leave both flags True: ``later`` completes what ``earlier`` began."""

    later: Write
    earlier: Write

    @property
    def soft(self) -> bool:
        """One of the two only warns."""
        return self.later.soft or self.earlier.soft


class Backends:
    """What one module does to the flags of backends, as rules ask for it."""

    def __init__(self, module: SourceModule) -> None:
        self.module = module
        self._flags = Flags(module)
        self._mappings = Mappings(module)

    def conflicts(self, one: str, other: str) -> list[Conflict]:
        """Every pair of writes that leaves both flags True at the end of some way through the code."""
        found: dict[cst.CSTNode, Conflict] = {}
        order = self.module.order
        for path in self._ends(frozenset({one, other})):
            if path.completed is None:
                continue
            conflict = self._conflict(path, path.completed, (one, other))
            if conflict.later.node is conflict.earlier.node and conflict.later.elsewhere is not None:
                continue  # both are set in the other file, which is told there
            known_one = found.get(conflict.later.node)
            if known_one is None or order(conflict.earlier.node) < order(known_one.earlier.node):
                found[conflict.later.node] = conflict
        ordered = sorted(found.values(), key=lambda c: order(c.later.node))
        return [c for c in ordered if not self._meant((c.later.node, c.earlier.node))]

    def left(self, flag: str, value: bool) -> list[Write]:
        """The writes of this file that leave a flag at a value at the end of some way through the code."""
        writes = {w for path in self._ends() if (w := path.of(flag)) is not None and w.value is value}
        return sorted((w for w in writes if w.elsewhere is None), key=lambda w: self.module.order(w.node))

    def writes_any(self, flags: Iterable[str]) -> list[Write]:
        """Every flag out of these that some way through the code leaves on."""
        return [write for flag in flags for write in self.left(flag, True)]

    def _ends(self, watched: frozenset[str] = frozenset()) -> list[Path]:
        if not self._flags.any_writes:
            return []
        roots = [r for r in self._flags.roots() if not isinstance(r, cst.FunctionDef) or not self.is_test(r)]
        return [path for root in roots for path in self._flags.exits(root, watched)]

    def sets_both(self, call: cst.Call) -> bool:
        """``cudnn.flags(..)`` or Lightning's ``Trainer(..)`` with both arguments True."""
        if self.module.qualified(call.func) not in known.SETTERS or self.is_test(call):
            return False
        given: dict[str, list[cst.BaseExpression]] = {}
        for arg in call.args:
            if arg.keyword is not None:
                given.setdefault(arg.keyword.value, []).append(arg.value)
            elif arg.star == "**":
                for name, values in (self._mappings.entries(arg.value) or {}).items():
                    given.setdefault(name, []).extend(values)
        both = [given.get(name, []) for name in ("benchmark", "deterministic")]
        return all(values and all(self._flags.truth(v, Path()) is True for v in values) for values in both)

    def where(self, write: Write) -> str:
        """The place of a write in words: ``line 12``, or ``utils/seed.py, line 12``."""
        if write.elsewhere is None:
            return f"line {self.module.line(write.node)}"
        path, line = write.elsewhere
        return f"{path}, line {line}"

    def through(self, write: Write) -> str:
        """The way to a write in another file: `` (in utils/seed.py, line 12)``."""
        return f" (in {self.where(write)})" if write.elsewhere is not None else ""

    # -- what is meant ---------------------------------------------------------------------------

    def _conflict(self, path: Path, later: Write, watched: tuple[str, str]) -> Conflict:
        other = path.of(watched[0] if later.flag == watched[1] else watched[1])
        assert other is not None
        return Conflict(later, other)

    def _meant(self, nodes: tuple[cst.CSTNode, ...]) -> bool:
        """A comment, docstring or name says so; the code is for ROCm; it tests the flags."""
        return any(self.is_test(n) or self._for_rocm(n) or self._says_so(n) for n in nodes)

    def is_test(self, node: cst.CSTNode) -> bool:
        """The code stands in a test, a test class or a fixture."""
        for around in (node, *self.module.ancestors(node)):
            if isinstance(around, cst.FunctionDef):
                decorators = {self._decorator(d) for d in around.decorators}
                if around.name.value.startswith("test_") or "pytest.fixture" in decorators:
                    return True
            if isinstance(around, cst.ClassDef) and self.module.classes.derives(around, {"unittest.TestCase"}):
                return True
        return False

    def _decorator(self, decorator: cst.Decorator) -> str | None:
        node = decorator.decorator
        return self.module.qualified(node.func if isinstance(node, cst.Call) else node)

    def _for_rocm(self, node: cst.CSTNode) -> bool:
        """A guard asks for ROCm, where determinism alone means one default algorithm."""
        for guard in self.module.guards(node):
            for part in descendants(guard.condition) if guard.condition is not None else ():
                if isinstance(part, cst.Attribute) and self.module.qualified(part) == "torch.version.hip":
                    return True
                if isinstance(part, cst.Name) and "rocm" in part.value.lower():
                    return True
        return False

    def _says_so(self, node: cst.CSTNode) -> bool:
        line = self.module.line(node)
        texts = [self.module.comments(line, line)]
        function = self.module.function_of(node)
        if function is not None:
            texts += [function.name.value.replace("_", " "), function.get_docstring() or ""]
        return any(word in text.lower() for text in texts for word in known.INTENT)

    def by_choice(self, node: cst.CSTNode) -> bool:
        """A condition on a version, a machine or an option of the user's decides."""
        for guard in self.module.guards(node):
            if guard.kind in ("handler", "case"):
                return True
            for part in descendants(guard.condition) if guard.condition is not None else ():
                if isinstance(part, cst.Name) and not known.CHOICE_WORDS.isdisjoint(part.value.lower().split("_")):
                    return True
        return False

    def without_cudnn(self) -> bool:
        """The file builds modules, and nothing in it has to do with convolutions or recurrent layers."""
        modules = [self.module.qualified(call.func) or "" for call in self.module.nodes_of(cst.Call)]
        layers = {name.rpartition(".")[2] for name in modules if name.startswith("torch.nn.")}
        if not layers or any(name.startswith(("torchvision.models", "timm.")) for name in modules):
            return False
        return not any(layer.startswith(known.CUDNN_LAYERS) for layer in layers)

    def explained(self, node: cst.CSTNode) -> bool:
        """A comment beside the line names a fault that the write works around."""
        line = self.module.line(node)
        comments = self.module.comments(line, line).lower()
        return any(word in comments for word in known.BUG_WORDS)
