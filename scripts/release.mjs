// Makes the version of a release: npm run release -- 0.3.0
// Writes it to every package, lockfile, chart, image name and install command, dates the section of the changelog, and
// prints what is left to do. RELEASE.md has the whole procedure.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dateChangelog, setVersion, TEXT } from './packages/set-version.ts';

const SEMVER = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$/;

function release(version, root) {
  if (!SEMVER.test(version)) throw new Error(`"${version}" is no version; write it like 0.3.0`);
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  if (git('status', '--porcelain') !== '') throw new Error('the working tree has changes; commit or stash them first');
  const read = (file) => readFileSync(join(root, file), 'utf8');
  const from = JSON.parse(read('package.json')).version;

  const changelog = dateChangelog(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10));
  const changed = [];
  for (const file of git('ls-files').split('\n')) {
    if (!TEXT.test(file) && !/package(-lock)?\.json$/.test(file)) continue;
    const text = read(file);
    const next = setVersion(file, text, from, version);
    if (next === text) continue;
    writeFileSync(join(root, file), next);
    changed.push(file);
  }
  writeFileSync(join(root, 'CHANGELOG.md'), changelog);
  execFileSync(process.execPath, [join(root, 'scripts/render-kubernetes.mjs')], { stdio: 'inherit' });
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: join(root, 'apps/console'), stdio: 'inherit' });
  console.log(`${from} is ${version} now, in ${changed.length} files. Next: RELEASE.md, step 3.`);
}

try {
  const [version] = process.argv.slice(2);
  if (version === undefined) throw new Error('usage: npm run release -- VERSION');
  release(version, join(import.meta.dirname, '..'));
} catch (error) {
  console.error(`release: ${error.message}`);
  process.exit(1);
}
