/** The interpreter that the Python extension has selected. */

import { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

let known: Promise<PythonExtension | undefined> | undefined;

/** The path of the selected interpreter; undefined without the Python extension, or if none is selected that works. */
export async function selectedInterpreter(): Promise<string | undefined> {
  const environments = (await extension())?.environments;
  if (environments === undefined) return undefined;
  const resource = vscode.workspace.workspaceFolders?.[0]?.uri;
  const chosen = environments.getActiveEnvironmentPath(resource);
  const environment = await environments.resolveEnvironment(chosen).catch(() => undefined);
  return environment?.executable.uri?.fsPath;
}

/** Call a function whenever another interpreter is selected. */
export async function onDidSelect(changed: () => void): Promise<vscode.Disposable | undefined> {
  return (await extension())?.environments.onDidChangeActiveEnvironmentPath(changed);
}

/** The interface of the Python extension, which is left alone where workspaces must not choose what is run. */
async function extension(): Promise<PythonExtension | undefined> {
  if (!vscode.workspace.isTrusted) return undefined;
  known ??= PythonExtension.api().catch(() => undefined);
  return await known;
}
