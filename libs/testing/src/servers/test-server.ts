import { rm } from 'node:fs/promises';
import type { RunningContainer } from './docker.ts';
import type { ServerProcess } from './server-process.ts';

export interface TestServer {
  readonly url: string;
  /** Sends a signal such as SIGKILL; a container can only be stopped. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Restarts it after a kill with the same port and data. */
  start(): Promise<void>;
  restart(): Promise<void>;
  /** Stops it and deletes its data. */
  stop(): Promise<void>;
}

/** Wraps a server in a child process. `temporary` is the folder to delete with it, if any. */
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

/** Wraps a server in a container; a kill restarts it immediately. */
export function containerServer(url: string, container: RunningContainer): TestServer {
  return {
    url,
    kill: () => container.restart(),
    start: () => Promise.resolve(),
    restart: () => container.restart(),
    stop: () => container.stop(),
  };
}
