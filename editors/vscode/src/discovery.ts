/** Which command runs torchlint. Knows nothing of VS Code: what it asks of the system is passed in. */

import * as path from "node:path";

import { expand, type Folder, type Values } from "./variables";

/** A program with its first arguments, and where it was found, for messages. */
export interface Command {
  program: string;
  arguments: readonly string[];
  origin: string;
}

export interface Choice {
  path: string;
  interpreter: string;
}

export interface System extends Values {
  platform: NodeJS.Platform;
  /** Whether the folders that are open may choose what is run. */
  trusted: boolean;
  /** Whether a path is a file that can be executed. */
  isExecutable(file: string): boolean;
  /** A path without symbolic links. */
  real(file: string): string;
}

export interface Found {
  /** The commands that may be tried, the best first. */
  commands: Command[];
  /** Why others may not. */
  refused: string[];
}

/** The commands that may run torchlint: the one that the settings name, or else those of the selected interpreter and of `PATH`. */
export function discover(choice: Choice, selected: string | undefined, system: System): Found {
  const found: Found = { commands: [], refused: [] };
  if (choice.path.trim() !== "") {
    add(found, ofSetting("torchlint.path", choice.path, [], system), system);
  } else if (choice.interpreter.trim() !== "") {
    add(found, ofSetting("torchlint.interpreter", choice.interpreter, MODULE, system), system);
  } else {
    if (selected !== undefined) {
      found.commands.push({ program: selected, arguments: MODULE, origin: `the selected interpreter ${selected}` });
    }
    for (const program of inPath("torchlint", system)) {
      add(found, { program, arguments: [], origin: `PATH: ${program}` }, system);
    }
  }
  return found;
}

const MODULE = ["-m", "torchlint"];

function ofSetting(name: string, value: string, args: readonly string[], system: System): Command | string {
  const expanded = expand(value, system);
  const isName = !/[/\\]/.test(expanded);
  const base = system.folders[0]?.path ?? system.home;
  const program = isName ? inPath(expanded, system)[0] : modules(system).resolve(base, expanded);
  if (program === undefined) return `${name}: ${expanded} is not in PATH`;
  if (!system.isExecutable(program)) return `${name}: ${program} is not an executable file`;
  return { program, arguments: args, origin: `${name}: ${program}` };
}

function add(found: Found, command: Command | string, system: System): void {
  if (typeof command === "string") {
    found.refused.push(command);
  } else if (!system.trusted && system.folders.some((folder) => contains(folder, command.program, system))) {
    found.refused.push(`${command.origin}: it is in the workspace, which is not trusted`);
  } else {
    found.commands.push(command);
  }
}

/** The executables of this name in the absolute directories of `PATH`. */
function inPath(name: string, system: System): string[] {
  const paths = modules(system);
  const file = system.platform === "win32" && !name.toLowerCase().endsWith(".exe") ? `${name}.exe` : name;
  const directories = (searchPath(system) ?? "").split(paths.delimiter).filter((directory) => paths.isAbsolute(directory));
  return [...new Set(directories.map((directory) => paths.join(directory, file)))].filter((each) => system.isExecutable(each));
}

function searchPath({ environment, platform }: System): string | undefined {
  const name = platform === "win32" ? Object.keys(environment).find((each) => each.toUpperCase() === "PATH") : "PATH";
  return name === undefined ? undefined : environment[name];
}

/** Whether a file is in a folder, by its name or without symbolic links. */
function contains(folder: Folder, file: string, system: System): boolean {
  const paths = modules(system);
  const below = (root: string, each: string): boolean => {
    const way = paths.relative(root, each);
    return !/^\.\.(?=$|[/\\])/.test(way) && !paths.isAbsolute(way);
  };
  return below(folder.path, file) || below(system.real(folder.path), system.real(file));
}

function modules({ platform }: System): path.PlatformPath {
  return platform === "win32" ? path.win32 : path.posix;
}
