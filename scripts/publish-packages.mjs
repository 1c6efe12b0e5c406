// Publishes the packages of this workspace with provenance, in the order of their dependencies. The release workflow
// runs this on a tag. --dry-run shows what would be published.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PACKAGES } from './published-packages.mjs';

const dryRun = process.argv.includes('--dry-run');
const folder = mkdtempSync(join(tmpdir(), 'agentlens-publish-'));
try {
  for (const { name, make } of PACKAGES) {
    console.log(name);
    const tarball = await make(folder);
    const args = ['publish', tarball, '--access', 'public', ...(dryRun ? ['--dry-run'] : ['--provenance'])];
    execFileSync('npm', args, { stdio: 'inherit' });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
