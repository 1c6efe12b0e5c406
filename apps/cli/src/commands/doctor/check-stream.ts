import { EXIT } from '../../exit-codes.ts';
import { interruptible, type PlatformClientOptions } from '../../platform-client.ts';
import type { Finding } from './finding.ts';

const check = 'stream';

/**
 * Whether a stream comes through while it is open: the platform sends a heartbeat at once, but a proxy that collects
 * answers lets nothing pass before the end.
 */
export async function checkStream(options: PlatformClientOptions, key: string): Promise<Finding> {
  const fail = (what: string, advice: string): Finding => {
    return { check, result: 'failed', what, advice, exitCode: EXIT.unreachable };
  };
  const ending = new AbortController();
  try {
    const startedMs = performance.now();
    const answer = await interruptible(options)(`${options.connection.url}/api/stream`, {
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', 'user-agent': options.userAgent },
      signal: AbortSignal.any([ending.signal, AbortSignal.timeout(options.timeoutMs)]),
    });
    const type = answer.headers.get('content-type') ?? 'no content type';
    if (!answer.ok || !type.startsWith('text/event-stream')) {
      return fail(`it was answered with ${answer.status} and ${type}`, 'A proxy on the way answers in its place.');
    }
    const first = await answer.body?.getReader().read();
    const took = `${Math.round(performance.now() - startedMs)} ms`;
    if (first?.value !== undefined) return { check, result: 'ok', what: `the first message came after ${took}` };
    return fail('it ended before the first message', 'A proxy on the way closes it: let /api/stream stay open.');
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'TimeoutError') throw error;
    return fail(
      `nothing came within ${options.timeoutMs / 1_000} s`,
      'A proxy on the way collects answers: switch buffering off for /api/stream (nginx: proxy_buffering off).',
    );
  } finally {
    ending.abort();
  }
}
