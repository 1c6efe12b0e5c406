import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { pathToFileURL } from 'node:url';

const PROBE_DEADLINE_MS = 2_000;
let answer: Promise<boolean> | undefined;

/** `npm test` installs it where a Docker socket opens: see scripts/test.mjs. */
const CONTAINERS = new URL('../../../../tools/containers/package.json', import.meta.url);

/** The part of testcontainers that is used here. It is installed apart, because most machines have no engine. */
interface Testcontainers {
  readonly getContainerRuntimeClient: () => Promise<unknown>;
  readonly GenericContainer: new (image: string) => Container;
  readonly Wait: { forListeningPorts(): unknown };
}

interface Container {
  withExposedPorts(port: number): this;
  withWaitStrategy(strategy: unknown): this;
  withCommand(command: string[]): this;
  withEnvironment(env: Record<string, string>): this;
  withCopyContentToContainer(files: { content: string; target: string }[]): this;
  start(): Promise<StartedContainer>;
}

interface StartedContainer {
  getId(): string;
  getHost(): string;
  getMappedPort(port: number): number;
  restart(): Promise<void>;
  stop(): Promise<unknown>;
}

/** It loads an optional native module, so it is imported only if an engine may answer. */
async function loadTestcontainers(): Promise<Testcontainers> {
  const entry = createRequire(CONTAINERS).resolve('testcontainers');
  const module = (await import(pathToFileURL(entry).href)) as { default: Testcontainers };
  return module.default;
}

/** Whether there is an engine to ask: a named one, or the usual socket. */
export async function dockerMayAnswer(): Promise<boolean> {
  if (process.env.AGENTLENS_TEST_SERVERS === 'local') return false;
  return Boolean(process.env.DOCKER_HOST) || (await socketOpens('/var/run/docker.sock'));
}

/** Whether a Docker engine answers. Checked once; `AGENTLENS_TEST_SERVERS=local` skips the check. */
export function dockerAnswers(): Promise<boolean> {
  answer ??= ask();
  return answer;
}

async function ask(): Promise<boolean> {
  if (!(await dockerMayAnswer())) return false;
  try {
    const { getContainerRuntimeClient } = await loadTestcontainers();
    await Promise.race([
      getContainerRuntimeClient(),
      new Promise((_, reject) => setTimeout(() => reject(new Error('no answer')), PROBE_DEADLINE_MS).unref()),
    ]);
    return true;
  } catch {
    return false;
  }
}

function socketOpens(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

export interface ContainerSpec {
  readonly image: string;
  readonly port: number;
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: readonly { readonly content: string; readonly target: string }[];
}

export interface RunningContainer {
  readonly id: string;
  readonly host: string;
  readonly port: number;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startContainer(spec: ContainerSpec): Promise<RunningContainer> {
  const { GenericContainer, Wait } = await loadTestcontainers();
  let container = new GenericContainer(spec.image)
    .withExposedPorts(spec.port)
    .withWaitStrategy(Wait.forListeningPorts());
  if (spec.command) container = container.withCommand([...spec.command]);
  if (spec.env) container = container.withEnvironment({ ...spec.env });
  if (spec.files) container = container.withCopyContentToContainer([...spec.files]);
  const started = await container.start();
  return {
    id: started.getId(),
    host: started.getHost(),
    port: started.getMappedPort(spec.port),
    restart: () => started.restart(),
    stop: async () => {
      await started.stop();
    },
  };
}
