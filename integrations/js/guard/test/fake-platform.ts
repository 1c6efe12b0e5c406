import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly authorization: string | undefined;
}

export interface Decision {
  readonly verdict: 'ALLOW' | 'BLOCK';
  readonly control: 'CONTINUE' | 'TERMINATE';
  readonly cause: Readonly<Record<string, string>>;
  readonly message: string;
  readonly modifiedArgs?: unknown;
}

export const ALLOW: Decision = { verdict: 'ALLOW', control: 'CONTINUE', cause: { kind: 'ALLOW' }, message: 'Allowed' };
export const BLOCK: Decision = {
  ...{ verdict: 'BLOCK', control: 'CONTINUE', message: 'Not this' },
  cause: { kind: 'RULE_VIOLATION', ruleId: 'r1' },
};
export const TERMINATE: Decision = { ...BLOCK, control: 'TERMINATE', message: 'Enough' };
export const PENDING: Decision = {
  ...{ verdict: 'BLOCK', control: 'TERMINATE', message: 'A person decides' },
  cause: { kind: 'HITL_PENDING', approvalId: 'approval-1' },
};
export const KILLED: Decision = {
  ...{ verdict: 'BLOCK', control: 'TERMINATE', message: 'Killed by an operator', cause: { kind: 'LOCKDOWN' } },
};

type Answer = Decision | { readonly status: number; readonly text?: string };

/** The agent protocol of the platform, with the decisions that a test gives. */
export class FakePlatform {
  readonly received: Received[] = [];
  decide: (body: Record<string, unknown>) => Answer = () => ALLOW;
  /** Status of everything but decisions. */
  status = 200;
  readonly #streams = new Set<ServerResponse>();
  readonly #waiting: { matches: () => boolean; done: () => void }[] = [];
  readonly #server = createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith('/v1/control/stream') === true) {
      this.#streams.add(outgoing);
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: ready\ndata: {}\n\n');
      this.#settle();
      return;
    }
    let text = '';
    incoming.setEncoding('utf8');
    incoming.on('data', (part: string) => {
      text += part;
    });
    incoming.on('end', () => {
      const { authorization } = incoming.headers;
      const body = JSON.parse(text || '{}') as Record<string, unknown>;
      this.received.push({ path: incoming.url ?? '', body, authorization });
      const answer: Answer = incoming.url?.endsWith('/evaluate') === true ? this.decide(body) : { status: this.status };
      const isPlain = 'status' in answer;
      outgoing.writeHead(isPlain ? answer.status : 200, { 'content-type': 'application/json' });
      outgoing.end(isPlain ? (answer.text ?? '{}') : JSON.stringify(answer));
      this.#settle();
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  push(event: string, data: object): void {
    for (const stream of this.#streams) stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  get questions(): Record<string, unknown>[] {
    return this.received.filter(({ path }) => path.endsWith('/evaluate')).map(({ body }) => body);
  }

  /** Events of one kind, as they were sent. */
  events(kind: string): Record<string, unknown>[] {
    const all = this.received.flatMap(({ path, body }) =>
      path === '/v1/runs/events' ? (body.events as Record<string, unknown>[]) : [],
    );
    return all.filter((event) => event.kind === kind);
  }

  get listeners(): number {
    return this.#streams.size;
  }

  /** Resolves as soon as a condition holds after a request. */
  until(matches: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ matches, done: resolve });
      this.#settle();
    });
  }

  #settle(): void {
    for (const one of this.#waiting.filter(({ matches }) => matches())) {
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      one.done();
    }
  }
}
