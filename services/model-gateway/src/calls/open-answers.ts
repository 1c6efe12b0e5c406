import { keysChanged } from '@agentlens/contracts';
import type { EventBus, Watch } from '@agentlens/messaging';
import type { ModelRefusal } from '@agentlens/model-api';
import { type ControlBoard, controlStateMessage, type KeyDirectory, type Platform } from '@agentlens/platform';
import type { GatewayCall } from '../gateway-call.ts';

/** A call whose answer is open, and how to end it. */
export interface OpenAnswer {
  readonly call: Pick<GatewayCall, 'tenantId' | 'agentId' | 'runId' | 'key' | 'caller'>;
  readonly ancestors: readonly string[];
  /** Ends the answer with this refusal. A second stop changes nothing. */
  stop(refusal: ModelRefusal): void;
}

interface OpenAnswersDependencies {
  readonly board: Pick<ControlBoard, 'follow' | 'stateOf'>;
  readonly bus: Pick<EventBus, 'watch'>;
  readonly keys: KeyDirectory;
  readonly logger: Platform['logger'];
}

/** Longer than a key directory uses a key without reading it again. */
const KEY_KNOWN_MS = 5_000;

/**
 * Stops open answers: when an order kills the run, an ancestor, the agent or the tenant, and when the key is revoked. A
 * paused run keeps its open answer; its next call is refused.
 */
export class OpenAnswers {
  readonly #parts: OpenAnswersDependencies;
  readonly #byKey = new Map<string, Set<OpenAnswer>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #watch: Watch | undefined;

  constructor(parts: OpenAnswersDependencies) {
    this.#parts = parts;
  }

  /** Follows revoked keys. Without the bus, an open answer outlives its key. */
  async start(): Promise<void> {
    try {
      this.#watch = await this.#parts.bus.watch(keysChanged, { from: 'new' }, ({ value }) => {
        void this.#checkKeyTwice(value.keyId);
      });
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'message bus unavailable; revoked keys do not end open answers');
    }
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#watch?.close();
  }

  /** Returns a callback that forgets the call. */
  add(open: OpenAnswer): () => void {
    const { tenantId, agentId, runId, caller } = open.call;
    const { board } = this.#parts;
    const look = () => {
      const state = board.stateOf(tenantId, agentId, runId, open.ancestors);
      if (state.kind !== 'killed') return;
      const message = `AgentLens stopped this answer: ${controlStateMessage(state)}.`;
      open.stop({ kind: 'policy', code: 'agentlens_stopped', message });
    };
    const unfollow = board.follow({ tenantId, agentId, notice: look });
    const calls = this.#byKey.get(caller.keyId) ?? new Set();
    this.#byKey.set(caller.keyId, calls.add(open));
    // An order may have arrived since the call was decided.
    look();
    return () => {
      unfollow();
      calls.delete(open);
      if (calls.size === 0) this.#byKey.delete(caller.keyId);
    };
  }

  /** The directory may learn of the change after us; what it remembers is then outdated for seconds. */
  async #checkKeyTwice(keyId: string): Promise<void> {
    await this.#checkKey(keyId);
    if (!this.#byKey.has(keyId)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#checkKey(keyId);
    }, KEY_KNOWN_MS);
    this.#timers.add(timer);
  }

  async #checkKey(keyId: string): Promise<void> {
    for (const open of this.#byKey.get(keyId) ?? []) {
      const check = await this.#parts.keys.check(open.call.key);
      if (check.kind !== 'refused') continue;
      const message = `AgentLens stopped this answer: its API key is ${check.reason}.`;
      open.stop({ kind: 'policy', code: 'key_refused', message });
    }
  }
}
