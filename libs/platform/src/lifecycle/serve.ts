import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { startApp } from '../http/create-http-app.ts';
import type { Platform } from '../platform.ts';
import { stopTelemetry } from '../telemetry/telemetry.ts';
import { giveBackMemory } from './give-back-memory.ts';

/** How long a process behind a balancer serves on after it said that it is not ready, so that nobody is sent to it. */
export const LINGER_MS = 1_500;
/** In-flight requests get this long after the server stopped accepting new ones; then they are cut. */
const REQUESTS_MS = 4_000;
/** Kubernetes kills after 30 s; a process that hangs says so itself before. */
const HARD_DEADLINE_MS = 25_000;

const IDLE_CHECK_MS = 50;
const SAME_SIGNAL_MS = 500;

/** Listens. Port 0 takes a free one. @returns the address it can be reached at. */
export async function listen(app: NestFastifyApplication, platform: Platform): Promise<string> {
  const { host, port } = platform.config.http;
  await startApp(app);
  giveBackMemory();
  await app.listen(port, host);
  const address = app.getHttpServer().address();
  const actual = address !== null && typeof address === 'object' ? address.port : port;
  return `http://${host.includes(':') ? `[${host}]` : host}:${actual}`;
}

/**
 * Drains in the order that loses nothing: not ready (and for `lingerMs` still serving, each answer closing its
 * connection, until balancers and keep-alive clients have gone elsewhere), no new requests, the running ones finished (they still need the
 * consumers: in memory, a publish is settled by them), consumers closed with what they hold, connections closed.
 */
export async function shutDown(app: NestFastifyApplication, platform: Platform, lingerMs = 0): Promise<void> {
  platform.health.drain();
  if (lingerMs > 0) await new Promise((resolve) => setTimeout(resolve, lingerMs));
  const server = app.getHttpAdapter().getInstance();
  const cut = setTimeout(() => app.getHttpServer().closeAllConnections(), REQUESTS_MS);
  // A kept-alive connection whose last request ends only now would be waited for otherwise.
  const idle = setInterval(() => app.getHttpServer().closeIdleConnections(), IDLE_CHECK_MS);
  try {
    await server.close();
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(cut);
    await platform.close();
    await stopTelemetry();
  }
}

/** Ends the process with `process.exitCode`, or 0, after a clean drain on SIGTERM, Ctrl-C or the end of the terminal; a second Ctrl-C ends it at once. */
export function shutDownOnSignal(stop: () => Promise<void>, say: (line: string) => void): void {
  let since: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (since !== undefined) {
      // One Ctrl-C can arrive twice, from the terminal and forwarded by npm, and be followed by a supervisor's SIGTERM.
      if (signal === 'SIGINT' && performance.now() - since > SAME_SIGNAL_MS) process.exit(130);
      return;
    }
    since = performance.now();
    say(`${signal}: draining`);
    setTimeout(() => {
      say(`not drained within ${HARD_DEADLINE_MS / 1000} s, giving up`);
      process.exit(1);
    }, HARD_DEADLINE_MS).unref();
    stop().then(
      () => process.exit(process.exitCode ?? 0),
      (error: unknown) => {
        say(`draining failed: ${error instanceof Error ? error.message : String(error)}`);
        process.exit(1);
      },
    );
  };
  // SIGHUP: the terminal was closed.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal);
}
