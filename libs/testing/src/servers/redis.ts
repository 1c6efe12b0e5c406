import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dockerAnswers, startContainer } from './docker.ts';
import { findProgram } from './find-program.ts';
import { freePort, ServerProcess } from './server-process.ts';
import { containerServer, processServer, type TestServer } from './test-server.ts';

export interface RedisOptions {
  readonly port?: number;
  /** Password for all clients; without it, anonymous connections are allowed. */
  readonly password?: string;
  /** Data folder to use and keep. Default: a temporary one that is deleted with the server. */
  readonly dataDir?: string;
}

const IMAGE = 'redis:7-alpine';
const SETTINGS = 'appendonly yes\nappendfsync everysec\nsave ""\n';

/** Starts a redis-server with an append-only file that is synced every second, as in production. */
export async function startRedis(options: RedisOptions = {}): Promise<TestServer> {
  if (await dockerAnswers()) return redisContainer(options);
  const program = await findProgram('redis-server', 'redis-server');
  const port = options.port ?? (await freePort());
  const folder = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'agentlens-redis-')));
  // Every user on the machine can read the arguments of a process.
  const file = join(folder, 'redis.conf');
  await writeFile(file, configuration(options), { mode: 0o600 });
  const server = new ServerProcess({
    name: 'redis-server',
    command: program.command,
    args: [file, '--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
    env: program.env,
    port,
  });
  await server.start();
  return processServer(
    `redis://${credentials(options)}127.0.0.1:${port}`,
    server,
    options.dataDir ? undefined : folder,
  );
}

function configuration({ password }: RedisOptions): string {
  return password === undefined ? SETTINGS : `${SETTINGS}requirepass ${password}\n`;
}

function credentials({ password }: RedisOptions): string {
  return password === undefined ? '' : `:${password}@`;
}

async function redisContainer(options: RedisOptions): Promise<TestServer> {
  const container = await startContainer({
    image: IMAGE,
    port: 6379,
    command: ['redis-server', '/etc/agentlens.conf'],
    files: [{ content: configuration(options), target: '/etc/agentlens.conf' }],
  });
  return containerServer(`redis://${credentials(options)}${container.host}:${container.port}`, container);
}
