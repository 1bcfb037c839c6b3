"""Backend flags: the values that a file leaves them at, and which flags are on together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal
from torchlint.analysis.things.flags.paths import BackendFlag, Path
from torchlint.analysis.things.flags.writes import FlagWrites
from torchlint.knowledge import backends as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Conflict(NamedTuple):
    """Two writes that leave both flags True: ``earlier`` sets the first flag, ``later`` the second."""

    later: BackendFlag
    earlier: BackendFlag

    @property
    def warn_only(self) -> bool:
        """Whether one of the two only warns about nondeterminism."""
        return self.later.warn_only or self.earlier.warn_only


class BackendFlags:
    """The backend flags that one module writes."""

    def __init__(self, module: SourceModule) -> None:
        self.module = module
        self._flags = FlagWrites(module)

    def conflicts(self, one: str, other: str) -> list[Conflict]:
        """The pairs of writes that leave both flags True at the end of some path through the code."""
        found: dict[cst.CSTNode, Conflict] = {}
        order = self.module.order
        for path in self._final_paths(one, other):
            later = path.completed
            earlier = path.last_write(one if later is not None and later.name == other else other)
            if later is None or earlier is None:
                continue
            conflict = Conflict(later, earlier)
            if conflict.later.node is conflict.earlier.node and conflict.later.other_file is not None:
                continue  # both are set in the other file, which has the finding
            previous = found.get(conflict.later.node)
            if previous is None or order(conflict.earlier.node) < order(previous.earlier.node):
                found[conflict.later.node] = conflict
        return sorted(found.values(), key=lambda c: order(c.later.node))

    def final_writes(self, flag: str, value: bool) -> list[BackendFlag]:
        """The writes in this file that leave a flag at a value at the end of some path through the code."""
        last = {path.last_write(flag) for path in self._final_paths(flag)}
        here = (w for w in last if w is not None and w.value is value and w.other_file is None)
        return sorted(here, key=lambda w: self.module.order(w.node))

    def _final_paths(self, *names: str) -> Iterator[Path]:
        """The paths to the ends of what may write all these flags."""
        flags = frozenset(names)
        for root in self._flags.roots(flags):
            if not self.module.in_test_function(root):
                yield from self._flags.final_paths(root, flags)

    def sets_both(self, call: cst.Call) -> bool:
        """Whether a call of ``cudnn.flags`` or Lightning's ``Trainer`` has both arguments True."""
        if self.module.qualified(call.func) not in known.SETTERS or self.module.in_test_function(call):
            return False
        both = [keyword(call, name) or self._in_sight(call, name) for name in ("benchmark", "deterministic")]
        return all(value is not None and self._flags.truth(value, Path()) is True for value in both)

    def _in_sight(self, call: cst.Call, name: str) -> cst.BaseExpression | None:
        """An entry of a dictionary that is written for this call alone: ``Trainer(**options)``."""
        for arg in call.args:
            given = arg.value if arg.star == "**" and isinstance(arg.value, cst.Name) else None
            bindings = self.module.definitions(given) if given is not None else ()
            only = len(bindings) == 1 and list(self.module.uses(bindings[0])) == [given]
            display = bindings[0].value if only else None
            for entry in display.elements if isinstance(display, cst.Dict) else ():
                if isinstance(entry, cst.DictElement) and literal(entry.key) == name:
                    return entry.value
        return None
