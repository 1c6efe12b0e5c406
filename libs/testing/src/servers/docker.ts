import { connect } from 'node:net';

const PROBE_DEADLINE_MS = 2_000;
let answer: Promise<boolean> | undefined;

/**
 * Whether a Docker engine answers. Checked once; `AGENTLENS_TEST_SERVERS=local` skips the check. The socket is tried
 * first, so that a machine with only the client installed does not load testcontainers.
 */
export function dockerAnswers(): Promise<boolean> {
  answer ??= ask();
  return answer;
}

async function ask(): Promise<boolean> {
  if (process.env.AGENTLENS_TEST_SERVERS === 'local') return false;
  if (!process.env.DOCKER_HOST && !(await socketOpens('/var/run/docker.sock'))) return false;
  try {
    const { getContainerRuntimeClient } = await import('testcontainers');
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

/** testcontainers loads an optional native module, so it is imported only if an engine answered. */
export async function startContainer(spec: ContainerSpec): Promise<RunningContainer> {
  const { GenericContainer, Wait } = await import('testcontainers');
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
