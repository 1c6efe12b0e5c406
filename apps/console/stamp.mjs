import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const STAMP = 'built/sources.sha256';

/** Everything the built files are made of. A spec compares it with the stamp, so that nobody forgets to build. */
export function hashOfSources() {
  const files = ['src', 'public']
    .flatMap((folder) => readdirSync(join(here, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const all = [...files, ...['index.html', 'vite.config.ts', 'package-lock.json'].map((name) => join(here, name))];
  const hash = createHash('sha256');
  for (const file of all.sort()) {
    hash.update(file.slice(here.length).replaceAll('\\', '/')).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

export function stamped() {
  return readFileSync(join(here, STAMP), 'utf8').trim();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(join(here, STAMP), `${hashOfSources()}\n`);
