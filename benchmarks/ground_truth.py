"""What torchlint says about the lines that cost something in runs of public programs.

``python benchmarks/ground_truth.py FOLDER EVIDENCE`` runs the programs that ``benchmarks/ground_truth/programs.jsonl``
lists on the simulated GPU (``torchlint confirm --on sim``), with small data, in copies of the checkouts in FOLDER
(``FOLDER/owner+name``, at the commits of the list). Their evidence is kept in EVIDENCE, and used when there is some.

Each line with at least one synchronization, blocking copy or pageable copy to the device per step belongs to the truth.
It is compared with the findings in the checkout, linted as one project:

- *found*: a warning or an error is about it; *at info*: an info at most;
- *silent by intent*: no finding, and ``benchmarks/ground_truth/reasons.jsonl`` names the exemption;
- *missed*: the others, with their causes.

Warnings in the code that ran are judged by the run; every refuted one needs a reason, too. ``--write`` puts the tables
into ``docs/evaluation.md``, ``--details`` lists the lines.

Of *sealed* programs there is one figure, and nothing else: the tables are about the others, and ``--details`` lists
their lines only if ``--only`` names them, so that nobody tunes torchlint to them by accident.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import evaluate
from timing import page
from truth import lines, programs, reasons, runs, tables, verdicts
from truth.reasons import Key, Reason

PAGE = Path(__file__).resolve().parent.parent / "docs" / "evaluation.md"


def compare(
    chosen: list[programs.Program], folder: Path, evidence: Path
) -> tuple[list[lines.Line], list[verdicts.Judged], list[programs.Program]]:
    """The lines and the judged warnings of all programs, and the programs that ran."""
    repositories: dict[str, lines.Repository] = {}
    truth: list[lines.Line] = []
    judged: list[verdicts.Judged] = []
    ran: list[programs.Program] = []
    for program in chosen:
        root = evaluate.checkout(folder, program.repository, program.checkout)
        try:
            recorded = runs.recorded(program, root, evidence)
        except runs.RunProblem as problem:
            print(problem)
            continue
        if program.repository not in repositories:
            repositories[program.repository] = lines.Repository(root)
        repository = repositories[program.repository]
        repository.check(recorded)
        truth += lines.lines(recorded, repository)
        judged += verdicts.verdicts(recorded, repository)
        ran.append(program)
    return truth, judged, ran


def report(
    truth: list[lines.Line], judged: list[verdicts.Judged], ran: list[programs.Program], why: dict[Key, Reason]
) -> str:
    """The tables in Markdown, and what is told about sealed programs."""
    results = tables.results(truth, why)
    found = [result for result in results if not result.line.sealed]
    unseen = [result for result in found if result.line.unseen]
    all_lines, new_lines = (_share(part) for part in (found, unseen))
    number = sum(not program.sealed for program in ran)
    return "\n\n".join(
        [
            f"{number} programs, {time.strftime('%Y-%m-%d')}. Found, at info or silent by intent: {all_lines} lines.",
            f"In repositories on which torchlint had never been run before this benchmark: {new_lines}.",
            *_of_sealed(results, judged, len(ran) - number),
            tables.by_rule(found),
            tables.by_cause(found),
            "Warnings and errors in the code that ran:",
            tables.of_warnings([one for one in judged if not one.sealed], why),
        ]
    )


def _of_sealed(results: list[tables.Result], judged: list[verdicts.Judged], number: int) -> list[str]:
    """What is told about sealed programs; nothing if there are none."""
    if not number:
        return []
    lines_found = _share([result for result in results if result.line.sealed])
    confirmed, refuted = tables.settled([one for one in judged if one.sealed])
    right = evaluate.share(len(confirmed), len(confirmed) + len(refuted))
    first = f"In {number} sealed programs, which the tables leave out: {lines_found} lines."
    return [f"{first} The runs confirm {right} of the warnings there."]


def _share(found: list[tables.Result]) -> str:
    return evaluate.share(sum(result.outcome != tables.MISSED for result in found), len(found))


def details(truth: list[lines.Line], judged: list[verdicts.Judged], why: dict[Key, Reason]) -> None:
    """Print every line and every refuted warning."""
    for result in tables.results(truth, why):
        line = result.line
        where = f"{line.repository} {line.path}:{line.line}"
        print(f"{result.outcome} {result.rule} {line.kind}: {where} ({line.per_step:.3g} a step; {result.cause})")
    for key, one in sorted(tables.settled(judged)[1].items()):
        reason = why[key].cause if key in why else "no reason yet"
        print(f"refuted {key[3]}: {key[0]} {key[1]}:{key[2]} ({one.verdict.reason}; {reason})")


def main() -> None:
    """Print the tables and, with ``--details``, every line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder with the checkouts, as owner+name")
    parser.add_argument("evidence", type=Path, help="the folder for evidence of runs")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these programs")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/evaluation.md")
    parser.add_argument("--details", action="store_true", help="list the lines and the refuted warnings")
    arguments = parser.parse_args()
    chosen = [one for one in programs.read() if not arguments.only or one.name in arguments.only]
    truth, judged, ran = compare(chosen, arguments.folder, arguments.evidence)
    why = reasons.read()
    text = report(truth, judged, ran, why)
    print(text)
    if arguments.write:
        page.write("ground-truth", text, PAGE)
    if arguments.details:
        shown = {program.name for program in chosen if arguments.only or not program.sealed}
        details([line for line in truth if line.program in shown], [one for one in judged if one.program in shown], why)


if __name__ == "__main__":
    main()
