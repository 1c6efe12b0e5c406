import { connect, createServer, type Socket } from 'node:net';

/**
 * `pass` forwards; `latency` forwards with a delay; `half-open` stops forwarding on existing connections without
 * closing them, while new ones work; `blackhole` accepts connections but forwards nothing. `reset()` breaks existing
 * connections.
 */
export type ProxyMode = 'pass' | 'latency' | 'half-open' | 'blackhole';

export interface TcpProxy {
  readonly port: number;
  /** The target's address with this proxy's host and port. */
  readonly url: string;
  mode(mode: ProxyMode, latencyMs?: number): void;
  reset(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  frozen: boolean;
}

/** Writes chunks after a delay and in order, even if the delay changes. */
class LateWriter {
  private readonly waiting: { readonly chunk: Buffer; readonly dueMs: number }[] = [];
  private readonly send: (chunk: Buffer) => void;
  private timer: NodeJS.Timeout | undefined;

  constructor(send: (chunk: Buffer) => void) {
    this.send = send;
  }

  write(chunk: Buffer, delayMs: number): void {
    if (delayMs === 0 && this.waiting.length === 0) {
      this.send(chunk);
      return;
    }
    this.waiting.push({ chunk, dueMs: performance.now() + delayMs });
    this.timer ??= setTimeout(() => this.flush(), delayMs);
  }

  private flush(): void {
    this.timer = undefined;
    for (;;) {
      const next = this.waiting[0];
      if (next === undefined) return;
      const leftMs = next.dueMs - performance.now();
      if (leftMs > 0) {
        this.timer = setTimeout(() => this.flush(), leftMs);
        return;
      }
      this.waiting.shift();
      this.send(next.chunk);
    }
  }
}

export async function tcpProxy(targetUrl: string): Promise<TcpProxy> {
  const target = new URL(targetUrl);
  const pairs = new Set<Pair>();
  let current: ProxyMode = 'pass';
  let delayMs = 0;

  // Clients and servers send small packets without delay; with Nagle's algorithm here they would wait 40 ms.
  const noDelay = true;
  const server = createServer({ noDelay }, (near) => {
    const far = connect({ host: target.hostname, port: Number(target.port), noDelay });
    const pair: Pair = { near, far, frozen: current === 'blackhole' };
    pairs.add(pair);
    forward(pair, near, far);
    forward(pair, far, near);
  });

  function forward(pair: Pair, from: Socket, to: Socket): void {
    const late = new LateWriter((chunk) => to.write(chunk));
    from.on('data', (chunk) => {
      if (pair.frozen) return;
      late.write(chunk, current === 'latency' ? delayMs : 0);
    });
    const drop = () => {
      if (pair.frozen) return;
      pairs.delete(pair);
      to.destroy();
    };
    from.on('close', drop);
    from.on('error', drop);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was assigned');
  const url = new URL(targetUrl);
  url.hostname = '127.0.0.1';
  url.port = String(address.port);

  return {
    port: address.port,
    url: url.href,
    mode: (mode, latencyMs = 0) => {
      current = mode;
      delayMs = latencyMs;
      if (mode === 'half-open' || mode === 'blackhole') for (const pair of pairs) pair.frozen = true;
    },
    reset: () => {
      for (const { near, far } of pairs) {
        near.resetAndDestroy();
        far.destroy();
      }
      pairs.clear();
    },
    close: () =>
      new Promise((resolve) => {
        for (const { near, far } of pairs) {
          near.destroy();
          far.destroy();
        }
        pairs.clear();
        server.close(() => resolve());
      }),
  };
}
