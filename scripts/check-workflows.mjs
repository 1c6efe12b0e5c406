// Checks the workflow files: each parses, and actionlint accepts it if it is installed. With --required, actionlint is
// built if it is missing, and its absence is a failure:
//   node scripts/check-workflows.mjs [--required]
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { findTool, needTool } from './go-tools.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = globSync('.github/workflows/*.yml', { cwd: root });
for (const file of files) {
  const { jobs } = parse(readFileSync(new URL(file, new URL('../', import.meta.url)), 'utf8'));
  if (typeof jobs !== 'object' || jobs === null) throw new Error(`${file} has no jobs`);
}
const actionlint = process.argv.includes('--required') ? needTool('actionlint') : findTool('actionlint');
if (actionlint === undefined) {
  console.log(`workflows: ${files.length} files parse; actionlint is not installed`);
} else {
  const { status } = spawnSync(actionlint, files, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
  console.log(`workflows: ${files.length} files are valid`);
}
