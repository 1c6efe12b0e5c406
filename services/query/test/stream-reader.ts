import { eventually } from '@agentlens/testing';

export interface ReadFrame {
  readonly event: string;
  readonly id?: string;
  // biome-ignore lint/suspicious/noExplicitAny: frames are asserted on, member by member
  readonly data: any;
}

export interface StreamReader {
  readonly status: number;
  readonly headers: Headers;
  readonly frames: readonly ReadFrame[];
  /** Resolves with the frames of one kind when there are at least `count`. */
  until(event: string, count?: number): Promise<ReadFrame[]>;
  /** True after the server ended the stream. */
  ended(): boolean;
  close(): void;
}

/** A client of `/api/stream` that behaves like an EventSource. */
export async function readStream(url: string, headers: Record<string, string> = {}): Promise<StreamReader> {
  const abort = new AbortController();
  const answer = await fetch(url, { headers, signal: abort.signal });
  const frames: ReadFrame[] = [];
  let ended = false;
  const reading = collect(answer, frames);
  reading.then(
    () => {
      ended = true;
    },
    () => {
      ended = true;
    },
  );
  return {
    status: answer.status,
    headers: answer.headers,
    frames,
    until: (event, count = 1) =>
      eventually(() => {
        const found = frames.filter((frame) => frame.event === event);
        if (found.length < count) throw new Error(`${found.length} of ${count} ${event}: ${JSON.stringify(frames)}`);
        return found;
      }),
    ended: () => ended,
    close: () => abort.abort(),
  };
}

async function collect(answer: Response, frames: ReadFrame[]): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of answer.body ?? []) {
    const blocks = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]));
      const data = fields.get('data');
      if (data !== undefined)
        frames.push({ event: fields.get('event') ?? '', id: fields.get('id'), data: JSON.parse(data) });
    }
  }
}
