import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from './find-program.ts';
import { freePort, ServerProcess } from './server-process.ts';
import { processServer, type TestServer } from './test-server.ts';

const run = promisify(execFile);
const PROGRAM = 'prometheus-alertmanager';
const TEMPLATES = 'usr/share/prometheus/alertmanager';

/**
 * Starts the Alertmanager of Debian, without a cluster. It reads its templates from a fixed path, so it runs in a root
 * folder of its own with the libraries that it needs.
 *
 * @param config text of its configuration file
 */
export async function startAlertmanager(config: string): Promise<TestServer> {
  const { command } = await findProgram(PROGRAM, PROGRAM);
  const root = await mkdtemp(join(tmpdir(), 'agentlens-alertmanager-'));
  await copyFile(command, join(root, PROGRAM));
  const { stdout } = await run('ldd', [command]);
  for (const [library = ''] of stdout.matchAll(/\/\S+/g)) {
    await mkdir(join(root, dirname(library)), { recursive: true });
    await copyFile(library, join(root, library));
  }
  await cp(join(dirname(command), '../..', TEMPLATES), join(root, TEMPLATES), { recursive: true });
  await mkdir(join(root, 'data'));
  await writeFile(join(root, 'alertmanager.yml'), config);
  const port = await freePort();
  const options = [
    ...['--config.file=/alertmanager.yml', '--storage.path=/data'],
    ...[`--web.listen-address=127.0.0.1:${port}`, '--cluster.listen-address='],
  ];
  const own = ['chroot', root, `/${PROGRAM}`, ...options];
  const isRoot = process.getuid?.() === 0;
  const url = `http://127.0.0.1:${port}`;
  const server = new ServerProcess({
    ...{ name: PROGRAM, port, command: isRoot ? 'env' : 'unshare', args: isRoot ? own : ['--map-root-user', ...own] },
    ready: async () => {
      const { ok, status } = await fetch(`${url}/-/ready`);
      if (!ok) throw new Error(`Alertmanager is not ready: ${status}`);
    },
  });
  await server.start();
  return processServer(url, server, root);
}
