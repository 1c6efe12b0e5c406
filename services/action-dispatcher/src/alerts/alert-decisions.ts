import { type Alert, type ChangeAuthor, otherVersion } from '@agentlens/contracts';
import { alertFromRow, recordChanges, type Tables } from '@agentlens/database';
import type { Kysely, Transaction } from 'kysely';
import { type CommandAnswer, refusal } from '../answer.ts';
import type { AlertMetrics } from './alert-metrics.ts';
import { type AlertRow, changeAlert, cleanText, hasLapsed, isOpen, lapse, lockAlert } from './alerts.repository.ts';
import { cutOf } from './approval-calls.ts';

interface AlertVerdict {
  readonly tenantId: string;
  readonly alertId: string;
  readonly verb: 'acknowledge' | 'approve' | 'deny' | 'cancel';
  readonly by: string;
  readonly reason?: string | undefined;
  readonly author?: ChangeAuthor | undefined;
  /** The decision applies only if the alert is at this version. */
  readonly ifVersion?: number | undefined;
}

const KINDS = {
  acknowledge: 'alert.acknowledged',
  approve: 'alert.approved',
  deny: 'alert.denied',
  cancel: 'alert.cancelled',
} as const;
const STATUS = { approve: 'approved', deny: 'denied', cancel: 'cancelled' } as const;

/**
 * Decisions of people about alerts. The first decision wins, under the row lock; later ones are answered with the name
 * of the first author.
 */
export class AlertDecisions {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
    private readonly metrics: AlertMetrics,
    /** Called after a commit that wrote to the outbox. */
    private readonly onChanged: () => void,
  ) {}

  async decide(verdict: AlertVerdict): Promise<CommandAnswer<Alert>> {
    const answer = await this.db.transaction().execute(async (tx) => {
      const row = await lockAlert(tx, verdict.tenantId, verdict.alertId);
      if (row === undefined) return refusal(404, 'Alert not found');
      const { ifVersion = row.version } = verdict;
      if (ifVersion !== row.version) return otherVersion('alert', ifVersion, row.version);
      const decision = await this.#decide(tx, row, verdict);
      if (decision.ok && decision.value.version !== row.version) await this.#record(tx, row, decision.value, verdict);
      return decision;
    });
    this.onChanged();
    if (answer.ok && verdict.verb !== 'acknowledge') this.metrics.ended(answer.value);
    return answer;
  }

  async #record(tx: Transaction<Tables>, row: AlertRow, after: Alert, { verb, author, reason }: AlertVerdict) {
    const at = new Date(this.now()).toISOString();
    const { tenantId, id: targetId } = after;
    const kept = { before: withoutTexts(alertFromRow(row)), after: withoutTexts(after) };
    await recordChanges(tx, [{ tenantId, at, kind: KINDS[verb], targetId, author, reason, ...kept }]);
  }

  async #decide(tx: Transaction<Tables>, row: AlertRow, verdict: AlertVerdict): Promise<CommandAnswer<Alert>> {
    const now = this.now();
    const at = new Date(now).toISOString();
    // An alert past its expiry cannot be decided, even if the sweeper has not closed it yet.
    if (hasLapsed(row, now)) return decided(await lapse(tx, row, at));
    if (!isOpen(row)) return decided(row);
    if (verdict.verb === 'acknowledge')
      return { ok: true, value: alertFromRow(await acknowledge(tx, row, verdict, at)) };
    if (verdict.verb !== 'cancel' && row.kind !== 'approval') {
      return refusal(422, `Only an approval can be ${STATUS[verdict.verb]}`, 'Acknowledge this alert, or cancel it.');
    }
    const cut = verdict.verb === 'approve' ? await cutOf(tx, row) : null;
    if (cut !== null) return truncatedCall(cut);
    const change = {
      status: STATUS[verdict.verb],
      dedupe: null,
      decided_at: at,
      decided_by: cleanText(verdict.by, 300),
      reason: reasonOf(verdict) ?? row.reason,
      // Once approved, the call has the same time again to use the approval.
      expires_at: verdict.verb === 'approve' ? extended(row, now) : row.expires_at,
    };
    return { ok: true, value: alertFromRow(await changeAlert(tx, row, change, at)) };
  }
}

/** Marks an alert as seen. The first author stays. An approval still needs its decision. */
async function acknowledge(
  tx: Transaction<Tables>,
  row: AlertRow,
  verdict: AlertVerdict,
  at: string,
): Promise<AlertRow> {
  if (row.status === 'acknowledged') return row;
  const seen = {
    status: 'acknowledged' as const,
    acknowledged_at: at,
    acknowledged_by: cleanText(verdict.by, 300),
    reason: reasonOf(verdict) ?? row.reason,
  };
  // A seen alert does not expire, and the next of its kind is raised as a new one.
  const settled = row.kind === 'approval' ? {} : { dedupe: null, expires_at: null };
  return changeAlert(tx, row, { ...seen, ...settled }, at);
}

/** A call that was shown in part cannot be approved. */
function truncatedCall(cut: string): CommandAnswer<Alert> {
  return {
    ok: false,
    problem: {
      error: 'This call cannot be approved because it was shown only in part',
      code: 'CALL_NOT_WHOLE',
      status: 409,
      details: [{ path: 'call', message: cut }],
      hint: 'Deny it, and have the agent send a smaller call.',
    },
  };
}

function decided(row: AlertRow): CommandAnswer<Alert> {
  const { status, decided_at: at } = row;
  const by = status === 'expired' ? '' : ` by ${row.decided_by ?? 'an unknown person'}`;
  return {
    ok: false,
    problem: {
      error: `Alert is ${status} already`,
      status: 409,
      details: [{ path: 'status', message: `${status}${by}${at === null ? '' : ` at ${at}`}` }],
      hint: status === 'expired' ? 'Its deadline has passed.' : `Decided${by}; the first decision stands.`,
    },
  };
}

/** The message quotes the call, and the audit log outlives it. The entry has the reason in a column of its own. */
function withoutTexts({ title: _title, message: _message, reason: _reason, ...rest }: Alert): object {
  return rest;
}

function reasonOf({ reason }: AlertVerdict): string | null {
  const text = cleanText(reason ?? '', 1_000);
  return text === '' ? null : text;
}

function extended(row: AlertRow, now: number): string | null {
  if (row.expires_at === null) return null;
  return new Date(now + Date.parse(row.expires_at) - Date.parse(row.created_at)).toISOString();
}
