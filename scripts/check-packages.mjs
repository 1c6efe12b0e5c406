// Packs the published packages and checks them: publint for the manifest, "are the types wrong" for the types. Both
// tools live in a separate environment that is kept between runs.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PACKAGES } from './published-packages.mjs';

const TOOLS = { publint: '0.3.25', '@arethetypeswrong/cli': '0.18.5' };
const stamp = Object.values(TOOLS).join('_');
const home = join(homedir(), '.cache/agentlens/package-tools', stamp);
const bin = join(home, 'node_modules/.bin');

if (!existsSync(join(bin, 'attw'))) {
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies: TOOLS }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: home, stdio: 'inherit' });
}

const folder = mkdtempSync(join(tmpdir(), 'agentlens-packages-'));
let failed = 0;
try {
  for (const { name, make } of PACKAGES) {
    console.log(`\n${name}`);
    const tarball = await make(folder);
    failed += check('publint', ['--strict', tarball]);
    // The packages are ES modules for Node 20.19 and later, which `require` can load too.
    failed += check('attw', [tarball, '--profile', 'esm-only', '--format', 'ascii']);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);

function check(tool, args) {
  const { status } = spawnSync(join(bin, tool), args, { stdio: 'inherit', timeout: 120_000 });
  if (status !== 0) console.error(`${tool} found something`);
  return status === 0 ? 0 : 1;
}
