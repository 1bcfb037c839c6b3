"""TL501: cuDNN is set to be deterministic and to benchmark at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.backends import BENCHMARK, DETERMINISTIC, SETTERS, Preference
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifier_parts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.flags.backend_flag import Conflict

_CHOOSE = (
    "cuDNN then benchmarks only its deterministic algorithms, which is slower than without `deterministic` and "
    "reproducible only within one process; choose one: `benchmark = False` for reproducible runs, or no "
    "`deterministic` for speed"
)


class BenchmarkWithDeterministic(Rule):
    id = "TL501"
    name = "benchmark-with-deterministic"
    summary = "cuDNN is set to benchmark and to be deterministic at the same time"
    severity = Severity.WARNING
    fix = "sometimes"
    # The other flag may be set in another file.
    needs = (identifier_parts("cudnn", "trainer"), identifier_parts("benchmark", "deterministic"))
    Options = Preference
    layout = False
    recipe = Recipe(
        "convolution-flags",
        "run",
        "a convolution runs while both flags are on",
        flags=(("benchmark", True), ("deterministic", True)),
    )

    @on.flags_together(BENCHMARK, DETERMINISTIC)
    def together(self, conflict: Conflict) -> None:
        """Check two writes that leave both flags on."""
        from torchlint.rules.backends._fixes import resolve_conflict
        from torchlint.rules.backends._intended import is_intended
        from torchlint.rules.backends._locations import in_file, location

        if is_intended(self.module, conflict):
            return
        here = conflict.later.name.rpartition(".")[2]
        other = "benchmark" if here == "deterministic" else "deterministic"
        self.report(
            conflict.later.node,
            f"`{here}` is enabled here{in_file(self.module, conflict.later)}, and `{other}` has been enabled "
            f"since {location(self.module, conflict.earlier)}: {_CHOOSE}",
            evidence=[self.module.evidence(conflict.earlier.node, f"`{other}` is enabled here")],
            fix=resolve_conflict(self.module, conflict, self.options.prefer),
        )

    @on.call(*SETTERS)
    def sets_both(self, call: cst.Call) -> None:
        """Check a call that may set both flags."""
        from torchlint.analysis.things.flags.backend_flag import BackendFlags

        if self.module.shared(BackendFlags).sets_both(call):
            from torchlint.rules.backends._fixes import resolve_call

            fix = resolve_call(self.module, call, self.options.prefer)
            self.report(call, f"this sets both `benchmark` and `deterministic`: {_CHOOSE}", fix=fix)
