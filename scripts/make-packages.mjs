// Makes the packages that the platform serves at /packages: the npm packages of the scope and the Python wheel, all of
// the version of this checkout, with their checksums, in dist/packages.
//   node scripts/make-packages.mjs [--if-changed]
import './require-node.mjs';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { PENDING, SHELF } from './packages/places.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const started = performance.now();

try {
  // Loaded by the Node that the first import may have handed over to.
  const { readInputs } = await import('./packages/inputs.mjs');
  const inputs = readInputs(root);
  if (!process.argv.includes('--if-changed') || madeFrom() !== inputs) {
    const count = await make(inputs);
    console.log(
      `${count} packages made in ${((performance.now() - started) / 1000).toFixed(1)} s; served at /packages/`,
    );
  }
} catch (error) {
  console.error(`The packages that the platform serves could not be made: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(PENDING, { force: true });
}

/** The inputs of the packages that exist. */
function madeFrom() {
  const index = join(SHELF, 'index.json');
  return existsSync(index) ? JSON.parse(readFileSync(index, 'utf8')).inputs : undefined;
}

/** Everything is made in a draft, which then takes the place of the folder. Returns the number of packages. */
async function make(inputs) {
  mkdirSync(dirname(SHELF), { recursive: true });
  const draft = mkdtempSync(join(dirname(SHELF), 'packages-'));
  try {
    const { PACKAGES, ADAPTERS } = await import('./published-packages.mjs');
    const { buildWheel } = await import('./packages/wheel.mjs');
    const npm = [];
    for (const { make: makePackage } of [...PACKAGES, ...ADAPTERS]) npm.push(describe(await makePackage(draft), draft));
    const { body, ...wheel } = buildWheel();
    writeFileSync(join(draft, wheel.file), body);
    const pypi = [{ ...wheel, sha256: digest('sha256', body, 'hex'), size: body.length }];
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    writeFileSync(join(draft, 'index.json'), `${JSON.stringify({ version, inputs, npm, pypi }, null, 2)}\n`);
    // The service may run as another user.
    chmodSync(draft, 0o755);
    rmSync(SHELF, { recursive: true, force: true });
    renameSync(draft, SHELF);
    return npm.length + pypi.length;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Renames a tarball to its short name and describes it as a registry does. */
function describe(tarball, folder) {
  const body = readFileSync(tarball);
  const manifest = readManifest(body);
  const file = `${manifest.name.split('/')[1]}-${manifest.version}.tgz`;
  cpSync(tarball, join(folder, file));
  rmSync(tarball);
  return {
    name: manifest.name,
    version: manifest.version,
    file,
    size: body.length,
    integrity: `sha512-${digest('sha512', body, 'base64')}`,
    shasum: digest('sha1', body, 'hex'),
    manifest,
  };
}

/** The manifest inside of a tarball that `npm pack` wrote: 512-byte headers with name and octal size. */
function readManifest(tarball) {
  const archive = gunzipSync(tarball);
  for (let at = 0; at < archive.length; ) {
    const field = (start, length) => archive.toString('utf8', at + start, at + start + length).split('\0', 1)[0];
    const size = Number.parseInt(field(124, 12), 8) || 0;
    if (field(0, 100) === 'package/package.json')
      return JSON.parse(archive.toString('utf8', at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  throw new Error('the tarball contains no package.json');
}

function digest(algorithm, body, encoding) {
  return createHash(algorithm).update(body).digest(encoding);
}
