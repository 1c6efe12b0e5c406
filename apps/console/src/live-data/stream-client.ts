import { addressOf } from '../api/client.ts';
import { FrameReader } from './sse.ts';

/** Kinds of frames that pages react to. */
const KINDS = ['event', 'session_update', 'alert', 'alert_changed', 'decision', 'delivery', 'order', 'breaker', 'rule'];
/** The server sends a heartbeat every 30 s. */
const SILENT_MS = 45_000;
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000];

export interface StreamFrame {
  readonly kind: string;
  readonly data: unknown;
}

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'refused';

interface StreamHandlers {
  readonly onSaid: (said: StreamFrame) => void;
  readonly onConnection: (connection: Connection) => void;
  /** Frames were missed, so everything shown must be refetched. */
  readonly onGap: () => void;
}

/** Reads the platform's stream until it is aborted, and resumes after a disconnect. */
export async function readStream({ onSaid, onConnection, onGap }: StreamHandlers, signal: AbortSignal): Promise<void> {
  let lastId: string | undefined;
  let failures = 0;
  onConnection('connecting');
  while (!signal.aborted) {
    try {
      const status = await once(lastId, signal, (frame) => {
        failures = 0;
        lastId = frame.id ?? lastId;
        onConnection('live');
        if (frame.event === 'dropped') onGap();
        else onSaid({ kind: frame.event, data: parsed(frame.data) });
      });
      if (status === 401 || status === 403) {
        onConnection('refused');
        return;
      }
      // The server no longer has the position: continue from now, with a gap.
      if (status === 400) lastId = undefined;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof TypeError || error instanceof DOMException)) throw error;
    }
    if (signal.aborted) return;
    onConnection('reconnecting');
    await pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 10_000, signal);
    failures += 1;
    // Only events are resumed.
    onGap();
  }
}

type OnFrame = (frame: { event: string; id: string | undefined; data: string }) => void;

/** @returns the status if the server rejected the stream */
async function once(lastId: string | undefined, signal: AbortSignal, onFrame: OnFrame): Promise<number> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENT_MS);
  try {
    const answer = await fetch(addressOf('/api/stream', { kinds: KINDS.join(',') }), {
      credentials: 'same-origin',
      signal: AbortSignal.any([signal, silence.signal]),
      headers: lastId === undefined ? {} : { 'last-event-id': lastId },
    });
    if (!answer.ok || answer.body === null) return answer.status;
    const frames = new FrameReader();
    for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENT_MS);
      for (const frame of frames.read(text)) onFrame(frame);
    }
    return 200;
  } finally {
    clearTimeout(timer);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A frame that the end of the connection cut; its data is refetched after the gap.
    return undefined;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
