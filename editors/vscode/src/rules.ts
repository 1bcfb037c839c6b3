/** The pages of rules, as Markdown previews. */

import * as vscode from "vscode";

import type { Command } from "./discovery";
import { output } from "./probe";

const SCHEME = "torchlint-rule";

/** Shows pages of rules. `command` is what runs torchlint, if anything does. */
export class RulePages implements vscode.TextDocumentContentProvider {
  constructor(
    private readonly directory: string,
    private readonly command: () => Command | undefined,
  ) {}

  register(): vscode.Disposable {
    return vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  /** Show the page of the rule at the cursor, or of one that the user picks. */
  async show(): Promise<void> {
    const rule = ruleAtCursor() ?? (await this.#pick());
    if (rule === undefined) return;
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${rule}.md` });
    await vscode.commands.executeCommand("markdown.showPreview", uri);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    return this.#run(["rule", uri.path.replace(/^\/|\.md$/g, "")]);
  }

  async #pick(): Promise<string | undefined> {
    const rules = JSON.parse(await this.#run(["rules", "--output-format", "json"])) as { id: string; name: string; summary: string }[];
    const items = rules.map(({ id, name, summary }) => ({ label: id, description: name, detail: summary }));
    const options = { title: "torchlint: rules", matchOnDescription: true, matchOnDetail: true };
    return (await vscode.window.showQuickPick(items, options))?.label;
  }

  async #run(args: readonly string[]): Promise<string> {
    const command = this.command();
    if (command === undefined) throw new Error("torchlint is not running; see its output");
    return output(command, args, this.directory);
  }
}

/** The rule of a finding at the cursor of the active editor. */
function ruleAtCursor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return undefined;
  const here = vscode.languages
    .getDiagnostics(editor.document.uri)
    .filter((each) => each.source === "torchlint" && each.range.intersection(editor.selection) !== undefined);
  const code = here[0]?.code;
  return String(typeof code === "object" ? code.value : (code ?? "")) || undefined;
}
