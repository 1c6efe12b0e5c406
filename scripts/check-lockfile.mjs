// Checks that every optional dependency named in the lockfile has an entry: npm drops optional platform packages that
// the registry lacks, and then `npm ci` fails on other platforms. Every package must come from the registry, have the
// hash that `npm ci` verifies, and a licence compatible with an Apache-2.0 product.
import { existsSync, readFileSync } from 'node:fs';

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
  'Python-2.0',
  'Unlicense',
]);

const lock = JSON.parse(readFileSync(new URL('package-lock.json', root), 'utf8'));
const problems = [];
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const name of Object.keys(entry.optionalDependencies ?? {})) {
    if (!resolves(path, name)) problems.push(`${path || '(root)'} names ${name}, which has no entry`);
  }
  if (entry.link || !path.includes('node_modules/')) continue;
  if (!entry.integrity?.startsWith('sha512-')) problems.push(`${path} has no sha512`);
  if (entry.resolved !== undefined && !entry.resolved.startsWith(REGISTRY))
    problems.push(`${path} comes from ${entry.resolved}`);
  const licence = entry.license ?? licenceOf(path);
  if (licence === undefined || !allowed(licence)) problems.push(`${path} is under ${licence ?? 'no known licence'}`);
}
if (problems.length > 0) {
  console.error(`package-lock.json:\n  ${problems.join('\n  ')}`);
  console.error(
    'If an entry is missing, pin the parent to a version whose platform packages are all in the registry, then run npm install again.',
  );
  process.exit(1);
}
console.log(`lockfile complete, hashed and licensed: ${Object.keys(lock.packages).length} packages`);

/** Resolves like Node: the nearest node_modules upwards. */
function resolves(path, name) {
  for (let base = path; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
    if (lock.packages[base === '' ? `node_modules/${name}` : `${base}/node_modules/${name}`]) return true;
    if (base === '') return false;
  }
}

/** Old packages declare their licence in another field, which the lockfile omits. */
function licenceOf(path) {
  const file = new URL(`${path}/package.json`, root);
  if (!existsSync(file)) return undefined;
  const { license, licenses } = JSON.parse(readFileSync(file, 'utf8'));
  return license ?? licenses?.[0]?.type;
}

/** SPDX: one of several alternatives is enough, of several together all are needed. */
function allowed(licence) {
  const text = licence.replaceAll(/[()]/g, '');
  return text.split(' OR ').some((one) => one.split(' AND ').every((name) => LICENCES.has(name.trim())));
}
