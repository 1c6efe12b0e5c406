// Finds programs that come as Go modules: named by a variable (HELM, ACTIONLINT), on PATH, or built from the module and kept
// in the user's cache folder.
//   node scripts/go-tools.mjs helm      prints its path, and builds it first if necessary (about three minutes)
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const TOOLS = {
  helm: {
    module: 'helm.sh/helm/v3/cmd/helm@v3.19.2',
    version: ['version', '--template', '{{.Version}}'],
    accepts: /^v3\./,
  },
  actionlint: { module: 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.9', version: ['--version'], accepts: /1\.7/ },
};
const BUILD_TIMEOUT_MS = 900_000;
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'agentlens', 'tools');

/** Returns the command, or undefined if there is none and `build` is not set or there is no Go. */
export function findTool(name, { build = false } = {}) {
  const { module, version, accepts } = TOOLS[name];
  const folder = join(cache, module.replaceAll(/[/@]/g, '-'));
  const built = join(folder, name);
  const isUsable = (command) => {
    const { status, stdout } = spawnSync(command, version, { encoding: 'utf8' });
    return status === 0 && accepts.test(stdout);
  };
  const found = [process.env[name.toUpperCase()] ?? '', name, built].find(
    (command) => command !== '' && isUsable(command),
  );
  if (found !== undefined || !build) return found;
  mkdirSync(folder, { recursive: true });
  console.error(`building ${module} in ${folder}`);
  const run = spawnSync('go', ['install', '-trimpath', module], {
    env: { ...process.env, GOBIN: folder },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: BUILD_TIMEOUT_MS,
  });
  return run.status === 0 && existsSync(built) ? built : undefined;
}

/** The same for scripts that cannot do without it: prints what to do and exits. */
export function needTool(name) {
  const found = findTool(name, { build: true });
  if (found !== undefined) return found;
  console.error(`${name} is neither on PATH nor can it be built: install it or Go, or set ${name.toUpperCase()}`);
  process.exit(1);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(needTool(process.argv[2] ?? 'helm'));
