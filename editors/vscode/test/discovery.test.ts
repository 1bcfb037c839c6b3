import assert from "node:assert/strict";
import test from "node:test";

import { type Choice, discover, type System } from "../src/discovery";

const NOTHING: Choice = { path: "", interpreter: "" };

function system(files: readonly string[], changes: Partial<System> = {}): System {
  return {
    platform: "linux",
    home: "/home/ada",
    environment: { PATH: "/usr/local/bin:/usr/bin" },
    folders: [{ name: "project", path: "/code/project" }],
    trusted: true,
    isExecutable: (file) => files.includes(file),
    real: (file) => file,
    ...changes,
  };
}

function programs(choice: Choice, selected: string | undefined, around: System): string[] {
  return discover(choice, selected, around).commands.map((each) => [each.program, ...each.arguments].join(" "));
}

test("without settings, the selected interpreter comes before PATH", () => {
  const around = system(["/usr/bin/torchlint"]);
  assert.deepEqual(programs(NOTHING, "/env/bin/python", around), ["/env/bin/python -m torchlint", "/usr/bin/torchlint"]);
  assert.deepEqual(programs(NOTHING, undefined, around), ["/usr/bin/torchlint"]);
});

test("a setting is the only choice, and the path comes before the interpreter", () => {
  const around = system(["/opt/torchlint", "/opt/python", "/usr/bin/torchlint"]);
  assert.deepEqual(programs({ path: "/opt/torchlint", interpreter: "/opt/python" }, "/env/bin/python", around), ["/opt/torchlint"]);
  assert.deepEqual(programs({ path: "", interpreter: "/opt/python" }, "/env/bin/python", around), ["/opt/python -m torchlint"]);
});

test("settings may contain variables, be relative to the first folder, or be names in PATH", () => {
  const around = system(["/code/project/.venv/bin/torchlint", "/home/ada/bin/torchlint", "/usr/bin/python3.12"]);
  const local = ["/code/project/.venv/bin/torchlint"];
  assert.deepEqual(programs({ path: "${workspaceFolder}/.venv/bin/torchlint", interpreter: "" }, undefined, around), local);
  assert.deepEqual(programs({ path: ".venv/bin/torchlint", interpreter: "" }, undefined, around), local);
  assert.deepEqual(programs({ path: "~/bin/torchlint", interpreter: "" }, undefined, around), ["/home/ada/bin/torchlint"]);
  assert.deepEqual(programs({ path: "", interpreter: "python3.12" }, undefined, around), ["/usr/bin/python3.12 -m torchlint"]);
});

test("a setting that names no executable is refused, with the reason", () => {
  const { commands, refused } = discover({ path: "~/torchlint", interpreter: "" }, undefined, system(["/usr/bin/torchlint"]));
  assert.deepEqual(commands, []);
  assert.deepEqual(refused, ["torchlint.path: /home/ada/torchlint is not an executable file"]);
});

test("relative directories of PATH are left out", () => {
  const around = system(["bin/torchlint", "./torchlint", "/usr/bin/torchlint"], { environment: { PATH: ".:bin::/usr/bin" } });
  assert.deepEqual(programs(NOTHING, undefined, around), ["/usr/bin/torchlint"]);
});

test("a workspace that is not trusted does not choose what is run", () => {
  const inside = "/code/project/.venv/bin/torchlint";
  const around = system([inside, "/usr/bin/torchlint", "/links/torchlint"], {
    trusted: false,
    environment: { PATH: "/code/project/.venv/bin:/links:/usr/bin" },
    real: (file) => (file === "/links/torchlint" ? inside : file),
  });
  assert.deepEqual(programs(NOTHING, undefined, around), ["/usr/bin/torchlint"]);
  const chosen = discover({ path: "${workspaceFolder}/.venv/bin/torchlint", interpreter: "" }, undefined, around);
  assert.deepEqual(chosen.commands, []);
  assert.match(chosen.refused.join(), /in the workspace, which is not trusted/);
});

test("a folder beside the workspace is not in it", () => {
  const around = system(["/code/project-tools/torchlint"], { trusted: false, environment: { PATH: "/code/project-tools" } });
  assert.deepEqual(programs(NOTHING, undefined, around), ["/code/project-tools/torchlint"]);
});

test("on Windows, the executable has its suffix and PATH any case", () => {
  const file = "C:\\tools\\torchlint.exe";
  const folders = [{ name: "project", path: "C:\\work\\project" }];
  const around = system([file], { platform: "win32", folders, environment: { Path: "C:\\tools;D:\\other" } });
  assert.deepEqual(programs(NOTHING, undefined, around), [file]);
  assert.deepEqual(programs(NOTHING, undefined, { ...around, trusted: false }), [file]);
  const within = { ...around, trusted: false, folders: [{ name: "tools", path: "c:\\TOOLS" }] };
  assert.deepEqual(programs(NOTHING, undefined, within), []);
});
