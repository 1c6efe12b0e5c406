import { messageOf } from '../core/agent-error.ts';
import { hashOf, type Json } from '../core/json.ts';
import { redactionFilter } from './content-filter.ts';
import {
  type FilterAnswer,
  RateLimiter,
  type SafetyFilter,
  type SafetyPolicy,
  type SafetyWhere,
} from './safety-policy.ts';

/** Record of a block or change; never contains the text. */
export interface SafetyRecord extends SafetyWhere {
  readonly rule: string;
  readonly action: 'modify' | 'block';
  readonly inputHash: string;
}

export type Inspected<T> =
  | { readonly ok: true; readonly value: T; readonly changed: boolean }
  | { readonly ok: false; readonly rule: string; readonly reason: string; readonly terminate: boolean };

const DEFAULT_MAX_CHARS = 100_000;
/** Filters see no more of one text. */
const MAX_FILTERED_CHARS = 200_000;

class Blocked extends Error {
  override readonly name = 'Blocked';
  readonly rule: string;
  readonly terminate: boolean;

  constructor(rule: string, reason: string, terminate: boolean) {
    super(reason);
    this.rule = rule;
    this.terminate = terminate;
  }
}

/** Applies one agent's policy. One layer serves one run, so rate limits apply per run. */
export class SafetyLayer {
  readonly maxChars: number;
  readonly #policy: SafetyPolicy;
  readonly #filters: readonly SafetyFilter[];
  readonly #rates: RateLimiter;

  constructor(policy: SafetyPolicy = {}) {
    this.#policy = policy;
    this.maxChars = policy.maxChars ?? DEFAULT_MAX_CHARS;
    this.#rates = new RateLimiter(policy.requestRateLimit);
    const redacting = policy.redact === 'prompts' ? [redactionFilter(['prompt'])] : [];
    const stored = policy.redact === 'none' ? [] : [redactionFilter(['memory-write'])];
    this.#filters = [...(policy.contentFilter ?? []), ...redacting, ...stored];
  }

  get retentionMs(): number | undefined {
    return this.#policy.retention?.ttlMs;
  }

  allowsTool(name: string): boolean {
    const { toolAllowlist, toolDenylist } = this.#policy;
    return (toolAllowlist === undefined || toolAllowlist.includes(name)) && toolDenylist?.includes(name) !== true;
  }

  /** Takes one call from a tool's rate limit, or returns the wait in ms until one is allowed. */
  takeRate(tool: string, nowMs: number): number | null {
    return this.#rates.take(tool, nowMs);
  }

  /** Passes every text inside a value to the filters of its phase. Returns the value with their changes. */
  async inspect<T extends Json>(
    value: T,
    where: SafetyWhere,
    record: (entry: SafetyRecord) => void,
  ): Promise<Inspected<T>> {
    const filters = this.#filters.filter(({ phases }) => phases?.includes(where.phase) ?? true);
    if (filters.length === 0) return { ok: true, value, changed: false };
    const changedBy = new Set<string>();
    try {
      // Texts stay texts, lists lists and objects objects.
      const inspected = (await this.#walk(value, filters, where, changedBy)) as T;
      for (const rule of changedBy) record({ ...where, rule, action: 'modify', inputHash: hashOf(value) });
      return { ok: true, value: inspected, changed: changedBy.size > 0 };
    } catch (error) {
      if (!(error instanceof Blocked)) throw error;
      record({ ...where, rule: error.rule, action: 'block', inputHash: hashOf(value) });
      return { ok: false, rule: error.rule, reason: error.message, terminate: error.terminate };
    }
  }

  async #walk(
    value: Json,
    filters: readonly SafetyFilter[],
    where: SafetyWhere,
    changedBy: Set<string>,
  ): Promise<Json> {
    if (typeof value === 'string') return this.#filter(value, filters, where, changedBy);
    if (typeof value !== 'object' || value === null) return value;
    if (isList(value)) {
      const list: Json[] = [];
      for (const item of value) list.push(await this.#walk(item, filters, where, changedBy));
      return list;
    }
    const members: [string, Json][] = [];
    for (const [key, member] of Object.entries(value))
      members.push([key, await this.#walk(member, filters, where, changedBy)]);
    return Object.fromEntries(members);
  }

  async #filter(
    text: string,
    filters: readonly SafetyFilter[],
    where: SafetyWhere,
    changedBy: Set<string>,
  ): Promise<string> {
    let current = text.length > MAX_FILTERED_CHARS ? text.slice(0, MAX_FILTERED_CHARS) : text;
    if (current.length < text.length) changedBy.add('length');
    for (const filter of filters) {
      const answer = await this.#ask(filter, current, where);
      if (answer.action === 'block') throw new Blocked(filter.name, answer.reason, answer.control === 'terminate');
      if (answer.action !== 'modify' || answer.text === current) continue;
      current = answer.text;
      changedBy.add(filter.name);
    }
    return current;
  }

  async #ask(filter: SafetyFilter, text: string, where: SafetyWhere): Promise<FilterAnswer> {
    try {
      return await filter.check(text, where);
    } catch (error) {
      if (this.#policy.onFilterError === 'allow') return { action: 'allow' };
      return { action: 'block', reason: `the filter "${filter.name}" failed: ${messageOf(error)}` };
    }
  }
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
