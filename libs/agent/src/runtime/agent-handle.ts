import type { AgentError } from '../core/agent-error.ts';
import type { AgentState } from '../core/agent-state.ts';
import type { OutputChunk, PermissionAnswer } from '../core/input-output.ts';
import type { Metadata } from '../core/json.ts';
import { type ContentBlock, Message, type ToolResult } from '../core/message.ts';
import type { TokenUsage } from '../core/token-usage.ts';
import type { LiveSession } from './live-session.ts';
import { type SubscribeOptions, Subscription } from './subscription.ts';

export interface ParentInfo {
  readonly sessionId: string;
  readonly toolUseId: string | null;
}

export interface SendOptions {
  /** Delivered between two steps of the current turn instead of after it. */
  readonly steer?: boolean;
}

/** External control of a running agent. */
export interface AgentHandle extends AsyncDisposable {
  readonly sessionId: string;
  readonly state: AgentState;
  readonly lastSeq: number;
  /** Tokens so far, including children. */
  readonly usage: TokenUsage;
  /** @throws AgentError `run_ended`, `capacity` */
  sendInput(input: string | readonly ContentBlock[], options?: SendOptions): void;
  sendToolResult(toolUseId: string, result: ToolResult): void;
  /** Also for requests of sub-agents. @throws AgentError `stale_answer` */
  respondToPermission(answer: PermissionAnswer): void;
  /** Stops the current turn. Its result has the code of `reason`; default `interrupted`. */
  interrupt(reason?: AgentError): void;
  /** Resolves when the session is stored. */
  shutdown(): Promise<void>;
  subscribe(options?: SubscribeOptions): Subscription;
  /** From now until the turn's `done` or `error`. */
  stream(options?: { readonly signal?: AbortSignal }): AsyncIterable<OutputChunk>;
  getHistory(): readonly Message[];
  getMetadata(): Metadata;
  parentInfo(): ParentInfo | undefined;
  childSessions(): readonly string[];
  /** Never rejects; `state` holds the outcome. */
  readonly finished: Promise<void>;
}

const CHUNKS: ReadonlySet<string> = new Set<OutputChunk['type']>([
  ...(['text-delta', 'text-complete', 'thinking-delta', 'thinking-complete', 'tool-start', 'tool-progress'] as const),
  ...(['tool-end', 'permission-request', 'permission-response', 'subagent-spawned', 'subagent-output'] as const),
  ...(['subagent-complete', 'state-change', 'error', 'done'] as const),
]);

export class LiveHandle implements AgentHandle {
  readonly finished: Promise<void>;
  readonly #live: LiveSession;

  constructor(live: LiveSession, finished: Promise<void>) {
    this.#live = live;
    this.finished = finished;
  }

  get sessionId(): string {
    return this.#live.session.sessionId;
  }

  get state(): AgentState {
    return this.#live.state;
  }

  get lastSeq(): number {
    return this.#live.log.lastSeq;
  }

  get usage(): TokenUsage {
    return this.#live.usage;
  }

  sendInput(input: string | readonly ContentBlock[], { steer = false }: SendOptions = {}): void {
    this.#live.put({ type: 'user-input', content: Message.user(input).content, steer });
  }

  sendToolResult(toolUseId: string, result: ToolResult): void {
    this.#live.put({ type: 'tool-result', toolUseId, result });
  }

  respondToPermission(answer: PermissionAnswer): void {
    this.#live.respond(answer);
  }

  interrupt(reason?: AgentError): void {
    this.#live.interrupt(reason);
  }

  async shutdown(): Promise<void> {
    this.#live.stop();
    await this.finished;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  subscribe(options?: SubscribeOptions): Subscription {
    return new Subscription(this.#live.log, options);
  }

  stream(options: { readonly signal?: AbortSignal } = {}): AsyncIterable<OutputChunk> {
    return turnChunks(this.subscribe({ from: 'now', ...options }));
  }

  getHistory(): readonly Message[] {
    return this.#live.session.getHistory();
  }

  getMetadata(): Metadata {
    return Object.fromEntries(this.#live.session.metadata);
  }

  parentInfo(): ParentInfo | undefined {
    const { parentSessionId: sessionId, parentToolUseId: toolUseId } = this.#live.session;
    return sessionId === null ? undefined : { sessionId, toolUseId };
  }

  childSessions(): readonly string[] {
    return this.#live.session.getChildSessions();
  }
}

async function* turnChunks(subscription: Subscription): AsyncGenerator<OutputChunk> {
  try {
    for await (const event of subscription) {
      if (!CHUNKS.has(event.type)) continue;
      // Distinguished by the list above.
      const chunk = event as OutputChunk;
      yield chunk;
      if (chunk.type === 'done' || chunk.type === 'error') return;
    }
  } finally {
    await subscription.return();
  }
}
