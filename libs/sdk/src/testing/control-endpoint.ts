interface ControlMessage {
  readonly kind: 'order' | 'directive' | 'approval' | 'rules';
  readonly value: Readonly<Record<string, unknown>>;
}

export interface ReceivedAcknowledgement {
  readonly directiveId: string;
  readonly agentId: string;
  readonly instanceId: string;
  /** Made with the secret of `TEST_CONNECTION`. */
  readonly mac?: string;
}

/** The secret that every listener gets. */
export const TEST_CONNECTION = { id: 'connection-1', secret: '5e'.repeat(32) };

/** Delivers operator orders to listening clients. */
export class ControlEndpoint {
  readonly acknowledgements: ReceivedAcknowledgement[] = [];
  readonly #agentId: string;
  readonly #now: () => number;
  readonly #killed: (runId: string | undefined, reason: string) => void;
  readonly #messages: ControlMessage[] = [];
  readonly #wakers = new Set<() => void>();
  #version = 0;

  /** @param killed called with the killed run, or with undefined if the agent was killed */
  constructor(agentId: string, now: () => number, killed: (runId: string | undefined, reason: string) => void) {
    this.#agentId = agentId;
    this.#now = now;
    this.#killed = killed;
  }

  kill(runId: string, reason = 'killed by test'): string {
    const id = this.#order('run', runId, 'killed', reason);
    this.#killed(runId, reason);
    return id;
  }

  pause(reason = 'paused by test'): string {
    return this.#order('agent', this.#agentId, 'paused', reason);
  }

  resume(): string {
    return this.#order('agent', this.#agentId, 'running', '');
  }

  killAgent(reason = 'killed by test'): string {
    const id = this.#order('agent', this.#agentId, 'killed', reason);
    this.#killed(undefined, reason);
    return id;
  }

  useModel(model: string | null): string {
    const id = this.#id();
    const at = this.#instant();
    const modelOverride = model === null ? null : { model, at, reason: 'test' };
    const directive = { id, agentId: this.#agentId, version: this.#version, paused: null, modelOverride, issuedAt: at };
    this.tell('directive', { tenantId: 'test', ...directive });
    return id;
  }

  tell(kind: ControlMessage['kind'], value: ControlMessage['value']): void {
    this.#messages.push({ kind, value });
    for (const wake of this.#wakers) wake();
  }

  /** Stream for a listener that has received `after` messages. */
  async *stream(after: number, signal: AbortSignal): AsyncGenerator<string> {
    yield 'retry: 1000\n\n';
    yield `event: connection\ndata: ${JSON.stringify(TEST_CONNECTION)}\n\n`;
    for (let at = after; ; ) {
      for (; at < this.#messages.length; at++) yield frame(this.#messages[at], at + 1);
      if (!(await this.#waitForMessage(at, signal))) return;
    }
  }

  /** Answer to a poll at `after`, once there is something newer. */
  async poll(after: number, signal: AbortSignal) {
    if (after >= this.#messages.length) await this.#waitForMessage(after, signal);
    return { items: this.#messages.slice(after), next: String(this.#messages.length), connection: TEST_CONNECTION };
  }

  #order(scope: 'run' | 'agent', scopeId: string, state: string, reason: string): string {
    const id = this.#id();
    const version = this.#version;
    const base = { id, tenantId: 'test', scope, scopeId, state, reason, version };
    this.tell('order', { ...base, by: 'test', issuedAt: this.#instant() });
    return id;
  }

  #id(): string {
    return `order-${++this.#version}`;
  }

  #instant(): string {
    return new Date(this.#now()).toISOString();
  }

  /** False when the listener has disconnected. */
  async #waitForMessage(at: number, signal: AbortSignal): Promise<boolean> {
    while (at >= this.#messages.length && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#wakers.delete(done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        this.#wakers.add(done);
        signal.addEventListener('abort', done, { once: true });
      });
    }
    return !signal.aborted;
  }
}

function frame(message: ControlMessage | undefined, id: number): string {
  return message === undefined ? '' : `event: ${message.kind}\nid: ${id}\ndata: ${JSON.stringify(message.value)}\n\n`;
}
