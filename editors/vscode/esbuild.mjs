// Bundles the extension to dist/extension.js, or with --tests each test to out/.
import { readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const shared = { bundle: true, platform: "node", target: "node20", format: "cjs", external: ["vscode"] };

if (process.argv.includes("--tests")) {
  rmSync("out", { recursive: true, force: true });
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  await build({ ...shared, entryPoints: tests.map((name) => `test/${name}`), outdir: "out", sourcemap: "inline" });
} else {
  const production = process.argv.includes("--production");
  await build({
    ...shared,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    minify: production,
    sourcemap: production ? false : "inline",
    legalComments: "inline",
  });
}
