import { rm } from 'node:fs/promises';
import type { RunningContainer } from './docker.ts';
import type { ServerProcess } from './server-process.ts';

export interface TestServer {
  readonly url: string;
  /** SIGKILL and the like; a container can only be stopped. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again after a kill, on the same port and data. */
  start(): Promise<void>;
  restart(): Promise<void>;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

/** A server that runs as a child process. `temporary` is the folder that goes with it, if there is one. */
export function processServer(url: string, server: ServerProcess, temporary: string | undefined): TestServer {
  return {
    url,
    kill: (signal) => server.kill(signal),
    start: () => server.start(),
    restart: () => server.restart(),
    stop: async () => {
      await server.stop();
      if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
    },
  };
}

/** A server that runs in a container; a kill brings it back at once. */
export function containerServer(url: string, container: RunningContainer): TestServer {
  return {
    url,
    kill: () => container.restart(),
    start: () => Promise.resolve(),
    restart: () => container.restart(),
    stop: () => container.stop(),
  };
}
