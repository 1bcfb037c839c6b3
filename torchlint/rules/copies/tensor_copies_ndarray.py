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
    """
    ## What it finds
    `torch.tensor(a)` where `a` is proved to be a NumPy array: by the call that made it, through names,
    attributes, functions of the file, loops and annotations.

    ## Why it costs
    `torch.tensor` always copies. For 4.8 million float32 values that takes 930 µs, against 1.7 µs for
    `torch.as_tensor`, which shares the memory (PyTorch 2.13, NumPy 2.4, two CPU cores). If `.to(device)` follows,
    the copy on the host is made only to be transferred and discarded; `torch.tensor(a, device=device)` transfers
    directly from the array.

    This holds while the dtype stays the same. A conversion makes a new tensor in any form, also in
    `torch.tensor(a, dtype=dtype, device=device)`, since a blocking copy to the device converts on the CPU
    (`copy_kernel_cuda`). The legacy constructors `torch.Tensor(a)` and `torch.FloatTensor(a)` have nothing to save at
    all: with PyTorch 2.13, the tensor begins at the address of a float32 array, and an array of another dtype is
    converted once (one `_to_copy`), as by `torch.tensor(a, dtype=torch.float32)` and `torch.from_numpy(a).float()`. For
    4.8 million float64 values that took 1.7 ms, and 1.5 ms by `from_numpy`.

    ## Instead
    Flagged:

    ```python
    import numpy as np
    import torch


    def load(path, device):
        return torch.tensor(np.load(path)).to(device)
    ```

    Preferred:

    ```python
    import numpy as np
    import torch


    def load(path, device):
        return torch.tensor(np.load(path), device=device)
    ```

    ## When to leave it
    What does not run in every step is `info`: a single copy costs microseconds.

    Keep the copy where it is needed: the tensor is pickled and the array is a view (sharing would pickle the memory
    around it as well), or the array is a buffer that is refilled, is written to or read later while the tensor is
    changed in place, is read-only, or becomes a parameter or buffer of a module. The rule is silent in all of
    these cases, as far as it can see them. It is also silent for lists, numbers, NumPy scalars and tensors, where a
    `dtype=` certainly converts, and for legacy constructors. With `dtype=`, an array of unknown dtype is an `info`. An
    array from pandas 3 is read-only: `torch.as_tensor` warns about it, and a
    tensor that shares its memory must not be written to.

    ## Fix safety
    Replacing `torch.tensor(a).to(device)` by `torch.tensor(a, device=device)` is safe if the device is proved to be
    one (the page on fixes says what that means): the conversion and the transfer stay the same, only the copy on the
    host is avoided. If the program converts in between (`.float()`), the fix is unsafe.

    Replacing `torch.tensor(a)` by `torch.as_tensor(a)` is safe if `a` is itself the call of a NumPy function that
    allocates its result, such as `np.stack(frames)`. Otherwise it is unsafe: the tensor shares memory with the array,
    so writing to one changes the other. It is also unsafe in files that resize tensors.

    ## Confirmed by
    The argument is an ndarray, the dtype is unchanged, and the copied bytes take a measurable share of the
    step.

    ## Sources
    - [torch.tensor](https://docs.pytorch.org/docs/stable/generated/torch.tensor.html)
    - [torch.as_tensor](https://docs.pytorch.org/docs/stable/generated/torch.as_tensor.html)
    - [Tensor creation from arrays, torch/csrc/utils/tensor_new.cpp](https://github.com/pytorch/pytorch/blob/main/torch/csrc/utils/tensor_new.cpp)
    - [Where copies convert, aten/src/ATen/native/cuda/Copy.cu](https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/Copy.cu)
    """

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
