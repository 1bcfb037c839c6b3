/** The packaged extension with the real server, in an editor that is not there. Needs torchlint: TORCHLINT or PATH. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";

import { URI } from "vscode-uri";

import { install } from "./package";
import { type CodeAction, Diagnostic, Document, Editor, type InlayHint, Position, Range } from "./vscode";

const TORCHLINT = process.env.TORCHLINT ?? "torchlint";
const SLOW = 'import torch\n\n\ndef label(count):\n    return torch.zeros(count).to("cuda")\n';
const FIXED = SLOW.replace('torch.zeros(count).to("cuda")', 'torch.zeros(count, device="cuda")');
const WAIT = 15_000;

function missing(): string | false {
  try {
    execFileSync(TORCHLINT, ["--version"]);
    return false;
  } catch {
    return `${TORCHLINT} cannot be run; set TORCHLINT to the executable`;
  }
}

const options = { skip: missing(), timeout: 2 * WAIT };

async function until<T>(what: string, wanted: () => T | undefined | false): Promise<T> {
  for (const end = Date.now() + WAIT; Date.now() < end; ) {
    const found = wanted();
    if (found !== undefined && found !== false) return found;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error(`waited in vain for ${what}`);
}

function project(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "torchlint-project-")));
}

/** An editor with a folder in which the extension is active until the test ends. */
async function started(context: TestContext, folder: string, settings: Record<string, unknown>, trusted = true): Promise<Editor> {
  const editor = new Editor();
  editor.settings = settings;
  editor.trusted = trusted;
  editor.folders = [{ uri: URI.file(folder), name: "project", index: 0 }];
  const [extension, place] = install(editor);
  context.after(() => extension.deactivate());
  await extension.activate({ subscriptions: [], extensionUri: URI.file(place) });
  return editor;
}

function rulesIn(editor: Editor, document: Document): string[] | undefined {
  const codes = editor.diagnostics.get(document.uri.toString())?.map(({ code }) => (typeof code === "object" ? code.value : code));
  return codes?.map(String).sort();
}

function script(folder: string, name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

test("findings appear, change with the text, and go with the finding", options, async (context) => {
  const folder = project();
  const editor = await started(context, folder, { path: TORCHLINT });
  const document = new Document(join(folder, "train.py"), SLOW);
  editor.open(document);
  const found = await until("findings", () => rulesIn(editor, document)?.includes("TL104") === true && rulesIn(editor, document));
  assert.deepEqual(found, ["TL104", "TL701"]);
  assert.match(String(editor.status.text), /^torchlint \d/);

  const actions = editor.providers.get("codeActions")?.provideCodeActions;
  const all = [new Diagnostic(new Range(new Position(4, 0), new Position(4, 60)), "", 1)];
  const asked = { diagnostics: all, only: undefined, triggerKind: 1 };
  const given = (await actions?.(document, all[0]?.range, asked, { onCancellationRequested: () => undefined })) as CodeAction[];
  const fix = given.find((each) => each.edit !== undefined && each.title.includes('TL104'));
  assert.ok(fix !== undefined, `no fix among ${given.map((each) => each.title).join(", ")}`);

  editor.fire("onDidChangeTextDocument", document.replace(FIXED));
  await until("the finding to go", () => rulesIn(editor, document)?.includes("TL104") === false);
  editor.fire("onDidChangeTextDocument", document.replace("import torch\n\ndef broken(:\n"));
  await until("the syntax error", () => rulesIn(editor, document)?.join() === "TL000");
  assert.deepEqual(editor.log.filter((line) => /torchlint\.server|Traceback/.test(line)), [], "the server has something to complain about");
  assert.deepEqual(editor.messages, []);
});

test("evidence that is written later is shown behind its line, unless a setting says no", options, async (context) => {
  const folder = project();
  const text = "def keep(values, loss):\n    values.append(loss.item())\n";
  const editor = await started(context, folder, { path: TORCHLINT, evidence: ["runs"] });
  const document = new Document(join(folder, "train.py"), text);
  writeFileSync(join(folder, "train.py"), text);
  editor.open(document);
  await until("findings", () => rulesIn(editor, document)?.length === 0);
  mkdirSync(join(folder, "runs"));
  writeFileSync(join(folder, "runs", "observations.json"), evidence(text));
  await until("the finding", () => rulesIn(editor, document)?.join() === "TL301");

  const labels = async (): Promise<string[]> => {
    const given = (await editor.providers.get("hints")?.provideInlayHints?.(
      document,
      new Range(new Position(0, 0), new Position(9, 0)),
      { onCancellationRequested: () => undefined },
    )) as InlayHint[];
    return given.map(({ label }) => label);
  };
  assert.deepEqual(await labels(), ["1 a step, 10 us (modeled)"]);
  editor.change("showMeasured", false);
  for (const end = Date.now() + WAIT; (await labels()).length > 0; ) assert.ok(Date.now() < end, "the hint stays");
});

/** Evidence that the second line of a text waits once in each of ten steps. */
function evidence(text: string): string {
  const times = { times: 10, steps: 10, part: 1, us: 100, pageable: false };
  const event = { kind: "sync", how: "read", phase: "training", place: [2, 18, 2, 29], ...times };
  const file = { sha256: createHash("sha256").update(text).digest("hex"), events: [event] };
  return JSON.stringify({ schema: 1, torchlint: "0", torch: "2.9", device: "simulated", files: { "train.py": file } });
}

test("a server that is killed is started again, and one that is disabled is not", options, async (context) => {
  const folder = project();
  const pids = join(folder, "pids");
  const path = script(folder, "torchlint", `echo $$ "$*" >> ${pids}\nexec ${TORCHLINT} "$@"`);
  const editor = await started(context, folder, { path });
  const running = (): number[] => servers(pids);
  assert.equal(running().length, 1);
  process.kill(running()[0] ?? 0, "SIGKILL");
  await until("the second server", () => running().length === 2);
  const document = new Document(join(folder, "train.py"), SLOW);
  editor.open(document);
  await until("findings", () => rulesIn(editor, document)?.includes("TL104"));
  editor.change("enable", false);
  await until("the end", () => String(editor.status.detail).includes('disabled'));
  editor.change("enable", true);
  await until("the third server", () => running().length === 3);
});

function servers(log: string): number[] {
  const lines = execFileSync("cat", [log], { encoding: "utf8" }).trim().split("\n");
  return lines.filter((line) => line.endsWith(" server")).map((line) => Number.parseInt(line, 10));
}

test("a missing torchlint is said once, with what to do", async (context) => {
  const folder = project();
  const editor = await started(context, folder, { path: "/nowhere/torchlint" });
  assert.deepEqual(editor.messages, [
    "torchlint was not found (torchlint.path: /nowhere/torchlint is not an executable file). Install it, or set torchlint.path.",
  ]);
  assert.equal(editor.status.severity, 2);
  editor.fire("onDidChangeWorkspaceFolders", {});
  await editor.commands.get("torchlint.restart")?.();
  assert.equal(editor.messages.length, 2, "once, and again for a command of the user");
});

test("a server that cannot start says why, and is not started again and again", async (context) => {
  const folder = project();
  const runs = join(folder, "runs");
  const path = script(
    folder,
    "torchlint",
    `echo run >> ${runs}\n[ "$1" = --version ] && echo torchlint 0.1.0 && exit\necho "torchlint: the language server needs pygls" >&2\nexit 2`,
  );
  const editor = await started(context, folder, { path });
  assert.deepEqual(editor.messages, ["The torchlint server did not start: torchlint: the language server needs pygls"]);
  assert.equal(execFileSync("cat", [runs], { encoding: "utf8" }), "run\nrun\n");
  assert.equal(editor.status.severity, 2);
});

test("what is in an untrusted workspace is not run, until it is trusted", options, async (context) => {
  const folder = project();
  const path = script(folder, "torchlint", `touch ${folder}/ran\nexec ${TORCHLINT} "$@"`);
  const editor = await started(context, folder, { path }, false);
  assert.match(editor.messages.join(), /in the workspace, which is not trusted/);
  assert.throws(() => execFileSync("ls", [`${folder}/ran`], { stdio: "ignore" }));
  editor.trusted = true;
  editor.fire("onDidGrantWorkspaceTrust", undefined);
  await until("the server", () => /^torchlint \d/.test(String(editor.status.text)));
});

test("the page of a rule is what torchlint says of it", options, async (context) => {
  const editor = await started(context, project(), { path: TORCHLINT });
  const page = await editor.page?.provideTextDocumentContent(URI.parse("torchlint-rule:/TL104.md"));
  assert.match(page ?? "", /^# TL104 `factory-then-move`/);
});
