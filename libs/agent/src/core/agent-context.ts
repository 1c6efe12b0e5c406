import type { Effects } from '../effects/effects.ts';
import type { Host } from '../host/host.ts';
import type { Json } from './json.ts';

/** Typed key of a runtime object. Keys are compared by identity. */
export interface ResourceKey<T> {
  readonly name: string;
  /** Never present at run time; carries the type. */
  readonly type?: (value: T) => T;
}

export function ResourceKey<T>(name: string): ResourceKey<T> {
  return Object.freeze({ name });
}

type ClassOf<T> = abstract new (...args: never[]) => T;
export type ResourceId<T> = ResourceKey<T> | ClassOf<T>;

/** Runtime objects that tools share and that are not stored: connections, watchers, a todo list. */
export class ResourceMap {
  readonly #values = new Map<object, unknown>();

  insert<T>(key: ResourceId<T>, value: T): this {
    this.#values.set(key, value);
    return this;
  }

  get<T>(key: ResourceId<T>): T | undefined {
    // Only `insert` writes, with a value of the key's type.
    return this.#values.get(key) as T | undefined;
  }

  contains(key: ResourceId<unknown>): boolean {
    return this.#values.has(key);
  }

  remove<T>(key: ResourceId<T>): T | undefined {
    const value = this.get(key);
    this.#values.delete(key);
    return value;
  }
}

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
