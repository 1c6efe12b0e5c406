import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dockerAnswers, startContainer } from './docker.ts';
import { findProgram } from './find-program.ts';
import { freePort, ServerProcess } from './server-process.ts';
import { containerServer, processServer, type TestServer } from './test-server.ts';

export interface NatsOptions {
  /** Additional server configuration. */
  readonly config?: string;
  /** Syncs every acknowledged message to disk (`sync_interval: always`), as required in production. */
  readonly durable?: boolean;
  /**
   * Pings clients like a production server, and disconnects one that does not answer for six seconds. Off by default,
   * so that a test process on a slow machine keeps its connection.
   */
  readonly strictPings?: boolean;
  readonly port?: number;
  /** Password of the user `agentlens`; without it, anonymous connections are allowed. */
  readonly password?: string;
  /** Data folder to use and keep. Default: a temporary one that is deleted with the server. */
  readonly dataDir?: string;
}

/** Debian 12 ships 2.9, which cannot sync every acknowledgement. The program of Debian 13 runs there unchanged. */
export const NATS_PACKAGE = { newerRelease: { codename: 'trixie', version: 13 } } as const;

const IMAGE = 'nats:2.12-alpine';
const USER = 'agentlens';

/** Starts a nats-server with JetStream on file storage. */
export async function startNats(options: NatsOptions = {}): Promise<TestServer> {
  if (await dockerAnswers()) return natsContainer(options);
  const program = await findProgram('nats-server', 'nats-server', NATS_PACKAGE);
  const port = options.port ?? (await freePort());
  const folder = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'agentlens-nats-')));
  const file = join(folder, 'server.conf');
  await writeFile(file, configuration(port, join(folder, 'data'), options), { mode: 0o600 });
  const server = new ServerProcess({
    name: 'nats-server',
    command: program.command,
    args: ['-c', file],
    env: program.env,
    port,
  });
  await server.start();
  return processServer(`nats://${credentials(options)}127.0.0.1:${port}`, server, options.dataDir ? undefined : folder);
}

/** As in deploy/nats/server.conf. Without it the server would deliver requests to dead handlers. */
const STRICT_PINGS = 'ping_interval: "2s"\nping_max: 2';
const PATIENT_PINGS = 'ping_interval: "30s"\nping_max: 4';

function configuration(port: number, store: string, options: NatsOptions, host = '127.0.0.1'): string {
  const sync = options.durable ? 'sync_interval: always' : '';
  const pings = options.strictPings ? STRICT_PINGS : PATIENT_PINGS;
  const { password } = options;
  const authorization = password === undefined ? '' : `authorization { user: "${USER}", password: "${password}" }`;
  return `host: ${host}\nport: ${port}\nmax_payload: 8MB\njetstream { store_dir: "${store}"\n${sync} }\n${pings}\n${authorization}\n${options.config ?? ''}\n`;
}

function credentials({ password }: NatsOptions): string {
  return password === undefined ? '' : `${USER}:${password}@`;
}

async function natsContainer(options: NatsOptions): Promise<TestServer> {
  const content = configuration(4222, '/data', options, '0.0.0.0');
  const container = await startContainer({
    image: IMAGE,
    port: 4222,
    command: ['-c', '/etc/agentlens.conf'],
    files: [{ content, target: '/etc/agentlens.conf' }],
  });
  return containerServer(`nats://${credentials(options)}${container.host}:${container.port}`, container);
}
