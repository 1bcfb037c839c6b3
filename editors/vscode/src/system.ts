/** The system that VS Code runs on, for the search for torchlint. */

import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import * as vscode from "vscode";

import type { System } from "./discovery";

/** What is there now. */
export function system(): System {
  return {
    platform: process.platform,
    home: homedir(),
    environment: process.env,
    folders: (vscode.workspace.workspaceFolders ?? []).map(({ name, uri }) => ({ name, path: uri.fsPath })),
    trusted: vscode.workspace.isTrusted,
    isExecutable,
    real,
  };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function real(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
