// The programs of a control plane, built once from Go modules (15 minutes on two cores) and kept in the user's cache folder.
//   node scripts/cluster/binaries.mjs             builds what is missing and prints the folder
//   node scripts/cluster/binaries.mjs --find      builds nothing; fails if it is missing
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const BUILD_TIMEOUT_MS = 3_600_000;
const modules = join(import.meta.dirname, 'control-plane');
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'agentlens', 'control-plane');

/** The folder of the programs, or undefined if they are not there and `build` is not set or building failed. */
export function findBinaries({ build = false } = {}) {
  const folder = join(
    cache,
    createHash('sha256')
      .update(readFileSync(join(modules, 'go.mod')))
      .update(linkerFlags())
      .digest('hex')
      .slice(0, 12),
  );
  const isComplete = () => PROGRAMS.every((program) => existsSync(join(folder, program)));
  if (isComplete() || !build) return isComplete() ? folder : undefined;
  mkdirSync(folder, { recursive: true });
  console.error(`building the control plane in ${folder}; this takes about 15 minutes`);
  const run = spawnSync(
    'go',
    ['build', '-mod=readonly', '-trimpath', `-ldflags=${linkerFlags()}`, '-o', `${folder}/`, 'tool'],
    {
      cwd: modules,
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: BUILD_TIMEOUT_MS,
    },
  );
  if (run.status !== 0) return undefined;
  // The module names its program after its folder.
  renameSync(join(folder, 'server'), join(folder, 'etcd'));
  return isComplete() ? folder : undefined;
}

/** The version that the API server tells, which a build of the module does not know. Helm compares it with the chart's. */
function linkerFlags() {
  const [, major, minor, patch] = /k8s\.io\/kubernetes v(\d+)\.(\d+)\.(\d+)/.exec(
    readFileSync(join(modules, 'go.mod'), 'utf8'),
  );
  const set = (name, value) => `-X k8s.io/component-base/version.${name}=${value}`;
  return [
    '-s -w',
    set('gitVersion', `v${major}.${minor}.${patch}`),
    set('gitMajor', major),
    set('gitMinor', minor),
  ].join(' ');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folder = findBinaries({ build: !process.argv.includes('--find') });
  if (folder === undefined) {
    console.error('there is no control plane: building it needs Go 1.24 or newer and the network');
    process.exit(1);
  }
  console.log(folder);
}
