import { ProblemError, refuse } from './problem-error.ts';
import { type Input, send } from './request.ts';
import type { ClientOptions, StreamOptions } from './types.ts';

/** One event of a stream. */
interface Frame {
  readonly event: string;
  readonly id?: string;
  readonly data: unknown;
}

const SHORTEST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/**
 * Iterates over the frames of a stream. After a lost connection it reconnects from the last frame with growing backoff.
 *
 * @throws ProblemError if the platform rejects the stream permanently
 */
export async function* readStream(
  client: ClientOptions,
  path: string,
  input: Input & StreamOptions,
): AsyncGenerator<Frame> {
  const { signal, silenceMs = 75_000 } = input;
  let { lastEventId } = input;
  let waitMs = SHORTEST_WAIT_MS;
  while (!signal?.aborted) {
    const connection = new AbortController();
    const ended = () => connection.abort();
    signal?.addEventListener('abort', ended);
    let silence = setTimeout(ended, silenceMs);
    try {
      const headers = { accept: 'text/event-stream', 'last-event-id': lastEventId };
      const answer = await send(client, 'GET', path, input, headers, connection.signal);
      if (!answer.ok) await refuse(answer);
      for await (const frame of framesOf(answer)) {
        clearTimeout(silence);
        silence = setTimeout(ended, silenceMs);
        waitMs = SHORTEST_WAIT_MS;
        lastEventId = frame.id ?? lastEventId;
        yield frame;
      }
    } catch (error) {
      if (error instanceof SyntaxError) throw error;
      if (error instanceof ProblemError) {
        if (error.status < 500 && error.status !== 429) throw error;
        waitMs = Math.max(waitMs, error.retryAfterMs ?? 0);
      }
    } finally {
      clearTimeout(silence);
      signal?.removeEventListener('abort', ended);
      connection.abort();
    }
    await pause(waitMs * (0.5 + Math.random() / 2), signal);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
}

/** Frames of one response. The platform ends lines with LF and writes a frame's data on one line. */
async function* framesOf({ body }: Response): AsyncGenerator<Frame> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) {
    const blocks = (rest + piece.value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const frame = frameOf(block);
      if (frame) yield frame;
    }
  }
}

function frameOf(block: string): Frame | undefined {
  const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]));
  const data = fields.get('data');
  if (data === undefined) return undefined;
  return { event: fields.get('event') ?? 'message', data: JSON.parse(data), id: fields.get('id') };
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
}
