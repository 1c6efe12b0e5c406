// npm drops optional platform packages that the registry lacks and `npm ci` then fails elsewhere: every optional
// dependency named in the lockfile must have an entry in it.
import { readFileSync } from 'node:fs';

const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
const missing = [];
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const name of Object.keys(entry.optionalDependencies ?? {})) {
    if (!resolves(path, name)) missing.push(`${path || '(root)'} -> ${name}`);
  }
}
if (missing.length > 0) {
  console.error(`package-lock.json lacks optional packages that are named in it:\n  ${missing.join('\n  ')}`);
  console.error(
    'Pin the parent to a version whose platform packages are all in the registry, then run npm install again.',
  );
  process.exit(1);
}
console.log(`lockfile complete: ${Object.keys(lock.packages).length} packages`);

/** Node's own lookup: the nearest node_modules upwards. */
function resolves(path, name) {
  for (let base = path; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
    if (lock.packages[base === '' ? `node_modules/${name}` : `${base}/node_modules/${name}`]) return true;
    if (base === '') return false;
  }
}
