import type { SafetyPhase, SafetyWhere } from './phases.ts';

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
