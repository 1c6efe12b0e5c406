import { agentEvents } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { AuditLedger, type AuditTurn, type UnsettledMinute } from './audit-ledger.ts';
import { AuditMetrics } from './audit-metrics.ts';
import { judgeMinute, minuteTallies } from './minutes.ts';
import { type Missing, missingEvents } from './missing-events.ts';

const TURN_MS = 10_000;
const PRUNE_EVERY_MS = 600_000;
/** Accepted events must be stored and evaluated within this time. */
const GRACE_MS = 60_000;
const PAGE = 5_000;
/** Maximum number of pages per transaction; the next turn follows at once. */
const PAGES_PER_TURN = 20;
const AT_ONCE_MS = 100;

interface AuditorDependencies extends Pick<Platform, 'bus' | 'clock' | 'evaluationTally' | 'health' | 'logger'> {
  readonly database: Database;
  /** Time for accepted events to be stored and evaluated. */
  readonly graceMs?: number;
}

/**
 * Compares accepted events (published by ingest) with stored events (rows in Postgres) and evaluated events (reported
 * by evaluators), per tenant and minute of arrival (ADR 12). It only observes: nothing waits for it, and a difference
 * does not affect readiness.
 */
export class Auditor {
  readonly #dependencies: AuditorDependencies;
  readonly #ledger: AuditLedger;
  readonly #metrics: AuditMetrics;
  readonly #turning = new Repeating(() => this.turn());
  #begun = false;
  #prunedAt = 0;

  constructor(dependencies: AuditorDependencies) {
    this.#dependencies = dependencies;
    this.#ledger = new AuditLedger(dependencies.database.pool);
    this.#metrics = new AuditMetrics(() => dependencies.clock.now());
    dependencies.health.add('audit', async () => ({ ok: true, detail: this.#metrics.detail() }));
  }

  start(): void {
    this.#turning.start(0);
  }

  async stop(): Promise<void> {
    await this.#turning.stop();
  }

  /** Reads new messages and compares the minutes that are due. Never throws. @returns when the next turn is due, ms */
  async turn(): Promise<number> {
    try {
      await this.#begin();
      const caughtUp = await this.#ledger.turn(async (turn) => {
        const done = await this.#read(turn);
        if (done) await this.#judge(turn);
        return done;
      });
      await this.#prune();
      this.#metrics.stands(await this.#ledger.standing());
      return caughtUp === false ? AT_ONCE_MS : TURN_MS;
    } catch (err) {
      this.#dependencies.logger.warn({ err }, 'comparing accepted, stored and evaluated events failed, will retry');
      return TURN_MS;
    }
  }

  async #begin(): Promise<void> {
    if (this.#begun) return;
    const { newest } = await this.#dependencies.bus.envelopes(agentEvents, Number.MAX_SAFE_INTEGER, 1);
    await this.#ledger.begin(newest);
    this.#begun = true;
  }

  /** @returns true if the whole stream was read */
  async #read(turn: AuditTurn): Promise<boolean> {
    let after = turn.sequence;
    for (let pages = 0; pages < PAGES_PER_TURN; pages++) {
      const page = await this.#dependencies.bus.envelopes(agentEvents, after, PAGE);
      if (page.newest < after) {
        this.#dependencies.logger.error({ expected: after, newest: page.newest }, 'the stream of events was recreated');
        after = 0;
        continue;
      }
      this.#noteLost(page.upTo - after - page.scanned);
      await turn.take(minuteTallies(page.envelopes));
      after = page.upTo;
      await turn.readUpTo(after);
      if (after >= page.newest) return true;
    }
    return false;
  }

  #noteLost(messages: number): void {
    if (messages === 0) return;
    this.#metrics.lost(messages);
    this.#dependencies.logger.error({ messages }, 'events expired from the stream before they were audited');
  }

  async #judge(turn: AuditTurn): Promise<void> {
    const unsettled = await turn.unsettled(this.#dependencies.graceMs ?? GRACE_MS);
    for (const [minute, own] of Map.groupBy(unsettled, ({ minute }) => minute)) {
      const stored = await turn.stored(minute);
      const evaluated = await this.#dependencies.evaluationTally.read(Date.parse(minute));
      for (const one of own) {
        const counts = {
          accepted: one.accepted,
          stored: stored.get(one.tenantId) ?? 0,
          evaluated: evaluated.get(one.tenantId) ?? 0,
        };
        let missing: Missing = { count: 0, examples: [] };
        const verdict = await judgeMinute(counts, async () => {
          missing = await missingEvents(this.#dependencies.bus, turn.client, one);
          return missing.count;
        });
        await turn.settle(one, counts, verdict);
        this.#tell(one, { ...counts, ...verdict, examples: missing.examples });
      }
    }
  }

  #tell(one: UnsettledMinute, found: Finding): void {
    const { tenantId, minute, state } = one;
    const { examples, ...counts } = found;
    if (found.notStored + found.notEvaluated > 0) {
      const line = { tenantId, minute, ...counts, ...(examples.length > 0 && { notStoredIds: examples }) };
      if (state === 'open') this.#dependencies.logger.error(line, 'accepted, stored and evaluated events differ');
      return;
    }
    this.#metrics.compared(found.accepted);
    if (state === 'differs') {
      this.#dependencies.logger.info(
        { tenantId, minute, ...counts },
        'accepted, stored and evaluated events agree again',
      );
    }
  }

  async #prune(): Promise<void> {
    const nowMs = this.#dependencies.clock.now();
    if (Math.abs(nowMs - this.#prunedAt) < PRUNE_EVERY_MS) return;
    await this.#ledger.prune();
    this.#prunedAt = nowMs;
  }
}

interface Finding {
  readonly accepted: number;
  readonly stored: number;
  readonly evaluated: number;
  readonly notStored: number;
  readonly notEvaluated: number;
  readonly examples: readonly string[];
}
