// Writes the tables of docs/usage-sources.md, after a change of the list or of a recording.
//   node scripts/write-usage-sources.mjs
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import './require-node.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const code = "(await import('./libs/otlp/src/usage-sources.testing.ts')).writePage()";
const args = ['--conditions=@agentlens/source', '--import', './scripts/source-loader.mjs', '--input-type=module'];
const { status } = spawnSync(process.execPath, [...args, '--eval', code], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 1;
