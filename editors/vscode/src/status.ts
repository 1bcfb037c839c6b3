/** What the status of Python files says about torchlint. */

import * as vscode from "vscode";

import { SELECTOR } from "./client";

export class Status implements vscode.Disposable {
  readonly #item = vscode.languages.createLanguageStatusItem("torchlint", SELECTOR);

  constructor() {
    this.#item.name = "torchlint";
    this.#item.command = { command: "torchlint.showOutput", title: "Show Output" };
  }

  starting(): void {
    this.#show("torchlint", "starting", true);
  }

  running(version: string, origin: string): void {
    this.#show(`torchlint ${version}`, origin);
  }

  disabled(): void {
    this.#show("torchlint", "disabled by the setting torchlint.enable");
  }

  failed(message: string): void {
    this.#show("torchlint", message, false, vscode.LanguageStatusSeverity.Error);
  }

  dispose(): void {
    this.#item.dispose();
  }

  #show(text: string, detail: string, busy = false, severity = vscode.LanguageStatusSeverity.Information): void {
    Object.assign(this.#item, { text, detail, busy, severity });
  }
}
