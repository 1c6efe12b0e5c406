import { type IncomingMessage, request } from 'node:http';
import type { GuardPaths } from '../state.ts';

/* The client of the resident. It loads nothing else, because a hook starts with it. */

const MAX_BODY_BYTES = 64_000_000;

export async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error(`the hook input is longer than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export interface ResidentAnswer {
  readonly status: number;
  readonly text: string;
}

/** Sends one request to the resident. @throws Error if it does not answer in time */
export function askResident(
  paths: GuardPaths,
  {
    method = 'GET',
    path,
    body = '',
    headers = {},
    timeoutMs,
  }: { method?: string; path: string; body?: string | Buffer; headers?: Record<string, string>; timeoutMs: number },
): Promise<ResidentAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        socketPath: paths.socket,
        agent: false,
        method,
        path,
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      },
      (incoming) => {
        bodyOf(incoming).then((text) => resolve({ status: incoming.statusCode ?? 0, text }), reject);
      },
    );
    const timer = setTimeout(() => outgoing.destroy(new Error(`no answer after ${timeoutMs} ms`)), timeoutMs);
    outgoing.once('close', () => clearTimeout(timer));
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

export async function residentAnswers(paths: GuardPaths): Promise<boolean> {
  try {
    return (await askResident(paths, { path: '/status', timeoutMs: 1_000 })).status === 200;
  } catch {
    // Nothing listens there.
    return false;
  }
}
