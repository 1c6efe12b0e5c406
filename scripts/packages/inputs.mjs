import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Everything that packages are made from. */
const INPUTS = [
  '{libs,integrations/js}/*/{package.json,README.md,src/**/*,build/*}',
  'apps/cli/{package.json,README.md,bin/*,build/*,src/**/*}',
  'integrations/js/{build/package.mjs,tsconfig.json}',
  'python/{pyproject.toml,README.md,src/**/*.py}',
  'scripts/{make-packages,published-packages,published-fields}.mjs',
  'scripts/packages/*.mjs',
  '{package.json,package-lock.json,tsconfig.base.json,LICENSE,CHANGELOG.md}',
];
const TESTS = /\.(spec|contract|testing)\.ts$/;

/** A hash of the content of all inputs, so that packages are made again only if one has changed. */
export function readInputs(root) {
  const hash = createHash('sha256');
  const files = INPUTS.flatMap((pattern) => globSync(pattern, { cwd: root, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !TESTS.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.toSorted((a, b) => (a < b ? -1 : 1)))
    hash.update(file.slice(root.length)).update(readFileSync(file));
  return hash.digest('hex');
}
