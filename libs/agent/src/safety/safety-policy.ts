export const SAFETY_PHASES = [
  ...(['prompt-template', 'prompt', 'plan', 'tool-input', 'tool-output', 'memory-write', 'result'] as const),
] as const;
export type SafetyPhase = (typeof SAFETY_PHASES)[number];

/** Where a filtered text comes from. */
export interface SafetyWhere {
  readonly phase: SafetyPhase;
  readonly tool?: string;
  /** The stream or collection of a memory write. */
  readonly stream?: string;
}

export type FilterAnswer =
  | { readonly action: 'allow' }
  | { readonly action: 'modify'; readonly text: string }
  /** `terminate` ends the run; `continue` (default) stops only the inspected text. */
  | { readonly action: 'block'; readonly reason: string; readonly control?: 'continue' | 'terminate' };

/** Inspects one text. An exception blocks, unless the policy says otherwise. */
export interface SafetyFilter {
  readonly name: string;
  /** Default: all. */
  readonly phases?: readonly SafetyPhase[];
  check(text: string, where: SafetyWhere): FilterAnswer | Promise<FilterAnswer>;
}

export interface RateLimit {
  readonly max: number;
  readonly perMs: number;
}

export interface SafetyPolicy {
  /** The only tools the agent has. */
  readonly toolAllowlist?: readonly string[];
  /** Tools the agent never has. */
  readonly toolDenylist?: readonly string[];
  /** Calls per tool; `*` counts all calls together. */
  readonly requestRateLimit?: Readonly<Record<string, RateLimit>>;
  readonly contentFilter?: readonly SafetyFilter[];
  /** Where secrets and personal data are removed: stored data (default), prompts too, or nowhere. */
  readonly redact?: 'stored' | 'prompts' | 'none';
  /** How long memory is kept. */
  readonly retention?: { readonly ttlMs: number };
  /** Maximum length of a tool's output, in characters. Default 100 000. */
  readonly maxChars?: number;
  readonly onFilterError?: 'block' | 'allow';
}

/** Counts calls in sliding windows; the caller passes the time. */
export class RateLimiter {
  readonly #limits: Readonly<Record<string, RateLimit>>;
  readonly #taken = new Map<string, number[]>();

  constructor(limits: Readonly<Record<string, RateLimit>> = {}) {
    this.#limits = limits;
  }

  /** Takes one call, or returns the wait in ms until one is allowed. */
  take(tool: string, nowMs: number): number | null {
    const keys = [tool, '*'].filter((key) => this.#limits[key] !== undefined);
    const waits = keys.map((key) => this.#waitMs(key, nowMs));
    const longest = Math.max(0, ...waits);
    if (longest > 0) return longest;
    for (const key of keys) this.#taken.get(key)?.push(nowMs);
    return null;
  }

  #waitMs(key: string, nowMs: number): number {
    const limit = this.#limits[key];
    if (limit === undefined) return 0;
    const recent = (this.#taken.get(key) ?? []).filter((at) => at > nowMs - limit.perMs);
    this.#taken.set(key, recent);
    const [oldest] = recent;
    return oldest === undefined || recent.length < limit.max ? 0 : oldest + limit.perMs - nowMs;
  }
}
