import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dockerAnswers, startContainer } from './docker.ts';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { ServerProcess } from './server-process.ts';
import { containerServer, processServer, type TestServer } from './test-server.ts';

export interface RedisOptions {
  readonly port?: number;
  /** Data folder to use and keep; without it a temporary one that goes with the server. */
  readonly dataDir?: string;
}

const IMAGE = 'redis:7-alpine';
const DURABILITY = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', ''];

/** A redis-server of its own, append-only file synced every second as in production. */
export async function startRedis(options: RedisOptions = {}): Promise<TestServer> {
  if (await dockerAnswers()) return redisContainer();
  const program = await findProgram('redis-server', 'redis-server');
  const port = options.port ?? (await freePort());
  const folder = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'agentlens-redis-')));
  const server = new ServerProcess({
    name: 'redis-server',
    command: program.command,
    args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...DURABILITY],
    env: program.env,
    port,
  });
  await server.start();
  return processServer(`redis://127.0.0.1:${port}`, server, options.dataDir ? undefined : folder);
}

async function redisContainer(): Promise<TestServer> {
  const container = await startContainer({ image: IMAGE, port: 6379, command: ['redis-server', ...DURABILITY] });
  return containerServer(`redis://${container.host}:${container.port}`, container);
}
