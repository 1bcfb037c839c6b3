"""TL507: a statement that is meant to set a flag or to call a function has no effect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.backends import (
    CONTEXTS,
    CUDA_VARIABLES,
    FUNCTIONS,
    MODULE_METHODS,
    OPTIMIZER_METHODS,
    SETTABLE_FLAGS,
    TENSOR_METHODS,
    VALIDATE,
)
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import Need, any_of, identifier_parts, identifiers, imported, of_library, text_pattern
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rules.backends._dead_flags import DeadWrite


# Statements without effect have a typical form. Most files with `step` or `no_grad` have none of them, and parsing
# those files for TL507 would cost a cold run over timm a fifth of its time.
_FUNCTION_NAMES = {name.rpartition(".")[2] for name in FUNCTIONS} | {VALIDATE}
_METHODS = MODULE_METHODS | OPTIMIZER_METHODS | TENSOR_METHODS | {"empty_cache", "synchronize", "seed"}
_CALLED = _METHODS | _FUNCTION_NAMES
# Every function with such a statement contains one of these words.
_WORDS = _CALLED | CUDA_VARIABLES | {name.rpartition(".")[2] for name in (*CONTEXTS, *SETTABLE_FLAGS)}
_CONTEXTS = ("no_grad", "inference_mode", "enable_grad", "autocast", "detect_anomaly")


def _one_of(names: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(names))})"


_END = r"[ \t)]*(?:[;#\r\n=]|\Z)"
# Not under `with`, not a decorator, and not a parameter.
_NAMED = (
    r"{name}\b(?<!\w{name})(?<!@torch\.{name})(?<!with torch\.{name})(?<!amp\.{name})(?<!self\.{name})"
    r"(?![ \t]*(?:[:,]|=[^=]))"
)
_STATEMENTS: tuple[Need, ...] = (
    # A method or function that is named but not called, or that is assigned or compared.
    text_pattern(rf"\.(?<!self\.){_one_of(_CALLED)}{_END}", identifiers(*_CALLED)),
    imported(_FUNCTION_NAMES),
    # A context manager that is not entered.
    *(text_pattern(_NAMED.format(name=name), identifiers(name)) for name in _CONTEXTS),
    of_library(["benchmark"]),
    identifier_parts("deterministic"),
)


class DeadBackendFlag(Rule):
    id = "TL507"
    name = "dead-backend-flag"
    summary = "A statement meant to set a flag of PyTorch, or to call a function, has no effect"
    severity = Severity.ERROR
    fix = "sometimes"
    needs = (concepts.TORCH, any_of(identifiers("backends", "cudnn", *CUDA_VARIABLES), *_STATEMENTS))
    layout = False
    recipe = Recipe("unchanged-flags", "finding", "every flag has the same value before and after the line")

    @on.within(*_WORDS)
    def visit_Assign(self, node: cst.Assign) -> None:
        from torchlint.rules.backends._dead_flags import DeadFlags

        for dead in self.module.shared(DeadFlags).in_assignment(node):
            self._report(dead)

    @on.within(*_WORDS)
    def visit_Expr(self, node: cst.Expr) -> None:
        from torchlint.rules.backends._dead_flags import DeadFlags

        dead = self.module.shared(DeadFlags).in_expression(node)
        if dead is not None:
            self._report(dead)

    def _report(self, dead: DeadWrite) -> None:
        from torchlint.rules.backends._fixes import repair_dead_write

        if dead.since is not None:
            line = self.module.line_in_words(dead.since)
            evidence = [self.module.evidence(dead.since, "CUDA is initialized here")]
            message = (
                f"CUDA already read `{dead.name}` when it was initialized on {line}: set it before "
                "that, or in the shell"
            )
            self.report(dead.node, message, evidence=evidence, severity=Severity.INFO)
        else:
            message = _MESSAGES[dead.kind].format(name=dead.name, instead=_instead(dead))
            self.report(dead.node, message, fix=repair_dead_write(self.module, dead))


_MESSAGES = {
    "unknown": "PyTorch has no flag `{name}`, so this has no effect{instead}",
    "obsolete": "nothing in PyTorch reads `{name}`, so this has no effect: delete the line",
    "comparison": "this compares `{name}` and discards the result: write `=` to set it",
    "function": "`{name}` is a function, and this overwrites it instead of calling it: write `{name}(...)`",
    "uncalled": "`{name}` is named but not called, so this has no effect: add the parentheses",
    "context": (
        "`{name}` has no effect as a statement of its own: put the code it is meant for under `with {name}(...):`"
    ),
}


def _instead(dead: DeadWrite) -> str:
    return f": did you mean `{dead.instead}`?" if dead.instead else ""
