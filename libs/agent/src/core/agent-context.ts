import type { Effects } from '../effects/effects.ts';
import type { Host } from '../host/host.ts';
import type { Json } from './json.ts';
import { type ResourceId, ResourceMap } from './resource-map.ts';

export interface AgentContextInit {
  readonly sessionId: string;
  readonly agentType: string;
  readonly name?: string;
  readonly description?: string;
  readonly parentSessionId?: string | null;
  readonly parentToolUseId?: string | null;
  readonly currentTurn?: number;
  readonly currentToolUseId?: string | null;
  /** The session's own map, not a copy. */
  readonly metadata?: Map<string, Json>;
  readonly resources?: ResourceMap;
  readonly host: Host;
  readonly effects: Effects;
  readonly signal: AbortSignal;
  readonly progress?: (toolUseId: string, text: string) => void;
}

/** State that tools see and the model does not. */
export class AgentContext {
  readonly sessionId: string;
  readonly agentType: string;
  readonly name: string;
  readonly description: string;
  readonly parentSessionId: string | null;
  readonly parentToolUseId: string | null;
  readonly currentTurn: number;
  readonly currentToolUseId: string | null;
  readonly metadata: Map<string, Json>;
  readonly resources: ResourceMap;
  readonly host: Host;
  readonly effects: Effects;
  /** Aborted by an interrupt, a shutdown, a timeout or the platform. Pass it to everything that waits. */
  readonly signal: AbortSignal;
  readonly #init: AgentContextInit;

  constructor(init: AgentContextInit) {
    this.#init = init;
    this.sessionId = init.sessionId;
    this.agentType = init.agentType;
    this.name = init.name ?? init.agentType;
    this.description = init.description ?? '';
    this.parentSessionId = init.parentSessionId ?? null;
    this.parentToolUseId = init.parentToolUseId ?? null;
    this.currentTurn = init.currentTurn ?? 0;
    this.currentToolUseId = init.currentToolUseId ?? null;
    this.metadata = init.metadata ?? new Map();
    this.resources = init.resources ?? new ResourceMap();
    this.host = init.host;
    this.effects = init.effects;
    this.signal = init.signal;
  }

  /** The same context for one call; metadata and resources are shared. */
  withToolUseId(toolUseId: string, changes: Partial<AgentContextInit> = {}): AgentContext {
    return new AgentContext({
      ...this.#init,
      metadata: this.metadata,
      resources: this.resources,
      ...changes,
      currentToolUseId: toolUseId,
    });
  }

  setMetadata(key: string, value: Json): void {
    this.metadata.set(key, value);
  }

  getMetadata(key: string): Json | undefined {
    return this.metadata.get(key);
  }

  insertResource<T>(key: ResourceId<T>, value: T): void {
    this.resources.insert(key, value);
  }

  getResource<T>(key: ResourceId<T>): T | undefined {
    return this.resources.get(key);
  }

  /** Reports the progress of a long call to listeners. */
  progress(text: string): void {
    if (this.currentToolUseId !== null) this.#init.progress?.(this.currentToolUseId, text);
  }
}
