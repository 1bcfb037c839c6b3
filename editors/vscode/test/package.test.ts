import assert from "node:assert/strict";
import { homedir } from "node:os";
import test from "node:test";

import { strFromU8 } from "fflate";

import { FILES } from "./package";

interface Manifest {
  main: string;
  icon: string;
  contributes: { commands: { command: string }[] };
}

const MANIFEST = JSON.parse(strFromU8(FILES["extension/package.json"] ?? new Uint8Array())) as Manifest;

test("the package holds the bundle and what the marketplace shows, and nothing else", () => {
  assert.deepEqual(Object.keys(FILES).sort(), [
    "[Content_Types].xml",
    "extension.vsixmanifest",
    "extension/LICENSE.txt",
    "extension/changelog.md",
    "extension/dist/extension.js",
    "extension/icon.png",
    "extension/package.json",
    "extension/readme.md",
  ]);
  assert.equal(MANIFEST.main, "./dist/extension.js");
  assert.ok(`extension/${MANIFEST.icon}` in FILES);
});

test("the package names no folder of the machine that built it, and no source map", () => {
  for (const [name, content] of Object.entries(FILES)) {
    const text = strFromU8(content, true);
    for (const folder of [process.cwd(), homedir()]) {
      assert.ok(folder === "/" || !text.includes(`${folder}/`), `${name} contains ${folder}`);
    }
    assert.ok(!/^\/\/# sourceMappingURL/m.test(text), `${name} has a source map`);
  }
});

test("the bundle registers the commands that the manifest declares", () => {
  const bundle = strFromU8(FILES["extension/dist/extension.js"] ?? new Uint8Array());
  const registered = [...bundle.matchAll(/registerCommand\("(torchlint\.\w+)"/g)].map((match) => match[1]);
  assert.deepEqual(registered.sort(), MANIFEST.contributes.commands.map(({ command }) => command).sort());
});
