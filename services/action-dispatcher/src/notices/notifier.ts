import type { Tables } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import type { LoopProgress } from '@agentlens/platform';
import { metrics } from '@opentelemetry/api';
import { type Kysely, sql } from 'kysely';
import { queueNotices } from '../channels/notice-queue.ts';
import { approvalNotices } from './alert-routing.ts';
import type { Fallbacks } from './fallbacks.ts';
import type { NoticeFlusher } from './flusher.ts';

const ROWS_AT_ONCE = 50;
/** If no channel has accepted an approval for this long, its first step does not wait for its time. */
const UNREACHED_MS = 30_000;

interface NotifierDependencies {
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  readonly flusher: Pick<NoticeFlusher, 'flush'>;
  readonly fallbacks: Pick<Fallbacks, 'give'>;
  /** Interval between looks, ms. */
  readonly everyMs: number;
  /** Called after notices were queued. */
  readonly onQueued: () => void;
  readonly onError: (error: unknown) => void;
  readonly progress: LoopProgress;
}

/** Sends what is due: groups of alerts, escalations of approvals, and notices that their channel has not accepted. */
export class Notifier {
  readonly #dependencies: NotifierDependencies;
  readonly #rounds = new Repeating(() => this.#round());
  readonly #sent = metrics.getMeter('@agentlens/action-dispatcher').createCounter('agentlens.notices', {
    description: 'Notices queued for channels, by what caused them.',
  });
  #stopped = false;

  constructor(dependencies: NotifierDependencies) {
    this.#dependencies = dependencies;
  }

  start(): void {
    this.#stopped = false;
    this.#rounds.start(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#rounds.stop();
  }

  async #round(): Promise<number> {
    const { progress, flusher, fallbacks, onError, everyMs } = this.#dependencies;
    try {
      while (!this.#stopped) {
        const { groups, notices } = await progress.attempt(() => flusher.flush());
        this.#count('group', notices);
        if (groups === 0) break;
      }
      this.#count('escalation', await progress.attempt(() => this.#escalate()));
      this.#count('fallback', await progress.attempt(() => fallbacks.give()));
    } catch (error) {
      onError(error);
    }
    return everyMs;
  }

  #count(cause: string, notices: number): void {
    if (notices === 0) return;
    this.#sent.add(notices, { cause });
    this.#dependencies.onQueued();
  }

  /**
   * Carries out steps of approvals that are due, or whose approval has reached no receiver. Each runs once. The approval
   * is locked, so a decision either sees the notice and tells its channel the outcome, or comes first.
   */
  #escalate(): Promise<number> {
    const { db, now } = this.#dependencies;
    return db.transaction().execute(async (tx) => {
      const nowMs = now();
      const at = new Date(nowMs).toISOString();
      const unreached = new Date(nowMs - UNREACHED_MS).toISOString();
      const { rows } = await sql<{
        tenant_id: string;
        alert_id: string;
        step: number;
        route_id: string;
        channels: string[];
      }>`
        delete from approval_steps where (tenant_id, alert_id, step) in (
          select s.tenant_id, s.alert_id, s.step from approval_steps s
            join alerts a using (tenant_id, alert_id)
          where s.due_at <= ${at} or (s.step = 0 and a.created_at <= ${unreached} and not exists (
            select from notice_alerts n join notices o using (tenant_id, notice_id) join deliveries d using (tenant_id, delivery_id)
            where n.tenant_id = s.tenant_id and n.alert_id = s.alert_id and d.result = 'success'))
          order by s.due_at limit ${ROWS_AT_ONCE} for update of s, a skip locked)
        returning tenant_id, alert_id, step, route_id, channels
      `.execute(tx);
      let queued = 0;
      for (const { tenant_id, alert_id, route_id, channels } of rows) {
        const row = await tx
          .selectFrom('alerts')
          .selectAll()
          .where('tenant_id', '=', tenant_id)
          .where('alert_id', '=', alert_id)
          .executeTakeFirst();
        if (row?.status !== 'pending' && row?.status !== 'acknowledged') continue;
        const notices = await approvalNotices(tx, row, new Map(channels.map((id) => [id, route_id])), 'escalation');
        queued += (await queueNotices(tx, notices, nowMs)).length;
      }
      return queued;
    });
  }
}
