import { type Connection, readStream, type StreamFrame } from './stream-client.ts';

type Message =
  | { readonly type: 'said'; readonly batch: readonly StreamFrame[] }
  | { readonly type: 'connection'; readonly connection: Connection }
  | { readonly type: 'gap' }
  | { readonly type: 'who' };

interface SharedStreamHandlers {
  readonly onBatch: (batch: readonly StreamFrame[]) => void;
  readonly onConnection: (connection: Connection) => void;
  readonly onGap: () => void;
}

/** Frames are batched for this long. */
const GATHER_MS = 250;

/**
 * One stream for all tabs of a browser, because browsers allow six connections per origin. The tab that holds the lock
 * reads and relays to the others; when it closes, another tab takes over.
 */
export function joinStream(handlers: SharedStreamHandlers): () => void {
  const leaving = new AbortController();
  const channel = new BroadcastChannel('agentlens.stream');
  let connection: Connection = 'connecting';
  let leading = false;

  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.type === 'who' && leading) channel.postMessage({ type: 'connection', connection } satisfies Message);
    if (data.type === 'said') handlers.onBatch(data.batch);
    if (data.type === 'gap') handlers.onGap();
    if (data.type === 'connection') handlers.onConnection(data.connection);
  };
  channel.postMessage({ type: 'who' } satisfies Message);

  const lead = async () => {
    leading = true;
    let gathered: StreamFrame[] = [];
    const flush = setInterval(() => {
      if (gathered.length === 0) return;
      const batch = gathered;
      gathered = [];
      handlers.onBatch(batch);
      channel.postMessage({ type: 'said', batch } satisfies Message);
    }, GATHER_MS);
    const tell = (next: Connection) => {
      if (next === connection) return;
      connection = next;
      handlers.onConnection(next);
      channel.postMessage({ type: 'connection', connection: next } satisfies Message);
    };
    const onGap = () => {
      handlers.onGap();
      channel.postMessage({ type: 'gap' } satisfies Message);
    };
    try {
      await readStream({ onSaid: (said) => gathered.push(said), onConnection: tell, onGap }, leaving.signal);
    } finally {
      clearInterval(flush);
      leading = false;
    }
  };

  // A tab leaves by aborting, which also ends its request for the lock.
  const ignoreLeaving = (error: unknown) => {
    if (!leaving.signal.aborted) throw error;
  };
  if (navigator.locks === undefined) void lead();
  else void navigator.locks.request('agentlens.stream', { signal: leaving.signal }, lead).catch(ignoreLeaving);
  return () => {
    leaving.abort();
    channel.close();
  };
}
