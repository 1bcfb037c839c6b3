"""Backend flags: what the ways through a file leave them at, and which are on together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.things.flag_paths import BackendFlag, Path
from torchlint.analysis.things.flag_writes import FlagWrites
from torchlint.analysis.values.mappings import Mappings
from torchlint.knowledge import backends as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Conflict(NamedTuple):
    """Two writes that leave both flags True: ``later`` completes what ``earlier`` began."""

    later: BackendFlag
    earlier: BackendFlag

    @property
    def soft(self) -> bool:
        """One of the two only warns."""
        return self.later.soft or self.earlier.soft


class BackendFlags:
    """The backend flags that one module writes."""

    def __init__(self, module: SourceModule) -> None:
        self.module = module
        self._flags = FlagWrites(module)
        self._mappings = Mappings(module)

    def conflicts(self, one: str, other: str) -> list[Conflict]:
        """Every pair of writes that leaves both flags True at the end of some way through the code."""
        found: dict[cst.CSTNode, Conflict] = {}
        order = self.module.order
        for path in self._ends(frozenset({one, other})):
            later = path.completed
            earlier = path.of(one if later is not None and later.name == other else other)
            if later is None or earlier is None:
                continue
            conflict = Conflict(later, earlier)
            if conflict.later.node is conflict.earlier.node and conflict.later.elsewhere is not None:
                continue  # both are set in the other file, which is told there
            known_one = found.get(conflict.later.node)
            if known_one is None or order(conflict.earlier.node) < order(known_one.earlier.node):
                found[conflict.later.node] = conflict
        return sorted(found.values(), key=lambda c: order(c.later.node))

    def left(self, flag: str, value: bool) -> list[BackendFlag]:
        """The writes of this file that leave a flag at a value at the end of some way through the code."""
        writes = {w for path in self._ends() if (w := path.of(flag)) is not None and w.value is value}
        return sorted((w for w in writes if w.elsewhere is None), key=lambda w: self.module.order(w.node))

    def _ends(self, watched: frozenset[str] = frozenset()) -> list[Path]:
        if not self._flags.any_writes:
            return []
        roots = [r for r in self._flags.roots() if not isinstance(r, cst.FunctionDef) or not self.module.in_test(r)]
        return [path for root in roots for path in self._flags.exits(root, watched)]

    def sets_both(self, call: cst.Call) -> bool:
        """``cudnn.flags(..)`` or Lightning's ``Trainer(..)`` with both arguments True."""
        if self.module.qualified(call.func) not in known.SETTERS or self.module.in_test(call):
            return False
        given, _ = self._mappings.arguments(call, ())
        both = [given.get(name, []) for name in ("benchmark", "deterministic")]
        return all(values and all(self._flags.truth(v, Path()) is True for v in values) for values in both)
