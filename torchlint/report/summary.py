"""The last lines of a report: what was found and fixed, and what was recognized of the program.

Silence about a loop says nothing if the loop was not recognized, so reports name those that were, and how many findings
each has, since most of them may be infos.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torchlint.model import SYNTAX_ERROR, Finding, Loop, Repairs, RunResult, Safety, Severity, Understood
from torchlint.report.shared import by_severity, fixable, in_words, listed, place, plural
from torchlint.text.visible import visible

_NAMED = 5  # entries of a baseline that a remark lists
_PLACES = 4  # places of each kind
# What a loop does in each step, as reports say it.
_KINDS = {"training": "training in", "evaluation": "evaluation in", "batches": "loops over batches in"}
_NO_LOOPS = "No training or inference loop was recognized: what costs time in every step cannot be found."


def closing(run: RunResult, hidden: int = 0) -> str:
    """The summary of a run, as a sentence; ``hidden`` infos, which the report leaves out, are a remark in brackets.

    What is written in another version of Python is left to :func:`not_checked`.
    """
    unread = len({found.path for found in run.findings if found.is_notice and found.cell is None})
    files = plural(run.files - unread, "file")
    remarks = [f"{plural(hidden, 'info')} not shown: --show-info"] if hidden else []
    counted = (
        (run.suppressed, "suppressed"),
        (run.baselined, "in the baseline"),
        (run.unchanged, "on unchanged lines"),
    )
    remarks += [f"{count} {reason}" for count, reason in counted if count]
    aside = f" ({'; '.join(remarks)})" if remarks else ""
    counts = by_severity(without_notices(run.findings))
    counts[Severity.INFO] -= hidden
    listed = in_words([plural(n, severity.value) for severity, n in counts.items() if n])
    if listed:
        verdict = f"Found {listed} in {files}{aside}"
    elif hidden:
        verdict = f"Found no warnings in {files}{aside}"
    elif run.problems or len(without_notices(run.findings)) < len(run.findings):
        verdict = f"Found nothing in {files}{aside}" if run.files > unread else "No file was checked"
    elif run.files and _lacks_loops(run):
        return f"Nothing found, but no training or inference loop was recognized in {files}{aside}."
    elif run.files:
        return f"All clear: {files} checked{aside}."
    else:
        return "No files to check."
    parts = [verdict]
    parts += [plural(len(run.problems), "problem")] if run.problems else []
    failed = run.unchecked - len(_only_not_checked(run))
    parts += [f"{plural(failed, 'file')} could not be fully checked"] if failed and run.files else []
    return f"{'; '.join(parts)}."


def not_checked(run: RunResult, *, whole: bool = False) -> list[str]:
    """The files, and the cells of notebooks, that are written in another version of Python and were not checked.

    ``whole`` names all of them, here and in the other lists.
    """
    notices = [found for found in run.findings if found.is_notice]
    files = [found for found in notices if found.cell is None]
    kinds = (
        ("file", "Python 2", [place(found.path) for found in files if _is_old(found)]),
        ("cell", "Python 2", [place(found.path, cell=found.cell) for found in notices if found.cell is not None]),
        ("file", "a newer Python", [place(found.path) for found in files if not _is_old(found)]),
    )
    return [
        f"{plural(len(names), noun)} {'is' if len(names) == 1 else 'are'} written in {version} and "
        f"{'was' if len(names) == 1 else 'were'} not checked: {listed(names, _PLACES, whole=whole)}."
        for noun, version, names in kinds
        if names
    ]


def _is_old(notice: Finding) -> bool:
    return "Python 2," in notice.message


def without_notices(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that only say what is written in another version of Python."""
    return [found for found in findings if not found.is_notice]


def _only_not_checked(run: RunResult) -> set[str]:
    """The files that could not be fully checked for no other reason than that they are of another version of Python."""
    notices = {found.path for found in run.findings if found.is_notice}
    errors = {found.path for found in without_notices(run.findings) if found.rule == SYNTAX_ERROR}
    return notices - errors - {problem.path for problem in run.problems}


def recognized(run: RunResult, hidden: int = 0, *, whole: bool = False) -> list[str]:
    """The loops that were recognized, what they import that was not linted, and what was not followed to the end.

    ``hidden`` infos are not in the report; ``whole`` names all loops and files.
    """
    known = run.understood
    return [*_loops(run, hidden, whole=whole), *(_unfinished(known, whole=whole) if known is not None else ())]


def unfollowed(known: Understood) -> tuple[list[str], int]:
    """The files that were not followed to the end, and the number of functions that may run in steps."""
    return [one.path for one in known.unfinished if one.body], sum(one.functions for one in known.unfinished)


def _unfinished(known: Understood, *, whole: bool) -> list[str]:
    paths, functions = unfollowed(known)
    parts = [listed([place(path) for path in paths], _PLACES, whole=whole)] if paths else []
    parts += [f"{plural(functions, 'function')} that may run in steps"] if functions else []
    if not parts:
        return []
    lacks = f"Not followed to the end, because the limit of the work was reached: {'; '.join(parts)}."
    advice = "`programs` in the table `world` of the configuration says which files matter."
    return [f"{lacks} What only they do in a step may be missing; {advice}"]


def _loops(run: RunResult, hidden: int, *, whole: bool) -> list[str]:
    """The loops that were recognized, those with most findings first, and what they import that was not linted.

    That is at most two lines. Nothing is said of programs that use no accelerator and have no loop, or if
    :func:`closing` has said it. ``hidden`` infos are not in the report.
    """
    known = run.understood
    if known is None or not known.loops:
        return [_NO_LOOPS] if _lacks_loops(run) and (run.findings or run.problems) else []
    ordered = sorted(known.loops, key=lambda loop: -(loop.waits + loop.copies))
    whole_run = not (run.baselined or run.unchanged)  # else some of what is warned of is not reported
    places = {kind: [_loop(loop, warns=whole_run) for loop in ordered if loop.kind == kind] for kind in _KINDS}
    said = "; ".join(
        f"{words} {listed(places[kind], _PLACES, whole=whole)}" for kind, words in _KINDS.items() if places[kind]
    )
    silent = any(loop.warned < loop.waits + loop.copies for loop in known.loops)
    lines = [f"Recognized: {said}{'; --show-info lists the others' if hidden and silent else ''}."]
    if known.unresolved:
        names = dict.fromkeys(f"{visible(one.module)} in {place(one.path)}" for one in known.unresolved)
        lines.append(f"Imported there, but not linted: {listed(list(names), _PLACES, whole=whole)}.")
    return lines


def _lacks_loops(run: RunResult) -> bool:
    """Whether the files use an accelerator, but nothing in them is known to run in every step."""
    return run.understood is not None and run.understood.on_accelerator and not run.understood.loops


def _loop(loop: Loop, *, warns: bool) -> str:
    """A loop with the findings about its steps: ``train.py:98 (24 waits and 2 copies in its steps, 1 warned of)``.

    ``warns`` says how many of them are no infos, unless all are.
    """
    where = place(loop.path, loop.line, cell=loop.cell)
    waits = [plural(loop.waits, "wait")] if loop.waits else []
    copies = [f"{loop.copies} {'copy' if loop.copies == 1 else 'copies'}"] if loop.copies else []
    found = in_words([*waits, *copies])
    if not found:
        return where
    warned = f", {loop.warned or 'not'} warned of" if warns and loop.warned < loop.waits + loop.copies else ""
    return f"{where} ({found} in its steps{warned})"


def offers(run: RunResult) -> str:
    """What ``--fix`` could repair, as a sentence; empty if that is nothing or if the run has tried."""
    findings = run.findings if run.repairs is None else ()
    safe, unsafe = (fixable(findings, safety) for safety in (Safety.SAFE, Safety.UNSAFE))
    parts = [f"{safe} fixable with --fix"] if safe else []
    parts += [f"{unsafe} {'more' if safe else 'fixable'} with --fix --unsafe-fixes"] if unsafe else []
    return f"{', '.join(parts)}." if parts else ""


def about_baselines(run: RunResult, *, whole: bool = False) -> list[str]:
    """What there is to say about baselines and about files that were not compared."""
    said = [visible(note) for note in run.notes]
    if run.obsolete:
        count = sum(entry.times for entry in run.obsolete)
        places = list(dict.fromkeys(f"{visible(entry.rule)} in {visible(entry.path)}" for entry in run.obsolete))
        occur = "no longer occurs" if count == 1 else "no longer occur"
        what = f"{plural(count, 'finding')} of the baseline {occur} ({listed(places, _NAMED, whole=whole)})"
        said.append(f"{what}; --prune-baseline drops {'it' if count == 1 else 'them'}.")
    return said


def repaired(run: RunResult, done: str = "fixed") -> str:
    """The result of ``--fix``, as a sentence: ``3 fixed, 2 need --unsafe-fixes, 1 skipped: conflicts.``"""
    repairs = run.repairs or Repairs()
    parts = [f"{len(repairs.fixed)} {done}"]
    parts += [f"{repairs.unsafe} need{'s' if repairs.unsafe == 1 else ''} --unsafe-fixes"] if repairs.unsafe else []
    parts += [f"{count} skipped: {reason}" for reason, count in repairs.skipped]
    return f"{', '.join(parts)}."


def repairs_by_file(run: RunResult) -> list[str]:
    """The fixes made, one line for each file and rule."""
    counts = Counter((f.path, f.rule, f.name) for f in run.repairs.fixed) if run.repairs else Counter()
    return [
        f"Fixed {place(path)}: {n} x {visible(rule)} {visible(name)}"
        for (path, rule, name), n in sorted(counts.items())
    ]


def statistics(run: RunResult) -> list[str]:
    """Counts by rule as a table, the most frequent first; a mark says whether all or some of them can be fixed."""
    counted = counts(run)
    digits = max((len(str(count)) for *_, count, _ in counted), default=1)
    return [
        f"{count:>{digits}}  {visible(rule)}  {'[*]' if fixes == count else '[-]' if fixes else '[ ]'} {visible(name)}"
        for rule, name, count, fixes in counted
    ]


def counts(run: RunResult) -> list[tuple[str, str, int, int]]:
    """The id and name of each rule with findings, their number and how many have a fix; the most frequent first."""
    found = Counter((finding.rule, finding.name) for finding in without_notices(run.findings))
    fixes = Counter((finding.rule, finding.name) for finding in run.findings if finding.fix is not None)
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [(*rule, count, fixes[rule]) for rule, count in ordered]


def tail(run: RunResult, hidden: int = 0, *, whole: bool = False) -> list[str]:
    """The lines after the findings: the summary, what was fixed, and remarks on baselines."""
    return [
        closing(run, hidden),
        *not_checked(run, whole=whole),
        *([repaired(run)] if run.repairs is not None else []),
        *about_baselines(run, whole=whole),
    ]
