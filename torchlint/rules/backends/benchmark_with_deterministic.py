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

    from torchlint.analysis.things.backend_flag import Conflict

_CHOOSE = (
    "cuDNN then benchmarks only its deterministic algorithms, which is slower than without `deterministic` and "
    "reproducible only within one process; choose one: `benchmark = False` for reproducible runs, or no "
    "`deterministic` for speed"
)


class BenchmarkWithDeterministic(Rule):
    """
    ## What it finds
    `torch.backends.cudnn.benchmark = True` and `torch.backends.cudnn.deterministic = True` on one path through the
    code, also when a called function sets one of them; `cudnn.flags(benchmark=True, deterministic=True)`; and
    Lightning's `Trainer(benchmark=True, deterministic=True)`.

    ## Why it costs
    Neither flag overrides the other. `deterministic` restricts cuDNN to deterministic algorithms, and `benchmark`
    times those and takes the fastest. So the program pays for benchmarking and for slower algorithms (1.54 s
    against 3.67 s for one transposed convolution, espnet/espnet#3041), without getting what `deterministic` is
    for: of two algorithms that are about equally fast, the next process may pick the other one, which rounds
    differently (pytorch/pytorch#15359).

    ## Instead
    Flagged:

    ```python
    import torch


    def setup(seed):
        torch.manual_seed(seed)
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = True
    ```

    Preferred:

    ```python
    import torch


    def setup(seed):
        torch.manual_seed(seed)
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False
    ```

    ## When to leave it
    Where results only need to agree within one process: say so in a comment ("deterministic per process"), and the
    rule is silent. It is also silent for code that runs on ROCm, in tests, where a condition decides between the
    two, and where a later assignment disables one of them. Functions of other files are followed if those files
    are linted in the same run.

    ## Fix safety
    Only the author knows which of the two was intended, so a fix is offered only if the configuration says so:
    `rules.benchmark-with-deterministic.prefer = "reproducible"` sets `benchmark` to False, `"fast"` removes
    `deterministic`. The setting also applies to `TL502`. Both fixes are unsafe: cuDNN runs other algorithms, which
    changes speed and the last bits of results. No fix is offered for an assignment in another file.

    ## Confirmed by
    Both flags are True when convolutions run; algorithms differ between processes, or `deterministic` costs
    time.

    ## Sources
    - [Reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html)
    - [pytorch/pytorch#15359](https://github.com/pytorch/pytorch/issues/15359)
    - [espnet/espnet#3041](https://github.com/espnet/espnet/issues/3041)
    """

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
        from torchlint.analysis.things.backend_flag import BackendFlags

        if self.module.shared(BackendFlags).sets_both(call):
            from torchlint.rules.backends._fixes import resolve_call

            fix = resolve_call(self.module, call, self.options.prefer)
            self.report(call, f"this sets both `benchmark` and `deterministic`: {_CHOOSE}", fix=fix)
