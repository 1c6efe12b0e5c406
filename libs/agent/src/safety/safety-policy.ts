import type { SafetyPhase, SafetyWhere } from './phases.ts';

export type FilterAnswer =
  | { readonly action: 'allow' }
  | { readonly action: 'modify'; readonly text: string }
  /** `terminate` ends the run; `continue` (default) stops only what was looked at. */
  | { readonly action: 'block'; readonly reason: string; readonly control?: 'continue' | 'terminate' };

/** Looks at one text. An exception blocks, unless the policy says otherwise. */
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
  /** Tools it does not have, whatever else says. */
  readonly toolDenylist?: readonly string[];
  /** Calls per tool; `*` counts all calls together. */
  readonly requestRateLimit?: Readonly<Record<string, RateLimit>>;
  readonly contentFilter?: readonly SafetyFilter[];
  /** What secrets and personal data are taken out of: what is stored (default), prompts too, or nothing. */
  readonly redact?: 'stored' | 'prompts' | 'none';
  /** How long memory is kept. */
  readonly retention?: { readonly ttlMs: number };
  /** Longest text of a tool's output, in characters. Default 100 000. */
  readonly maxChars?: number;
  readonly onFilterError?: 'block' | 'allow';
}
