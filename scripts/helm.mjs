// Finds Helm: HELM, the one on PATH, or one built from its Go module and kept in the user's cache folder.
//   node scripts/helm.mjs          prints its path, and builds it first if necessary (about three minutes)
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const MODULE = 'helm.sh/helm/v3/cmd/helm';
const VERSION = 'v3.19.2';
const BUILD_TIMEOUT_MS = 900_000;
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'agentlens', 'tools', VERSION);

function isHelm3(command) {
  const { status, stdout } = spawnSync(command, ['version', '--template', '{{.Version}}'], { encoding: 'utf8' });
  return status === 0 && /^v3\./.test(stdout);
}

/** Returns the command, or undefined if there is none and `build` is not set or there is no Go. */
export function findHelm({ build = false } = {}) {
  const built = join(cache, 'helm');
  const found = [process.env.HELM ?? '', 'helm', built].find((command) => command !== '' && isHelm3(command));
  if (found !== undefined || !build) return found;
  mkdirSync(cache, { recursive: true });
  console.error(`building Helm ${VERSION} in ${cache}`);
  const run = spawnSync('go', ['install', '-trimpath', `${MODULE}@${VERSION}`], {
    env: { ...process.env, GOBIN: cache },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: BUILD_TIMEOUT_MS,
  });
  return run.status === 0 && existsSync(built) ? built : undefined;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const helm = findHelm({ build: true });
  if (helm === undefined) {
    console.error('Helm 3 is neither on PATH nor can it be built: install Helm or Go, or name the program in HELM');
    process.exit(1);
  }
  console.log(helm);
}
