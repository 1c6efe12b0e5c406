import { type BreakerChanged, type BreakerReason, type BreakerState, derivedId } from '@agentlens/contracts';
import { isDataError, refusalText } from '@agentlens/database';
import { LIMIT_OF_REASON } from '@agentlens/guardrails/breaker';
import { ACK, type HandlingOutcome } from '@agentlens/messaging';
import { nameOfBreaker, noticeOfBreaker, type WebhookNotice } from '../webhooks/webhook-notice.ts';
import type { AlertService } from './alert.service.ts';

/** For people only: agents see neither reasons nor limits. */
const REASONS: Readonly<Record<BreakerReason, string>> = {
  tokens: 'it used more tokens than it may',
  iterations: 'it took more steps than it may',
  cost: 'it cost more than it may',
  failures: 'it failed too often in a row',
  confidence: 'its reported confidence fell too far',
  operator: 'an operator opened it',
};

/** Raises an alert for a breaker that opened and notifies webhook endpoints; closes the alert when the breaker closes. */
export class BreakerAlerts {
  constructor(
    private readonly alerts: AlertService,
    private readonly notify: (notice: WebhookNotice) => Promise<void>,
  ) {}

  async take(change: BreakerChanged): Promise<HandlingOutcome> {
    try {
      // A probe proves nothing yet.
      if (change.state.kind === 'half_open') return ACK;
      await this.#alert(change, change.state);
      await this.notify(noticeOfBreaker(change));
      return ACK;
    } catch (error) {
      if (isDataError(error)) return { kind: 'poison', reason: `the alert cannot be stored: ${refusalText(error)}` };
      throw error;
    }
  }

  async #alert(change: BreakerChanged, state: Exclude<BreakerState, { kind: 'half_open' }>): Promise<void> {
    const { tenantId, scope, scopeId, agentId, version, at } = change;
    const ofTree = scope === 'tree' ? { about: 'tree', spansAgents: true } : {};
    const runId = scope === 'agent' ? undefined : scopeId;
    const about = { tenantId, kind: 'breaker', agentId, runId, ...ofTree } as const;
    if (state.kind === 'closed') return this.alerts.close(about, 'the circuit breaker closed');
    const id = derivedId(Date.parse(at), tenantId, 'breaker', scope, scopeId, version);
    // The id comes last: lists cut a long title.
    const title = `Circuit breaker is open: ${nameOfBreaker(change)}`;
    const message = `Calls are blocked because ${REASONS[state.reason]}.${remedyOf(change, state.reason)}`;
    await this.alerts.put({ ...about, severity: 'error', title, message }, id);
  }
}

/** The limit that was exceeded and how to raise it. Empty if the limit is unknown. */
function remedyOf({ scope, scopeId, agentId, limit }: BreakerChanged, reason: BreakerReason): string {
  const name = LIMIT_OF_REASON[reason];
  if (name === null || limit === undefined) return '';
  const whose = scope === 'tree' ? '"scope":"tree"' : `"scope":"agent","id":${JSON.stringify(agentId)}`;
  const raised = `{${whose},"limits":{"${name}":${raisedFrom(limit, reason)}}}`;
  const path = `/api/breakers/${scope}/${encodeURIComponent(scopeId)}/reset`;
  return (
    ` The limit (${name}) is ${limit}. To raise it, which closes the breaker: PUT /api/breakers/limits ${raised}` +
    ` (what is left out gets its default). To close it once: POST ${path}.`
  );
}

/** Confidence can fall by 1 at most. */
function raisedFrom(limit: number, reason: BreakerReason): number {
  return reason === 'confidence' ? Math.min(1, 2 * limit) : 2 * Math.max(limit, 1);
}
