import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

const TIMEOUT = '180s';

/** Helm against the control plane. Throws what Helm said. */
export function createHelm(helm, { kubeconfig, folder }) {
  const env = {
    ...process.env,
    KUBECONFIG: kubeconfig,
    HELM_CACHE_HOME: join(folder, 'helm'),
    HELM_CONFIG_HOME: join(folder, 'helm'),
  };
  const run = (args, input) => {
    const child = spawn(helm, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    const [out, err] = [[], []];
    child.stdout.on('data', (part) => out.push(part));
    child.stderr.on('data', (part) => err.push(part));
    child.stdin.end(input);
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (status) => {
        const said = Buffer.concat(err)
          .toString()
          .replaceAll(/^.*symbolic link.*\n/gm, '')
          .trim();
        if (status === 0) resolve(Buffer.concat(out).toString());
        else reject(new Error(said));
      });
    });
  };
  const put =
    (verb) =>
    (namespace, chart, values, { release = 'agentlens', wait = true, timeout = TIMEOUT } = {}) =>
      run(
        [verb, release, chart, '-n', namespace, '--values', '-', '--timeout', timeout, ...(wait ? ['--wait'] : [])],
        JSON.stringify(values),
      );
  return {
    install: put('install'),
    upgrade: put('upgrade'),
    rollback: (namespace, revision, release = 'agentlens') =>
      run(['rollback', release, String(revision), '-n', namespace, '--wait', '--timeout', TIMEOUT]),
    uninstall: (namespace, release = 'agentlens') =>
      run(['uninstall', release, '-n', namespace, '--wait', '--timeout', TIMEOUT]),
    test: (namespace, release = 'agentlens') => run(['test', release, '-n', namespace, '--timeout', TIMEOUT]),
  };
}

/** The chart of a commit, as a folder, or undefined if this clone does not have the commit. */
export function checkOutChart(root, commit, folder) {
  const archive = spawnSync('git', ['archive', commit, 'deploy'], { cwd: root, maxBuffer: 2 ** 28 });
  if (archive.status !== 0) return undefined;
  const target = join(folder, `chart-${commit}`);
  mkdirSync(target, { recursive: true });
  const unpacked = spawnSync('tar', ['-x', '-C', target], { input: archive.stdout });
  if (unpacked.status !== 0) throw new Error(`tar: ${String(unpacked.stderr)}`);
  return join(target, 'deploy', 'helm', 'agentlens');
}
