// Checks that every optional dependency named in the lockfile has an entry: npm drops optional platform packages that
// the registry lacks, and then `npm ci` fails on other platforms. Every package must come from the registry, have the
// hash that `npm ci` verifies, and a licence compatible with an Apache-2.0 product.
import { readFileSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const REGISTRY = 'https://registry.npmjs.org/';
const LICENCES = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC-BY-4.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
]);

/** Declared in a field of old manifests, which lockfiles omit. */
const OLD_FIELD = { buildcheck: 'MIT', 'cpu-features': 'MIT', ssh2: 'MIT' };

/** The packages that everybody installs, and those that commands install once. */
const FOLDERS = ['', 'tools/', 'tools/containers/'];
const counts = FOLDERS.map((folder) => check(new URL(folder, root), `${folder}package-lock.json`));
console.log(`lockfiles complete, hashed and licensed: ${counts.join(' + ')} packages`);

/** Ends the process with the problems, if there are any. Returns the number of packages. */
function check(folder, file) {
  const { packages } = JSON.parse(readFileSync(new URL('package-lock.json', folder), 'utf8'));
  const problems = [];
  for (const [path, entry] of Object.entries(packages)) {
    for (const name of Object.keys(entry.optionalDependencies ?? {})) {
      if (!resolves(packages, path, name)) problems.push(`${path || '(root)'} names ${name}, which has no entry`);
    }
    if (entry.link || !path.includes('node_modules/')) continue;
    if (!entry.integrity?.startsWith('sha512-')) problems.push(`${path} has no sha512`);
    if (entry.resolved !== undefined && !entry.resolved.startsWith(REGISTRY))
      problems.push(`${path} comes from ${entry.resolved}`);
    const licence = entry.license ?? OLD_FIELD[path.slice(path.lastIndexOf('node_modules/') + 13)];
    if (licence === undefined || !allowed(licence)) problems.push(`${path} is under ${licence ?? 'no known licence'}`);
  }
  if (problems.length > 0) {
    console.error(`${file}:\n  ${problems.join('\n  ')}`);
    console.error(
      'If an entry is missing, pin the parent to a version whose platform packages are all in the registry, then run npm install again.',
    );
    process.exit(1);
  }
  return Object.keys(packages).length;
}

/** Resolves like Node: the nearest node_modules upwards. */
function resolves(packages, path, name) {
  for (let base = path; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
    if (packages[base === '' ? `node_modules/${name}` : `${base}/node_modules/${name}`]) return true;
    if (base === '') return false;
  }
}

/** SPDX: one of several alternatives is enough, of several together all are needed. */
function allowed(licence) {
  const text = licence.replaceAll(/[()]/g, '');
  return text.split(' OR ').some((one) => one.split(' AND ').every((name) => LICENCES.has(name.trim())));
}
