/** The package that `npm run package` made, unpacked and loaded as VS Code does it. */

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import Module from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { unzipSync } from "fflate";

import type { Editor } from "./vscode";

export const FILES = unzipSync(readFileSync(resolve("torchlint.vsix")));

interface Extension {
  activate(context: unknown): Promise<void>;
  deactivate(): Promise<void>;
}

type Load = (name: string, ...others: unknown[]) => unknown;

/** The extension, and the folder in which it is installed. */
export function install(editor: Editor): [Extension, string] {
  const folder = join(mkdtempSync(join(tmpdir(), "torchlint-vsix-")), "extension");
  for (const [name, content] of Object.entries(FILES)) {
    const file = join(dirname(folder), name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  const loader = Module as unknown as { _load: Load };
  const load = loader._load;
  const vscode = editor.module();
  loader._load = (name, ...others) => (name === "vscode" ? vscode : load.call(loader, name, ...others));
  try {
    return [Module.createRequire(join(folder, "package.json"))("./dist/extension.js") as Extension, folder];
  } finally {
    loader._load = load;
  }
}
