"""TL101: ``torch.tensor(ndarray)`` makes a needless copy on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.arrays import ARRAY_LIBRARIES
from torchlint.model import Evidence, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rules.copies._array_copies import ArrayCopy


class TensorCopiesNdarray(Rule):
    id = "TL101"
    name = "tensor-copies-ndarray"
    summary = "`torch.tensor` copies a NumPy array on the host unnecessarily"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, identifiers(*ARRAY_LIBRARIES))
    layout = False
    recipe = Recipe("array-copies", "finding", "the argument is an ndarray of the tensor's dtype")

    @on.call("torch.tensor")
    def check(self, node: cst.Call) -> None:
        from torchlint.rules.copies._array_copies import ArrayCopies

        copy = ArrayCopies(self.module).of(node)
        if copy is None:
            return

        from torchlint.rules.copies._array_fixes import without_copy

        heat = self.module.heat(node)
        self.report(
            node,
            self._message(copy),
            evidence=self._evidence(copy),
            severity=self._severity(copy),
            heat=heat,
            fix=without_copy(self.module, copy),
        )

    def _severity(self, copy: ArrayCopy) -> Severity:
        # A single copy costs microseconds; an array of unknown dtype may be converted anyway.
        return Severity.WARNING if copy.certain and self.module.every_step(copy.call) else Severity.INFO

    def _message(self, copy: ArrayCopy) -> str:
        data = self.module.code(copy.data)
        short = data if len(data) <= 40 and "\n" not in data else "the argument"
        subject = f"`{short}`" if short == data else short
        what = f"{subject} is an ndarray{self._origin(copy)}; `torch.tensor` copies it on the host"
        return f"{what}{self._advice(copy, short if short == data else 'a')}"

    def _origin(self, copy: ArrayCopy) -> str:
        source = copy.array.source
        if source is None or copy.array.origin is None:
            return ""
        if source == "its annotation":
            return " (annotated)"
        return f" from `{source}` at {self.module.line_in_words(copy.array.origin)}"

    def _advice(self, copy: ArrayCopy, data: str) -> str:
        from torchlint.rules.copies._array_copies import is_blocking

        dtype = ", dtype=..." if copy.converts else ""
        shared = f"`torch.as_tensor({data}{dtype})`"
        unchanged = "" if copy.certain else " unless the dtype changes"
        readonly = (
            "; pandas may return read-only memory: then do not write to the tensor" if copy.array.readonly else ""
        )
        if copy.moved is not None and is_blocking(copy.moved):
            if copy.array.readonly:
                readonly = "; this also works with the read-only memory that pandas may return"
            return (
                f" only to move the copy: write `torch.tensor({data}{dtype}, device=...)`, which transfers "
                f"it directly{unchanged}{readonly}"
            )
        if copy.moved is not None:
            return f" before the transfer starts: move {shared} instead{unchanged}{readonly}"
        if not copy.certain:
            return f", and again if the dtype changes: {shared} copies only if it has to{readonly}"
        return f", and nothing here needs the copy: {shared} shares its memory{readonly}"

    def _evidence(self, copy: ArrayCopy) -> list[Evidence]:
        found = []
        if copy.array.origin is not None and copy.array.source is not None:
            origin = "annotated as an ndarray" if copy.array.source == "its annotation" else f"`{copy.array.source}`"
            found.append(self.module.evidence(copy.array.origin, origin))
        if copy.moved is not None:
            found.append(self.module.evidence(getattr(copy.moved.func, "attr", copy.moved), "moved to a device here"))
        return found
