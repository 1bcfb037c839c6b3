/** The extension: its commands, and what restarts the server. */

import * as vscode from "vscode";

import { onDidSelect } from "./python";
import { RulePages } from "./rules";
import { Server } from "./server";
import { Status } from "./status";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const channel = vscode.window.createOutputChannel("torchlint", { log: true });
  const status = new Status();
  const directory = context.extensionUri.fsPath;
  const running = (server = new Server(directory, channel, status));
  const pages = new RulePages(directory, () => running.command);
  const update = (): void => void running.update();
  context.subscriptions.push(
    channel,
    status,
    pages.register(),
    vscode.commands.registerCommand("torchlint.restart", () => running.update({ anew: true })),
    vscode.commands.registerCommand("torchlint.showOutput", () => {
      channel.show();
    }),
    vscode.commands.registerCommand("torchlint.showRule", () => pages.show()),
    vscode.commands.registerCommand("torchlint.fixAll", () =>
      vscode.commands.executeCommand("editor.action.codeAction", { kind: "source.fixAll.torchlint", apply: "first" }),
    ),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (["enable", "path", "interpreter"].some((name) => event.affectsConfiguration(`torchlint.${name}`))) update();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(update),
    vscode.workspace.onDidGrantWorkspaceTrust(() => followInterpreter().then(update)),
  );
  await followInterpreter();
  await running.update();

  async function followInterpreter(): Promise<void> {
    const following = await onDidSelect(update);
    if (following !== undefined) context.subscriptions.push(following);
  }
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
