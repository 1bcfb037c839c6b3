/** Runs torchlint to see whether it is there, and for the pages of rules. */

import { execFile } from "node:child_process";

import type { Command } from "./discovery";

const PATIENCE = 30_000; // milliseconds; the first start after an installation compiles modules

/** The standard output of a run. Rejects with one line that says what went wrong. */
export function output(command: Command, args: readonly string[], directory: string): Promise<string> {
  const options = { cwd: directory, timeout: PATIENCE, windowsHide: true };
  return new Promise((resolve, reject) => {
    const child = execFile(command.program, [...command.arguments, ...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (error.killed === true) reject(new Error(`no answer in ${PATIENCE / 1000} seconds`));
      else reject(new Error(lastLine(stderr) ?? error.message));
    });
    child.stdin?.end();
  });
}

/** The version of torchlint that a command runs. Rejects if it runs something else, or nothing. */
export async function version(command: Command, directory: string): Promise<string> {
  const text = await output(command, ["--version"], directory);
  const found = /^torchlint (\S+)/.exec(text);
  if (found?.[1] === undefined) throw new Error("it is not torchlint");
  return found[1];
}

/** The last line of a text that is not empty. */
export function lastLine(text: string): string | undefined {
  return text.trim().split(/\r?\n/).at(-1)?.trim() || undefined; // eslint-disable-line @typescript-eslint/prefer-nullish-coalescing -- an empty line is none
}
