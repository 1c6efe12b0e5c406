import { eventually } from '@agentlens/testing';

export interface ReceivedFrame {
  readonly event: string;
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: frames are asserted on, member by member
  readonly data: any;
}

/** The SDK's end of the control stream. */
export interface ControlListener {
  readonly status: number;
  readonly frames: ReceivedFrame[];
  /** The frames without the one that names the connection. */
  readonly news: readonly ReceivedFrame[];
  /** Waits for the nth frame with this name. */
  until(event: string, count?: number): Promise<ReceivedFrame[]>;
  close(): Promise<void>;
}

export async function listen(url: string, headers: Record<string, string>): Promise<ControlListener> {
  const hangUp = new AbortController();
  const response = await fetch(url, { headers, signal: hangUp.signal });
  const frames: ReceivedFrame[] = [];
  const reading = read(response, frames).catch(() => undefined);
  return {
    status: response.status,
    frames,
    get news() {
      return frames.filter(({ event }) => event !== 'connection');
    },
    until: async (event, count = 1) => {
      const matching = () => frames.filter((frame) => frame.event === event);
      await eventually(() => {
        if (matching().length < count) throw new Error(`only ${JSON.stringify(frames)}`);
      });
      return matching();
    },
    close: async () => {
      hangUp.abort();
      await reading;
    },
  };
}

async function read(response: Response, frames: ReceivedFrame[]): Promise<void> {
  if (response.body === null) return;
  let rest = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/, 2) as [string, string]));
      const event = fields.get('event');
      if (event !== undefined)
        frames.push({ event, id: fields.get('id'), data: JSON.parse(fields.get('data') ?? 'null') });
    }
  }
}
