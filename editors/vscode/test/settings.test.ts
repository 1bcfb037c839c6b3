import assert from "node:assert/strict";
import test from "node:test";

import { forServer } from "../src/settings";
import { expand, type Values } from "../src/variables";

const VALUES: Values = {
  home: "/home/ada",
  environment: { CONDA_PREFIX: "/conda" },
  folders: [
    { name: "project", path: "/code/project" },
    { name: "lib", path: "/code/lib" },
  ],
};

test("text without variables stays as it is", () => {
  for (const text of ["/usr/bin/torchlint", "torchlint", "a~b", "~ada/x", "$HOME", ""]) assert.equal(expand(text, VALUES), text);
});

test("variables are replaced, and unknown ones stay visible", () => {
  assert.equal(expand("~/x", VALUES), "/home/ada/x");
  assert.equal(expand(" ${userHome}/x ", VALUES), "/home/ada/x");
  assert.equal(expand("${workspaceFolder}/x", VALUES), "/code/project/x");
  assert.equal(expand("${workspaceFolder:lib}/x", VALUES), "/code/lib/x");
  assert.equal(expand("${env:CONDA_PREFIX}/bin${env:UNSET}", VALUES), "/conda/bin");
  assert.equal(expand("${workspaceFolder:other}/${nothing}", VALUES), "${workspaceFolder:other}/${nothing}");
});

test("the server gets its own settings only", () => {
  const given = { enable: true, path: "/x", interpreter: "", trace: { server: "off" }, select: null, ignore: ["TL4"] };
  assert.deepEqual(forServer(given, VALUES), { enable: true, select: null, ignore: ["TL4"] });
});

test("the path of a configuration file may contain variables, and an empty one is none", () => {
  assert.deepEqual(forServer({ configuration: "${workspaceFolder:lib}/torchlint.toml" }, VALUES), {
    configuration: "/code/lib/torchlint.toml",
  });
  assert.deepEqual(forServer({ configuration: " " }, VALUES), { configuration: null });
});
