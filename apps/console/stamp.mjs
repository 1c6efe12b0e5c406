import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const STAMP = 'built/sources.sha256';

/** Hash of all sources of the built files. A spec runs this with --check to detect a missing build. */
function hashOfSources() {
  const files = ['src', 'public']
    .flatMap((folder) => readdirSync(join(here, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const all = [...files, ...['index.html', 'vite.config.ts', 'package-lock.json'].map((name) => join(here, name))];
  const hash = createHash('sha256');
  for (const file of all.sort((a, b) => (a < b ? -1 : 1))) {
    hash.update(file.slice(here.length).replaceAll('\\', '/')).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

if (process.argv[2] !== '--check') writeFileSync(join(here, STAMP), `${hashOfSources()}\n`);
else if (readFileSync(join(here, STAMP), 'utf8').trim() !== hashOfSources()) {
  console.error('apps/console/built does not match its sources. Run in apps/console: npm ci && npm run build');
  process.exit(1);
}
