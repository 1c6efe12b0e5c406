// Generates clients from the document of a fresh platform with three generators, checks them, and makes a rule with each.
//   node interop/openapi/clients.mjs
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { startPlatform } from '../platform.mjs';
import { pythonPrograms } from './environment.mjs';

const HERE = import.meta.dirname;
const GENERATED = join(HERE, 'generated');
const DOCUMENT = join(GENERATED, 'openapi.json');

function run(name, command, ...args) {
  console.log(`\n--- ${name}`);
  const { status, error } = spawnSync(command, args, {
    cwd: HERE,
    stdio: 'inherit',
    env: { ...process.env, CI: 'true' },
  });
  if (status !== 0) throw new Error(`${name} failed${error === undefined ? '' : `: ${error.message}`}`);
}
const program = (name) => join(HERE, 'node_modules/.bin', name);

const programs = pythonPrograms();
run('packages', 'npm', 'ci', '--no-audit', '--no-fund', '--silent');
rmSync(GENERATED, { recursive: true, force: true });
mkdirSync(GENERATED);
const platform = await startPlatform('in one process');
try {
  const document = await fetch(`${platform.url}/openapi.json`, { signal: AbortSignal.timeout(10_000) });
  writeFileSync(DOCUMENT, await document.text());
  // What is compiled from here stands beside packages that are ES modules.
  writeFileSync(join(GENERATED, 'package.json'), '{"type":"commonjs"}');

  run('lint of the document', program('redocly'), 'lint', DOCUMENT, '--config', join(HERE, 'redocly.yaml'));
  // What has a default may be left out of a request.
  const asRequests = '--default-non-nullable=false';
  run(
    'openapi-typescript',
    program('openapi-typescript'),
    DOCUMENT,
    asRequests,
    '-o',
    join(GENERATED, 'openapi-typescript.d.ts'),
  );
  run(
    'hey-api',
    program('openapi-ts'),
    '-i',
    DOCUMENT,
    '-o',
    join(GENERATED, 'hey-api'),
    '-p',
    '@hey-api/client-fetch',
    '@hey-api/typescript',
    '@hey-api/sdk',
  );
  run('types of both', program('tsc'), '-p', join(HERE, 'clients/tsconfig.json'));
  const require = createRequire(import.meta.url);
  for (const name of ['openapi-fetch', 'hey-api']) {
    await require(join(GENERATED, 'compiled/clients', `${name}.js`)).roundTrip(platform.url, platform.key);
    console.log(`a rule was made, read and deleted with ${name}`);
  }

  run(
    'openapi-python-client',
    join(programs, 'openapi-python-client'),
    ...['generate', '--path', DOCUMENT, '--meta', 'none', '--config', join(HERE, 'python/client.yaml')],
    ...['--output-path', join(GENERATED, 'agentlens_client'), '--fail-on-warning'],
  );
  run(
    'the Python client',
    join(programs, 'python'),
    join(HERE, 'clients/python_client.py'),
    GENERATED,
    platform.url,
    platform.key,
  );
} finally {
  await platform.stop();
}
console.log('\nthree generated clients work');
