import type { RuntimeClock } from '../runtime/runtime.ts';
import type { BreakerLimits } from '../wire/contract.ts';
import type { Asked, BundleAnswer } from '../wire/server.ts';
import type { CompiledRules, LocalCall, LocalJudgement, LocalRules, RuleBundle } from './local-rules.ts';
import { openBundle } from './rule-bundle.ts';

export interface RuleCacheDependencies {
  readonly clock: RuntimeClock;
  readonly random: () => number;
  readonly apiKey: string;
  readonly rules: LocalRules;
  readonly fetch: (agentId: string, heldTag: string | undefined) => Promise<Asked<BundleAnswer>>;
  readonly warn: (message: string) => void;
}

interface Kept {
  readonly bundle: RuleBundle;
  readonly compiled: CompiledRules;
  readonly until: number;
  /** The server's ETag, if it sent one. */
  readonly tag: string | undefined;
}

const NO_BUNDLE: LocalJudgement = { refusal: null, ask: true, blocksWhenUnavailable: null, evaluated: [] };
/** All agents of a tenant learn of a change at the same time; spread their requests. */
const SPREAD_MS = 200;
/** The answering instance may learn of the change after the agent did. */
const SECOND_REFRESH_MS = 2_000;
const MIN_REFRESH_MS = 5_000;
const RETRY_MS = 30_000;
const NOT_OFFERED_MS = 300_000;

/**
 * Keeps the agent's signed rules fresh. If a bundle cannot be renewed, it is used until it expires and a while longer
 * while the server is unavailable, because it still holds the server's latest rules.
 */
export class RuleCache {
  readonly #tools: RuleCacheDependencies;
  #kept: Kept | undefined;
  #cancel: (() => void) | undefined;
  #refreshing: Promise<void> | undefined;
  #closed = false;

  constructor(tools: RuleCacheDependencies) {
    this.#tools = tools;
  }

  /** The tenant disables the breaker unless limits are configured. */
  get defaultBreakerOff(): boolean {
    return this.#kept?.bundle.defaultBreaker === 'off';
  }

  /** Limits that the platform set for this agent. */
  get breakerLimits(): BreakerLimits | undefined {
    return this.#kept?.bundle.breakerLimits;
  }

  get version(): number | null {
    return this.#kept?.bundle.version ?? null;
  }

  /** Without rules the server decides everything. */
  judge(call: LocalCall): LocalJudgement {
    const kept = this.#kept;
    if (kept === undefined) return NO_BUNDLE;
    const judgement = kept.compiled.judge(call);
    const mustAsk = kept.bundle.askAlways.includes(call.phase) || this.#tools.clock.elapsed() > kept.until;
    return mustAsk && !judgement.ask ? { ...judgement, ask: true } : judgement;
  }

  /** The server announced a change: fetches the rules soon, and again a little later. */
  changed(agentId: string): void {
    this.#schedule(this.#tools.random() * SPREAD_MS, agentId, () => this.#schedule(SECOND_REFRESH_MS, agentId));
  }

  /** Concurrent callers share one request. */
  refresh(agentId: string): Promise<void> {
    this.#refreshing ??= this.#renew(agentId).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  async #renew(agentId: string): Promise<void> {
    const asked = await this.#tools.fetch(agentId, this.#kept?.tag);
    if (asked.ok && asked.value.kind === 'signed') await this.#take(asked.value, agentId);
    if (asked.ok && asked.value.kind === 'unchanged') this.#extend();
    this.#scheduleRefresh(agentId, !asked.ok || asked.value.kind !== 'none');
  }

  /** Extends the current bundle as if it had been sent again; a proxy could do the same by replaying it. */
  #extend(): void {
    if (this.#kept !== undefined) this.#kept = { ...this.#kept, until: this.#until(this.#kept.bundle) };
  }

  async #take({ signed, tag }: Extract<BundleAnswer, { kind: 'signed' }>, agentId: string): Promise<void> {
    const opened = await openBundle(signed, this.#tools.apiKey, agentId, this.#kept?.bundle.version ?? 0);
    if (!opened.ok) {
      this.#tools.warn(`rule bundle rejected: ${opened.why}`);
      return;
    }
    const { bundle } = opened;
    const compiled = bundle.version === this.#kept?.bundle.version ? this.#kept.compiled : this.#compile(bundle);
    if (compiled !== null) this.#kept = { bundle, compiled, tag, until: this.#until(bundle) };
  }

  #until({ ttlSeconds }: RuleBundle): number {
    return this.#tools.clock.elapsed() + ttlSeconds * 1000;
  }

  #compile(bundle: RuleBundle): CompiledRules | null {
    try {
      return this.#tools.rules.compile(bundle.rules);
    } catch (error) {
      this.#tools.warn(`rule bundle rejected: ${String(error)}`);
      return null;
    }
  }

  /** A server without bundles may offer them later, after an upgrade or when the component that makes them is back. */
  #scheduleRefresh(agentId: string, offered: boolean): void {
    const left = this.#kept === undefined ? RETRY_MS : (this.#kept.until - this.#tools.clock.elapsed()) / 2;
    const ms = offered ? Math.max(MIN_REFRESH_MS, left) : NOT_OFFERED_MS;
    this.#schedule(ms, agentId);
  }

  /** Schedules the next refresh, replacing the planned one. */
  #schedule(ms: number, agentId: string, then: () => void = () => undefined): void {
    this.#cancel?.();
    if (this.#closed) return;
    this.#cancel = this.#tools.clock.timer(() => void this.refresh(agentId).then(then), ms);
  }
}
