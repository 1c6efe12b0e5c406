// `npm run findings [name ...]`: runs the scripts of this folder and reports which behaviours have changed.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const MAX_MS = 10 * 60_000;
const HERE = import.meta.dirname;

const wanted = process.argv.slice(2).map((name) => basename(name, '.sh'));
const names = readdirSync(HERE)
  .filter((file) => file.endsWith('.sh'))
  .map((file) => basename(file, '.sh'))
  .filter((name) => wanted.length === 0 || wanted.includes(name));
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`No such finding: ${unknown.join(', ')}`);
  process.exit(2);
}

const changed = [];
for (const name of names) {
  const { status, stdout, stderr, error } = spawnSync('bash', [join(HERE, `${name}.sh`)], {
    ...{ encoding: 'utf8', timeout: MAX_MS, killSignal: 'SIGKILL' },
  });
  const isSame = status === 0;
  if (!isSame) changed.push(name);
  console.log(`${isSame ? 'same   ' : 'CHANGED'} ${name}: ${stdout.trim().split('\n').at(-1) || 'no output'}`);
  if (!isSame) console.log((error?.message ?? stderr).trim().split('\n').slice(-10).join('\n'));
}
console.log(changed.length === 0 ? 'Nothing has changed.' : `Changed, so look at our mapping: ${changed.join(', ')}`);
process.exit(changed.length === 0 ? 0 : 1);
