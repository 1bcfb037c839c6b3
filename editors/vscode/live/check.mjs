// The packaged extension in VS Code itself, as its server shows it in a browser.
//
//     npm run package && npm install --no-save playwright-core && node live/check.mjs
//
// VSCODE_SERVER is `server-main.js` of an installed server of VS Code (of code-server: lib/vscode/out/server-main.js), CHROMIUM
// the executable of a Chromium, and TORCHLINT that of torchlint.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { chromium } from "playwright-core";

const { VSCODE_SERVER: server, CHROMIUM: browser, TORCHLINT: torchlint } = process.env;
assert.ok(server && browser && torchlint, "set VSCODE_SERVER, CHROMIUM and TORCHLINT");

const WAIT = 60_000;
const TEXT = 'import torch\n\n\ndef keep(values, loss):\n    values.append(loss.item())\n    return torch.zeros(3).to("cuda")\n';
const FIXED = 'torch.zeros(3, device="cuda")';

/** Evidence that the line with `item` of a text waits once in each of ten steps. */
function evidence(text) {
  const event = { kind: "sync", how: "read", phase: "training", place: [5, 18, 5, 29], times: 10, steps: 10, part: 1, us: 100 };
  const file = { sha256: createHash("sha256").update(text).digest("hex"), events: [{ ...event, pageable: false }] };
  return JSON.stringify({ schema: 1, torchlint: "0", torch: "2.9", device: "simulated", files: { "train.py": file } });
}

function write(path, content) {
  mkdirSync(resolve(path, ".."), { recursive: true });
  writeFileSync(path, content);
}

/** Start a server of VS Code with the extension; returns it with its address. */
async function started(home) {
  const folders = ["--server-data-dir", join(home, "data"), "--extensions-dir", join(home, "extensions")];
  const package_ = ["--install-extension", resolve("torchlint.vsix")];
  execFileSync(process.execPath, [server, ...package_, ...folders], { stdio: "ignore" });
  write(join(home, "data", "data", "Machine", "settings.json"), JSON.stringify({ "torchlint.path": torchlint }));
  const options = ["--without-connection-token", "--accept-server-license-terms", "--host", "127.0.0.1", "--port", "0"];
  const child = spawn(process.execPath, [server, ...options, ...folders], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /listening on (\d+)/.exec(line)?.[1];
    if (port !== undefined) return [child, `localhost:${port}`];
  }
  throw new Error("the server of VS Code has ended");
}

async function opened(page, host, folder) {
  const file = `vscode-remote://${host}${folder}/train.py`;
  const payload = encodeURIComponent(JSON.stringify([["openFile", file]]));
  await page.goto(`http://${host}/?folder=${encodeURIComponent(folder)}&payload=${payload}`);
  await page.getByRole("button", { name: "Yes, I trust the authors" }).click({ timeout: WAIT });
  await page.locator(".view-line", { hasText: "values.append" }).waitFor({ timeout: WAIT });
}

/** Run a command by its title. */
async function run(page, title) {
  await page.keyboard.press("F1");
  await page.locator(".quick-input-widget input").first().fill(`>${title}`);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().waitFor({ timeout: WAIT });
  await page.keyboard.press("Enter");
}

const problem = (page, words) => page.locator(".markers-panel .monaco-list-row", { hasText: words }).first();
const code = (page, words) => page.locator(".view-lines", { hasText: words }).first();

async function checked(page, folder) {
  await run(page, "Problems: Focus on Problems View");
  await problem(page, "TL104").waitFor({ timeout: WAIT });
  console.log("findings of the open file are shown");

  write(join(folder, "runs", "observations.json"), evidence(TEXT));
  await code(page, "1 a step, 10 us (modeled)").waitFor({ timeout: WAIT });
  await problem(page, "TL301").waitFor({ timeout: WAIT });
  console.log("evidence that was written meanwhile is shown behind its line");

  await page.locator(".view-line", { hasText: "import torch" }).click();
  await page.keyboard.press("End");
  await page.keyboard.type("\nx =");
  await problem(page, "(before the last edits)").waitFor({ timeout: WAIT });
  await code(page, "(modeled)").waitFor({ state: "detached", timeout: WAIT });
  console.log("findings stay while a line is unfinished, without their costs");

  await page.keyboard.type(" 1");
  await problem(page, "(before the last edits)").waitFor({ state: "detached", timeout: WAIT });
  await run(page, "torchlint: Apply All Safe Fixes");
  await code(page, FIXED).waitFor({ timeout: WAIT });
  await problem(page, "TL104").waitFor({ state: "detached", timeout: WAIT });
  console.log("safe fixes are applied, and their findings go");
}

const home = realpathSync(mkdtempSync(join(tmpdir(), "torchlint-vscode-")));
const folder = join(home, "project");
write(join(folder, "train.py"), TEXT);
write(join(folder, ".vscode", "settings.json"), JSON.stringify({ "torchlint.evidence": ["runs"] }));
const [child, host] = await started(home);
const window = await chromium.launch({ executablePath: browser, args: ["--no-sandbox"] });
try {
  const page = await window.newPage({ viewport: { width: 1400, height: 900 } });
  await opened(page, host, folder);
  await checked(page, folder).catch(async (error) => {
    await page.screenshot({ path: join(tmpdir(), "torchlint-vscode.png") });
    throw error;
  });
} finally {
  await window.close();
  child.kill();
  rmSync(home, { recursive: true, force: true });
}
