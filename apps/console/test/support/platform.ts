import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../../libs/testing/src/servers/server-process.ts';
import type { Target } from './traffic.ts';

export interface RunningPlatform extends Target {
  /** Signs a browser in, once. */
  readonly link: string;
  stop(): Promise<void>;
}

export const MODES = ['one process', 'five processes'] as const;
export type Mode = (typeof MODES)[number];

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const PROGRAMS: Readonly<Record<Mode, string>> = {
  'one process': 'services/standalone/dist/main.js',
  'five processes': 'scripts/start-distributed.mjs',
};
const READY_MS = 400_000;

/** The platform as its users start it; its terminal says the link and where the key lies. */
export async function startPlatform(mode: Mode, more: NodeJS.ProcessEnv = {}): Promise<RunningPlatform> {
  const dataDir = await mkdtemp(join(tmpdir(), 'agentlens-console-'));
  const env = {
    ...process.env,
    AGENTLENS_HTTP_PORT: String(await freePort()),
    AGENTLENS_DATA_DIR: dataDir,
    AGENTLENS_LOG_LEVEL: 'error',
    ...more,
  };
  const child = spawn(process.execPath, [join(root, PROGRAMS[mode])], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const link = await new Promise<string>((resolve, reject) => {
    let said = '';
    const late = setTimeout(() => reject(new Error(`The platform was not ready in time. It said:\n${said}`)), READY_MS);
    void exited.then(() => reject(new Error(`The platform ended. It said:\n${said}`)));
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const found = /Console +(\S+#code=\S+)/.exec(said)?.[1];
      if (found === undefined || !said.includes('Ctrl-C')) return;
      clearTimeout(late);
      resolve(found);
    });
  });
  const keyFile = join(dataDir, mode === 'one process' ? 'api-key' : 'distributed/api-key');
  return {
    address: new URL(link).origin,
    key: (await readFile(keyFile, 'utf8')).trim(),
    link,
    stop: async () => {
      child.kill('SIGINT');
      await exited;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
