import { type IncomingMessage, request } from 'node:http';
import { dirname } from 'node:path';
import { type GuardPaths, GuardStateError, refuseForeignFolder } from '../state.ts';

/* The client of the resident. It loads little else, because a hook starts with it. */

/** Status of an answer whose first line is the output of the hook and whose other lines are the reason of a refusal. */
export const REFUSED = 403;
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
    refuseForeignFolder(dirname(paths.socket));
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

/** @throws GuardStateError if what may answer there is not the guard */
export async function residentAnswers(paths: GuardPaths): Promise<boolean> {
  try {
    return (await askResident(paths, { path: '/status', timeoutMs: 1_000 })).status === 200;
  } catch (error) {
    if (error instanceof GuardStateError) throw error;
    // Nothing listens there.
    return false;
  }
}
