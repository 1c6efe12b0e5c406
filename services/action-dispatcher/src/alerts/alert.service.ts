import { type Alert, type COMMANDS, derivedId, MINUTE_MS, type QuestionOf, timeOrderedId } from '@agentlens/contracts';
import { alertFromRow, type Tables } from '@agentlens/database';
import type { AlertOrder, AlertRaised, Alerts } from '@agentlens/guardrails';
import type { Kysely, Transaction } from 'kysely';
import { type CommandAnswer, refusal } from '../answer.ts';
import type { AlertMetrics } from './alert-metrics.ts';
import {
  type AlertRow,
  changeAlert,
  cleanText,
  countSuppressed,
  hasLapsed,
  lapse,
  lockAlert,
  lockByDedupe,
  lockPending,
  lockRaising,
  openAlert,
  raisedSince,
  readChangeAlerts,
} from './alerts.repository.ts';

/** An alert for people to look at. Approvals are opened elsewhere. */
type AlertDraft = Pick<
  Alert,
  'tenantId' | 'kind' | 'severity' | 'title' | 'message' | 'agentId' | 'runId' | 'ruleId'
> & {
  /** Distinguishes alerts about the same agent. */
  readonly about?: string | undefined;
  /** The condition is not one agent's: another agent may report its end. */
  readonly spansAgents?: boolean | undefined;
};

export interface Raised {
  readonly alert: Alert;
  readonly raised: AlertRaised;
}

/** Alerts per tenant and minute; further ones are only counted. */
export const MAX_PER_MINUTE = 30;
/** An alert that no person has seen expires after this time, so that the next of its kind is shown as new. */
const UNSEEN_MS = 24 * 60 * MINUTE_MS;
/** An alert about a change stays at least this long, so that a figure at its threshold does not open and end it at once. */
const CHANGE_STAYS_MS = 5 * MINUTE_MS;
const OVERFLOW = JSON.stringify(['overflow']);

/** Raises alerts: deduplicates them while one is open, and limits how many a tenant can raise. */
export class AlertService implements Alerts {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
    private readonly metrics: AlertMetrics,
    /** Called after a commit that wrote to the outbox. */
    private readonly onChanged: () => void,
  ) {}

  /** For the action `raise_alert`. Repeating it for one trigger raises no second alert. */
  async raise(order: AlertOrder): Promise<AlertRaised> {
    const id = derivedId(Date.parse(order.triggeredAt), order.tenantId, order.triggerId, 'alert');
    return (await this.put({ ...order, kind: 'rule' }, id)).raised;
  }

  /** For the command `raiseAlert`. */
  async answer({ at, ...draft }: AlertDraft & { readonly at?: string | undefined }): Promise<CommandAnswer<Alert>> {
    if (draft.kind === 'approval') {
      return refusal(
        422,
        'Only the call that needs an approval can open it',
        'Use the command that resolves approvals.',
      );
    }
    const id =
      at === undefined || draft.about === undefined
        ? timeOrderedId(this.now())
        : derivedId(Date.parse(at), draft.tenantId, 'about', draft.about);
    return { ok: true, value: (await this.put(draft, id)).alert };
  }

  /** For the command `reportChanges`. Acknowledged alerts are left to the person who looks at them. */
  async report({
    tenantId,
    asOf,
    changes,
  }: QuestionOf<typeof COMMANDS.reportChanges>): Promise<CommandAnswer<{ ended: number }>> {
    const drafts = changes.map(({ at, ...change }) => {
      const draft = { ...change, tenantId, kind: 'change' } as const;
      return { draft, dedupe: dedupeOf(draft), id: derivedId(Date.parse(at), tenantId, 'change', change.about) };
    });
    const ids = drafts.map(({ id }) => id);
    const known = await readChangeAlerts(this.db, tenantId, ids);
    for (const { draft, dedupe, id } of drafts)
      if (!known.some((row) => row.alert_id === id || row.dedupe === dedupe)) await this.put(draft, id);
    const lasting = new Set(drafts.map(({ dedupe }) => dedupe));
    const before = new Date(Date.parse(asOf) - CHANGE_STAYS_MS).toISOString();
    const ended = await this.db.transaction().execute(async (tx) => {
      const over = (await lockPending(tx, tenantId, 'change', before)).filter(
        ({ dedupe }) => !lasting.has(dedupe ?? ''),
      );
      for (const row of over) await this.#end(tx, row, 'it is as before again');
      return over.length;
    });
    if (ended > 0) this.onChanged();
    return { ok: true, value: { ended } };
  }

  /** @param id the same on every retry: an alert with this id is raised once, even if it was closed since */
  async put(draft: AlertDraft, id: string): Promise<Raised> {
    const result = await this.db.transaction().execute((tx) => this.#put(tx, draft, id));
    this.metrics.raised(draft.kind, result.raised);
    this.onChanged();
    return result;
  }

  /** Closes the open alert of a condition that has ended. */
  async close(
    draft: Pick<AlertDraft, 'tenantId' | 'kind' | 'agentId' | 'runId' | 'ruleId' | 'about' | 'spansAgents'>,
    why: string,
  ): Promise<void> {
    const closed = await this.db.transaction().execute(async (tx) => {
      const open = await lockByDedupe(tx, draft.tenantId, dedupeOf(draft));
      if (open !== undefined) await this.#end(tx, open, why);
      return open !== undefined;
    });
    if (closed) this.onChanged();
  }

  async #end(tx: Transaction<Tables>, row: AlertRow, reason: string): Promise<void> {
    const at = new Date(this.now()).toISOString();
    await changeAlert(
      tx,
      row,
      { status: 'cancelled', dedupe: null, decided_at: at, decided_by: 'agentlens', reason },
      at,
    );
  }

  async #put(tx: Transaction<Tables>, draft: AlertDraft, id: string): Promise<Raised> {
    const { tenantId } = draft;
    await lockRaising(tx, tenantId);
    const known = await lockAlert(tx, tenantId, id);
    if (known !== undefined) return { alert: alertFromRow(known), raised: 'raised' };
    const same = await this.#fold(tx, tenantId, dedupeOf(draft));
    if (same !== undefined) return { alert: same, raised: 'folded' };
    const since = new Date(this.now() - MINUTE_MS).toISOString();
    if ((await raisedSince(tx, tenantId, since)) < MAX_PER_MINUTE) {
      return { alert: await this.#open(tx, draft, id, dedupeOf(draft)), raised: 'raised' };
    }
    const overflow =
      (await this.#fold(tx, tenantId, OVERFLOW)) ?? (await this.#open(tx, overflowFor(draft), id, OVERFLOW, 1));
    return { alert: overflow, raised: 'held_back' };
  }

  async #fold(tx: Transaction<Tables>, tenantId: string, dedupe: string): Promise<Alert | undefined> {
    const open = await lockByDedupe(tx, tenantId, dedupe);
    if (open === undefined) return undefined;
    // Repeated reports of an open breaker do not count as suppressed alerts.
    if (!hasLapsed(open, this.now()))
      return alertFromRow(open.kind === 'breaker' ? open : await countSuppressed(tx, open));
    await lapse(tx, open, new Date(this.now()).toISOString());
    return undefined;
  }

  async #open(tx: Transaction<Tables>, draft: AlertDraft, id: string, dedupe: string, suppressed = 0): Promise<Alert> {
    const now = this.now();
    const row = await openAlert(tx, {
      tenant_id: draft.tenantId,
      alert_id: id,
      kind: draft.kind,
      severity: draft.severity,
      title: cleanText(draft.title, 200),
      message: cleanText(draft.message, 2_000),
      agent_id: draft.agentId,
      run_id: draft.runId ?? null,
      rule_id: draft.ruleId ?? null,
      approval: null,
      asked_by: null,
      binding: null,
      dedupe,
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + UNSEEN_MS).toISOString(),
      suppressed,
    });
    if (row === undefined) throw new Error(`alert ${id} could not be opened despite the lock of its tenant`);
    return alertFromRow(row);
  }
}

/** The single alert that counts all alerts beyond the limit. */
function overflowFor(draft: AlertDraft): AlertDraft {
  return {
    ...draft,
    kind: 'rule',
    severity: 'error',
    ruleId: undefined,
    runId: undefined,
    title: 'More alerts than can be shown',
    message:
      'Alerts arrived faster than anyone could read them. Suppressed alerts are counted here; their triggers and breakers are in the history.',
  };
}

function dedupeOf({
  kind,
  ruleId,
  agentId,
  runId,
  about,
  spansAgents,
}: Pick<AlertDraft, 'kind' | 'ruleId' | 'agentId' | 'runId' | 'about' | 'spansAgents'>): string {
  const whose = spansAgents === true ? null : agentId;
  return JSON.stringify([kind, ruleId ?? null, whose, runId ?? null, ...(about === undefined ? [] : [about])]);
}
