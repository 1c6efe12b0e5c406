import { createHmac } from 'node:crypto';
import { writeAcknowledgement } from '@agentlens/contracts/signed-acknowledgement';
import { recordOf, text } from '../hosts/host.ts';
import type { AcknowledgementSignature, PlatformClient } from './platform.ts';

/** An order of an operator that concerns the guard. */
export interface GuardOrder {
  readonly id: string;
  readonly scope: 'run' | 'agent' | 'tenant';
  readonly scopeId: string;
  readonly state: 'running' | 'paused' | 'killed';
  readonly reason: string;
}

export interface OrderListener {
  readonly onOrder: (agentId: string, order: GuardOrder) => void;
  /** An approval was decided: ask again. */
  readonly onApproval: () => void;
  readonly log: (message: string) => void;
}

const MAX_SILENCE_MS = 35_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
const MAX_FRAME_CHARS = 1_000_000;

/** Follows the control stream of one agent until it is closed. Reconnects with a backoff. */
export class OrderFeed {
  readonly #closing = new AbortController();
  readonly #client: PlatformClient;
  readonly #agentId: string;
  readonly #instanceId: string;
  readonly #listener: OrderListener;
  #lastId = '';
  #connection: { readonly id: string; readonly secret: string } | undefined;
  #connected = false;

  constructor(client: PlatformClient, agentId: string, instanceId: string, listener: OrderListener) {
    this.#client = client;
    this.#agentId = agentId;
    this.#instanceId = instanceId;
    this.#listener = listener;
    void this.#follow();
  }

  get connected(): boolean {
    return this.#connected;
  }

  close(): void {
    this.#closing.abort();
  }

  async #follow(): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; !this.#closing.signal.aborted; ) {
      const before = this.#lastId;
      try {
        await this.#listen();
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        this.#listener.log(
          `orders of ${this.#agentId} are not received: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
      this.#connected = false;
      retryMs = this.#lastId === before ? Math.min(retryMs * 2, MAX_RETRY_MS) : FIRST_RETRY_MS;
      await this.#pause(retryMs);
    }
  }

  async #listen(): Promise<void> {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    this.#closing.signal.addEventListener('abort', stop, { once: true });
    let silence = setTimeout(stop, MAX_SILENCE_MS);
    try {
      const response = await this.#client.orders(this.#agentId, this.#instanceId, this.#lastId, attempt.signal);
      if (!response.ok || response.body === null) throw new Error(`the control stream answered ${response.status}`);
      this.#connected = true;
      const decoder = new TextDecoder();
      let rest = '';
      for await (const chunk of response.body) {
        clearTimeout(silence);
        silence = setTimeout(stop, MAX_SILENCE_MS);
        rest += decoder.decode(chunk as Uint8Array, { stream: true }).replaceAll('\r', '');
        if (rest.length > MAX_FRAME_CHARS) throw new Error('a frame of the control stream is too long');
        const frames = rest.split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) this.#receive(frame);
      }
    } finally {
      clearTimeout(silence);
      this.#closing.signal.removeEventListener('abort', stop);
      attempt.abort();
    }
  }

  #receive(frame: string): void {
    const fields = new Map<string, string>();
    for (const line of frame.split('\n')) {
      const [, name = '', value = ''] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
      if (name !== '')
        fields.set(name, name === 'data' && fields.has('data') ? `${fields.get('data')}\n${value}` : value);
    }
    const id = fields.get('id');
    if (id !== undefined) this.#lastId = id;
    const data = recordOf(jsonOf(fields.get('data') ?? ''));
    if (fields.get('event') === 'approval' && text(data.approvalId) !== undefined) this.#listener.onApproval();
    if (fields.get('event') === 'connection')
      this.#connection = { id: text(data.id) ?? '', secret: text(data.secret) ?? '' };
    if (fields.get('event') === 'order') this.#order(data);
    if (fields.get('event') === 'directive') this.#directive(data);
  }

  #order(data: Readonly<Record<string, unknown>>): void {
    const { scope, state } = data;
    if (scope !== 'run' && scope !== 'agent' && scope !== 'tenant') return;
    if (state !== 'running' && state !== 'paused' && state !== 'killed') return;
    const id = text(data.id) ?? '';
    const scopeId = text(data.scopeId) ?? '';
    const order: GuardOrder = { id, scope, state, scopeId, reason: text(data.reason) ?? '' };
    this.#listener.onOrder(this.#agentId, order);
    if (id !== '') void this.#acknowledge(id, data.version);
  }

  /** A rule paused the agent, or its pause ended. */
  #directive(data: Readonly<Record<string, unknown>>): void {
    if (data.paused === undefined) return;
    const isPaused = data.paused !== null && data.paused !== false;
    const reason = text(recordOf(data.paused).reason) ?? 'a rule paused this agent';
    const order = { scope: 'agent', scopeId: this.#agentId, state: isPaused ? 'paused' : 'running' } as const;
    this.#listener.onOrder(this.#agentId, { id: '', ...order, reason });
  }

  async #acknowledge(id: string, version: unknown): Promise<void> {
    try {
      await this.#client.acknowledge(id, this.#agentId, this.#instanceId, this.#sign(id, version));
    } catch (error) {
      this.#listener.log(`an order was not acknowledged: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Undefined for a platform that gives no secrets. */
  #sign(directiveId: string, version: unknown): AcknowledgementSignature | undefined {
    if (this.#connection === undefined || typeof version !== 'number') return undefined;
    const order = { directiveId, agentId: this.#agentId, instanceId: this.#instanceId, version };
    const secret = Buffer.from(this.#connection.secret, 'hex');
    const mac = createHmac('sha256', secret).update(writeAcknowledgement(order)).digest('hex');
    return { connection: this.#connection.id, version, mac };
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#closing.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

function jsonOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // A frame without JSON carries no order.
    return undefined;
  }
}
