"""TL507: a statement that is to set a flag does nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchlint.knowledge.backends import (
    CALLED,
    MODULE_METHODS,
    OPTIMIZER_METHODS,
    START_VARIABLES,
    TENSOR_METHODS,
    VALIDATE,
)
from torchlint.knowledge.screening import guarded, keyed, whole
from torchlint.model import Recipe, Severity
from torchlint.patterns import Led, Pattern, begins, begins_expression, begins_or_is_assigned, is_named
from torchlint.rule import Rule
from torchlint.words import Word

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.dead_flags import DeadWrite


# A method without its call at the end of a line, a context manager as a statement, and a value assigned to a function.
_METHODS = sorted(MODULE_METHODS | OPTIMIZER_METHODS | TENSOR_METHODS | {"empty_cache", "synchronize", "seed"})
_BARE = rf"(?m:\.(?:{'|'.join(_METHODS)})[ \t)]*(?:;|(?:#.*)?\r?$))"
_ENDS = r"[ \t)]*(?=[\r\n;#]|\Z)"
_NO_PARAMETER = r"(?![ \t]*[:=,])"
_MANAGERS = ("no_grad", "inference_mode", "enable_grad", "autocast", "detect_anomaly", "flags")
_FUNCTIONS = sorted({name.rpartition(".")[2] for name in CALLED})
# Each of these with the words of which one has to stand in a file.
_STATED = {rf"{name}{_NO_PARAMETER}": [name] for name in _MANAGERS}
_STATED |= {rf"{name}{_ENDS}": [name] for name in _FUNCTIONS}
# A context manager that gets another name, by which it may be stated.
_KEPT = {rf"{name}{_ENDS}": [name] for name in _MANAGERS}
_ASSIGNED: dict[str, Iterable[str]] = {
    r"\.(?:eval|train|zero_grad|step)[ \t]*=[^=]": MODULE_METHODS | OPTIMIZER_METHODS,
    r"\.(?<!self\.)seed[ \t]*=[^=]": ["seed"],
    r"manual_seed(?:_all)?[ \t]*=[^=]": ["manual_seed", "manual_seed_all"],
    r"set_(?:de|float32|grad|num)\w{1,80}[ \t]*=[^=]": [VALIDATE, *_FUNCTIONS],
    r"synchronize[ \t]*=[^=]": ["synchronize"],
    r"empty_cache[ \t]*=[^=]": ["empty_cache"],
    r"cuda\.benchmark[ \t]*=[^=]": ["benchmark"],
}
# The words of this one only begin so.
_DETERMINISTIC = r"deterministic\w{0,80}[ \t]*=[^=]"


def _is_kept(lead: str) -> bool:
    """An attribute that is assigned."""
    return lead.endswith(".") and is_named(lead)


_WRITTEN: tuple[Word, ...] = (
    *(Led(source, begins) for source in _STATED),
    *(Led(source, _is_kept) for source in _KEPT),
    *map(Pattern, (*_ASSIGNED, _DETERMINISTIC)),
)
_VARIABLES = sorted(START_VARIABLES)


class DeadBackendFlag(Rule):
    """
    ## What it finds
    - An assignment to an attribute that no version of `torch.backends.*` has: a misspelt flag
      (`cudnn.benckmark`), a flag of another module (`torch.backends.cuda.benchmark`), one that is long gone
      (`cudnn.fastest`).
    - `cudnn.benchmark == True` as a statement.
    - A value assigned to a function: `torch.use_deterministic_algorithms = True`, `model.eval = True`.
    - A function that is named and not called (`model.eval`, `optimizer.zero_grad`), and a context manager that is
      not entered (`torch.no_grad()` as a statement).
    - `os.environ["CUDA_VISIBLE_DEVICES"]` and its kin, set after CUDA has been started (`info`).

    ## Why it costs
    The line does nothing, and whoever reads it believes that it does. Modules such as `torch.backends.cudnn`
    take any attribute without a word. The correct spelling of one such flag made a training run 10 % faster
    (xinntao/EDVR#73).

    ## Instead
    Flagged:

    ```python
    import torch

    torch.backends.cudnn.benckmark = True
    ```

    Preferred:

    ```python
    import torch

    torch.backends.cudnn.benchmark = True
    ```

    ## When to leave it
    Nowhere. Flags that exist in some version of PyTorch are never flagged, nor are functions that are replaced by
    other functions.

    ## Fix safety
    Deleting a flag that nothing reads any more (`fastest`, `verbose`) is safe, as long as nothing else in the file
    names it and its value is a literal; computing a value may raise an error, draw random numbers or change something.
    Everything else is unsafe, because it would start something that the program never did before: the right spelling,
    `=` for `==`, the call of a function that is assigned to or merely named. Context managers that are not entered, and
    variables that come too late, are left to you.

    ## Confirmed by
    The flag has the same value before and after the line.

    ## Sources
    - [torch.backends](https://docs.pytorch.org/docs/stable/backends.html)
    - [xinntao/EDVR#73](https://github.com/xinntao/EDVR/issues/73)
    """

    id = "TL507"
    name = "dead-backend-flag"
    summary = "A statement that is to set a flag of PyTorch does nothing"
    severity = Severity.ERROR
    fix = "sometimes"
    triggers = (
        (b"torch",),
        (
            guarded(rb"backends\.(?:[\w.]{200}|[\w.]{0,199}(?![\w.(:]))", b"backends."),  # and not called
            whole(_VARIABLES),
            guarded(_DETERMINISTIC.encode(), b"deterministic", before=begins_or_is_assigned),
            keyed(
                (
                    (["backends"], guarded(rb"backends(?:[\s\\)]+\.|[ \t\\)]*(?:[\r\n;#]|(?:if|as|import)\b|\Z))")),
                    (_METHODS, guarded(_BARE.encode(), before=begins_expression)),
                    *((words, guarded(source.encode(), before=begins)) for source, words in _STATED.items()),
                    *((words, guarded(source.encode(), before=_is_kept)) for source, words in _KEPT.items()),
                    *(
                        (words, guarded(source.encode(), before=begins_or_is_assigned))
                        for source, words in _ASSIGNED.items()
                    ),
                )
            ),
        ),
    )
    near = (("backends", "cudnn", *_VARIABLES, Led(_BARE, begins_expression), *_WRITTEN),)
    layout = False
    recipe = Recipe("unchanged-flags", "finding", "every flag has the same value before and after the line")

    def visit_Assign(self, node: cst.Assign) -> None:
        from torchlint.analysis.dead_flags import DeadFlags

        for dead in self.module.shared(DeadFlags).assigned(node):
            self._report(dead)

    def visit_Expr(self, node: cst.Expr) -> None:
        from torchlint.analysis.dead_flags import DeadFlags

        dead = self.module.shared(DeadFlags).stated(node)
        if dead is not None:
            self._report(dead)

    def _report(self, dead: DeadWrite) -> None:
        from torchlint.repairs.flags import revived

        if dead.since is not None:
            line = self.module.line(dead.since)
            evidence = [self.module.evidence(dead.since, "CUDA is started here")]
            message = f"CUDA has read `{dead.name}` when it was started on line {line}: set it before, or at the shell"
            self.report(dead.node, message, evidence=evidence, severity=Severity.INFO)
        else:
            message = _MESSAGES[dead.kind].format(name=dead.name, instead=_instead(dead))
            self.report(dead.node, message, fix=revived(self.module, dead))


_MESSAGES = {
    "unknown": "PyTorch has no flag `{name}`, so this sets nothing{instead}",
    "obsolete": "nothing in PyTorch reads `{name}`, so this sets nothing: delete the line",
    "comparison": "this compares `{name}` and throws the result away: write `=` to set it",
    "function": "`{name}` is a function, which this replaces instead of calling it: write `{name}(..)`",
    "uncalled": "`{name}` is named here, but not called: add the parentheses",
    "context": "`{name}` does nothing as a statement of its own: put the code that it is for under `with {name}(..):`",
}


def _instead(dead: DeadWrite) -> str:
    return f": did you mean `{dead.instead}`?" if dead.instead else ""
