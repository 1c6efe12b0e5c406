import type { AgentEvent, Budget } from '@agentlens/contracts';
import { visible } from '@agentlens/contracts/visible';
import type { EventBus } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { DailyAlerts } from '../daily-alerts.ts';

/** An event without a known price and the budgets it draws on. */
export interface UnpricedCall {
  readonly tenantId: string;
  readonly event: AgentEvent;
  readonly budgets: readonly Budget[];
}

/** Raises an alert, once per model and UTC day, when a call without a known price draws on a budget. */
export class UnpricedAlerts {
  readonly #alerts: DailyAlerts;

  constructor(bus: Pick<EventBus, 'request'>, logger: Platform['logger']) {
    this.#alerts = new DailyAlerts(bus, logger, 'unpriced');
  }

  report(call: UnpricedCall): void {
    const { tenantId, event, budgets } = call;
    if (budgets.length === 0) return;
    const { model = '', provider = '', agentId, runId, occurredAt } = event;
    this.#alerts.raise({
      ...{ tenantId, kind: 'spend', severity: 'warn', agentId, runId, occurredAt },
      ...{ identity: [provider, model], title: titleOf(event), message: messageOf(call) },
    });
  }

  stop(): Promise<void> {
    return this.#alerts.stop();
  }
}

function titleOf({ model }: AgentEvent): string {
  return model === undefined
    ? 'A model call without a model has no known price'
    : `No known price for ${visible(model)}`;
}

const EFFECTS: Readonly<Record<Budget['onUnpriced'], string>> = {
  allow: 'counts nothing for it',
  estimate: 'counts an estimate: the price of the dearest model of the provider',
  block: 'counts an estimate and blocks further calls',
};

function messageOf({ event, budgets }: UnpricedCall): string {
  const { provider, usage = {} } = event;
  const [first] = budgets;
  const more = budgets.length > 1 ? ` (and ${budgets.length - 1} more)` : '';
  const budget = first === undefined ? '' : ` The budget "${visible(first.name)}"${more} ${EFFECTS[first.onUnpriced]}.`;
  const reason = usage.unpricedReason === undefined ? '' : ` Reason: ${usage.unpricedReason}.`;
  return (
    `Calls of this model${provider === undefined ? '' : ` (provider ${visible(provider)})`} have no known price.${reason}${budget}` +
    ' Set a price under Spend, with `agentlens prices set`, or with PUT /api/prices/overrides.'
  );
}
