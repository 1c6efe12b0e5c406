import { COMMANDS, MINUTE_MS, RollbackBounds } from '@agentlens/contracts';
import { type Database, judgedStops, type Tables } from '@agentlens/database';
import { percent, ratesOf } from '@agentlens/guardrails';
import { type EventBus, Repeating } from '@agentlens/messaging';
import { type Clock, LoopProgress, type Platform } from '@agentlens/platform';
import { type Kysely, sql } from 'kysely';
import type { RuleRollouts } from './rule-rollouts.ts';
import { callsByRun, rateWithoutAnyOne, sumOf } from './stop-spread.ts';

const CHECK_MS = 1_000;
/** The replica that took a rule back raises the alert at once; after this time any replica does. */
const ALERT_GRACE_MS = 15_000;
const ALERT_WITHIN_MS = 60 * MINUTE_MS;

interface RollbackMonitorDependencies {
  readonly rollouts: Pick<RuleRollouts, 'takeBack'>;
  readonly database: Pick<Database, 'db'>;
  readonly bus: Pick<EventBus, 'request'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
  readonly progress?: LoopProgress;
}

/** A rule with bounds, and what its version did within their window. */
interface WatchedRule {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly version: number;
  readonly bounds: unknown;
  readonly asked: number;
  readonly enforced: number;
  readonly stopped: number;
  readonly wouldStop: number;
}

interface StopBound {
  readonly maxStopRate: number;
  readonly minAsked: number;
  readonly windowMinutes: number;
  readonly since: string;
}

interface TakenBack {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly name: string;
  readonly agentId: string;
  readonly reason: string;
}

/**
 * Returns rules to shadow when they stop more calls than their bounds allow. Every replica checks; a compare-and-set on
 * the version of the rule lets one of them act.
 */
export class RollbackMonitor {
  readonly #parts: RollbackMonitorDependencies;
  readonly #ownProgress = new LoopProgress();
  readonly #checking = new Repeating(() => this.#checkQuietly());

  constructor(parts: RollbackMonitorDependencies) {
    this.#parts = parts;
  }

  start(): void {
    this.#checking.start(CHECK_MS);
  }

  stop(): Promise<void> {
    return this.#checking.stop();
  }

  /** Checks all rules with bounds once. Returns how many this replica took back. */
  async check(): Promise<number> {
    let taken = 0;
    for (const rule of await this.#watched()) {
      // A rule that cannot be judged does not delay the others.
      const isTaken = await this.#judge(rule).catch((err: unknown) => {
        const { tenantId, ruleId } = rule;
        this.#parts.logger.warn({ err, tenantId, ruleId }, 'judging a rollout failed, will retry');
        return false;
      });
      if (isTaken) taken += 1;
    }
    await this.#alert(taken > 0 ? 0 : ALERT_GRACE_MS);
    return taken;
  }

  async #judge(rule: WatchedRule): Promise<boolean> {
    const reason = await this.#excess(rule);
    if (reason === null) return false;
    const { tenantId, ruleId, version: ifVersion } = rule;
    return (await this.#parts.rollouts.takeBack({ tenantId, ruleId, ifVersion, reason, by: 'agentlens' })).ok;
  }

  async #checkQuietly(): Promise<number> {
    const { progress = this.#ownProgress } = this.#parts;
    try {
      await progress.attempt(() => this.check());
    } catch (err) {
      this.#parts.logger.warn({ err }, 'checking rollouts failed, will retry');
    }
    return CHECK_MS;
  }

  async #watched(): Promise<readonly WatchedRule[]> {
    const now = new Date(this.#parts.clock.now()).toISOString();
    const { rows } = await sql<WatchedRule>`
      select r.tenant_id as "tenantId", r.rule_id as "ruleId", r.version, r.rollback as bounds,
        sum(m.asked)::int as asked, sum(m.enforced)::int as enforced, sum(m.stopped)::int as stopped,
        sum(m.would_stop)::int as "wouldStop"
      from guardrail_rules r join rule_minutes m
        on m.tenant_id = r.tenant_id and m.rule_id = r.rule_id and m.rule_version = r.version
        and m.minute > ${now}::timestamptz - make_interval(mins => (r.rollback->>'windowMinutes')::int)
      where r.rollback is not null and r.deleted_at is null and r.enabled and not r.dry_run
        and r.mode in ('canary', 'enforce')
      group by r.tenant_id, r.rule_id, r.version, r.rollback`.execute(this.#parts.database.db);
    return rows;
  }

  /** Why a rule has to be taken back; null if it is within its bounds. */
  async #excess(rule: WatchedRule): Promise<string | null> {
    const { tenantId, ruleId, version: fromVersion, asked, enforced, stopped, wouldStop } = rule;
    const { maxStopRate, maxFalseRejectionRate, minAsked, windowMinutes } = RollbackBounds.parse(rule.bounds);
    if (enforced < minAsked) return null;
    const within = `of ${enforced} calls in ${windowMinutes} minutes`;
    const since = new Date(this.#parts.clock.now() - windowMinutes * MINUTE_MS).toISOString();
    // Reads single decisions only if the counts by minute exceed the bound.
    if (maxStopRate !== undefined && stopped / enforced > maxStopRate) {
      const excess = await this.#stopExcess(rule, { maxStopRate, minAsked, windowMinutes, since });
      if (excess !== null) return excess;
    }
    if (maxFalseRejectionRate === undefined) return null;
    const {
      harmless: all,
      harmlessInShadow,
      harmlessAgents,
      ...stops
    } = await judgedStops(this.#db, {
      ...{ tenantId, ruleId, fromVersion, since },
    });
    // Agents report success themselves, so the calls of a single one say nothing.
    const harmless = harmlessAgents > 1 ? all : all - harmlessInShadow;
    const judged = { ...stops, harmless };
    const { falseRejectionRate } = ratesOf({ asked, stopped, wouldStop, bypassed: 0, ...judged });
    if (falseRejectionRate === null || falseRejectionRate <= maxFalseRejectionRate) return null;
    const bound = percent(maxFalseRejectionRate);
    return `Taken back: ${percent(falseRejectionRate)} ${within} were false rejections; its bound is ${bound}`;
  }

  /** Why the rule stops too much, counting equal calls of a run once and no matter which agent or run is left out. */
  async #stopExcess(
    { tenantId, ruleId, version }: WatchedRule,
    { maxStopRate, minAsked, windowMinutes, since }: StopBound,
  ): Promise<string | null> {
    const runs = await callsByRun(this.#db, { tenantId, ruleId, version, since });
    const { calls, stopped } = sumOf(runs);
    if (calls < minAsked || rateWithoutAnyOne(runs) <= maxStopRate) return null;
    const agents = new Set(runs.map(({ agentId }) => agentId)).size;
    const within = `of ${calls} different calls of ${agents} agents in ${windowMinutes} minutes`;
    return `Taken back: it stopped ${percent(stopped / calls)} ${within}; its bound is ${percent(maxStopRate)}`;
  }

  /** Raises the alerts that are missing for rules that were taken back. The dispatcher folds what is raised twice. */
  async #alert(graceMs: number): Promise<void> {
    for (const { tenantId, ruleId, agentId, name, reason } of await this.#withoutAlert(graceMs)) {
      const answer = await this.#parts.bus.request(COMMANDS.raiseAlert, {
        ...{ tenantId, ruleId, agentId, kind: 'rule' as const, severity: 'error' as const },
        ...{ title: `The rule "${name}" was taken back to shadow`, message: reason },
      });
      if (!answer.ok) this.#parts.logger.warn({ tenantId, ruleId, problem: answer.problem }, 'raising an alert failed');
    }
  }

  async #withoutAlert(graceMs: number): Promise<readonly TakenBack[]> {
    const nowMs = this.#parts.clock.now();
    const [from, to] = [nowMs - ALERT_WITHIN_MS, nowMs - graceMs].map((at) => new Date(at).toISOString());
    const { rows } = await sql<TakenBack>`
      select v.tenant_id as "tenantId", v.rule_id as "ruleId", v.body->>'name' as name, coalesce(v.reason, '') as reason,
        coalesce(v.body->>'agentId', stopped.agent_id, 'all-agents') as "agentId"
      from rule_versions v
      left join lateral (
        select d.agent_id from decisions d
        where d.tenant_id = v.tenant_id and d.decided_at > v.changed_at - interval '1 day' and d.effect <> 'allow'
          and d.evaluated_rules @> jsonb_build_array(jsonb_build_object('ruleId', v.rule_id, 'violated', true))
        order by d.decided_at desc limit 1
      ) as stopped on true
      where v.source = 'rollback' and v.changed_at between ${from}::timestamptz and ${to}::timestamptz
        and not exists (select from alerts a where a.tenant_id = v.tenant_id and a.rule_id = v.rule_id
          and a.kind = 'rule' and (a.created_at >= v.changed_at or a.status = 'pending'))`.execute(this.#db);
    return rows;
  }

  get #db(): Kysely<Tables> {
    return this.#parts.database.db;
  }
}
