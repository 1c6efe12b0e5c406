import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { startApp } from '../http/create-http-app.ts';
import type { Platform } from '../platform.ts';
import { stopTelemetry } from '../telemetry/telemetry.ts';

/**
 * Releases memory that only the start needed: loading modules leaves about 20 MB of half-empty heap. Takes a quarter of
 * a second before the process serves. Does nothing without `--expose-gc`, which `scripts/node-options` sets.
 */
function releaseStartupMemory(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** How long a process behind a load balancer keeps serving after it reports not ready. */
export const LINGER_MS = 1_500;
/** Requests in flight get this long after the server stops accepting new ones. */
const REQUESTS_MS = 4_000;
/** Kubernetes kills after 30 s; a process that hangs reports it before. */
const HARD_DEADLINE_MS = 25_000;

const IDLE_CHECK_MS = 50;
const SAME_SIGNAL_MS = 500;

/** Listens; port 0 picks a free one. @returns the address of the server */
export async function listen(app: NestFastifyApplication, platform: Platform): Promise<string> {
  const { host, port } = platform.config.http;
  await startApp(app);
  releaseStartupMemory();
  await app.listen(port, host);
  const address = app.getHttpServer().address();
  const actual = address !== null && typeof address === 'object' ? address.port : port;
  return `http://${host.includes(':') ? `[${host}]` : host}:${actual}`;
}

/**
 * Drains without loss: reports not ready (and serves for `lingerMs`, closing each connection, until clients have moved
 * on), stops accepting requests, finishes running ones (consumers must still run, because in memory they settle
 * publishes), then closes consumers and connections.
 */
export async function shutDown(app: NestFastifyApplication, platform: Platform, lingerMs = 0): Promise<void> {
  platform.health.drain();
  if (lingerMs > 0) await new Promise((resolve) => setTimeout(resolve, lingerMs));
  const server = app.getHttpAdapter().getInstance();
  const cut = setTimeout(
    () => app.getHttpServer().closeAllConnections(),
    Math.max(REQUESTS_MS, platform.config.drainSeconds * 1000),
  );
  // Closes keep-alive connections whose last request has just ended.
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

/** Exits with `process.exitCode`, or 0, after a clean drain on SIGTERM, Ctrl-C or SIGHUP; a second Ctrl-C exits at once. */
export function shutDownOnSignal(stop: () => Promise<void>, say: (line: string) => void, drainSeconds = 0): void {
  const deadlineMs = HARD_DEADLINE_MS + drainSeconds * 1000;
  let since: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (since !== undefined) {
      // One Ctrl-C can arrive twice, from the terminal and through npm, followed by a supervisor's SIGTERM.
      if (signal === 'SIGINT' && performance.now() - since > SAME_SIGNAL_MS) process.exit(130);
      return;
    }
    since = performance.now();
    say(`${signal}: draining`);
    setTimeout(() => {
      say(`not drained within ${deadlineMs / 1000} s, giving up`);
      process.exit(1);
    }, deadlineMs).unref();
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
