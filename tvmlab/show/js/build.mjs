// Bundles each explorer: src/NAME.js becomes ../bundles/NAME.js and NAME.css, with the licences of what they contain.
// `node build.mjs FOLDER` writes elsewhere, so that a test can compare.

import { build } from "esbuild";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "..", "bundles"));
const entries = readdirSync(join(here, "src")).filter((name) => name.endsWith(".js"));

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: entries.map((name) => join("src", name)),
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
});

const packages = new Set();
for (const input of Object.keys(metafile.inputs)) {
  const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) packages.add(found[1]);
}
const licences = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt"].map((each) => join(folder, each)).find(existsSync);
  if (!file) throw new Error(`${name} has no licence`);
  return `${name} ${version}\n\n${readFileSync(file, "utf8").trim()}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
