import { type AgentEvent, type Budget, COMMANDS, sha256Hex } from '@agentlens/contracts';
import { visible } from '@agentlens/contracts/visible';
import { BackgroundWork, type EventBus } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { BoundedMap } from '@agentlens/state';

/** Models of one day that are remembered as reported. Forgetting one costs a question that the dispatcher ignores. */
const MAX_REMEMBERED = 10_000;

/** An event without a known price and the budgets it draws on. */
export interface UnpricedCall {
  readonly tenantId: string;
  readonly event: AgentEvent;
  readonly budgets: readonly Budget[];
}

/** Raises an alert, once per model and UTC day, when a call without a known price draws on a budget. */
export class UnpricedAlerts {
  readonly #bus: Pick<EventBus, 'request'>;
  readonly #logger: Platform['logger'];
  readonly #reported = new BoundedMap<true>(MAX_REMEMBERED);
  readonly #asking = new BackgroundWork();

  constructor(bus: Pick<EventBus, 'request'>, logger: Platform['logger']) {
    this.#bus = bus;
    this.#logger = logger;
  }

  /** Does not wait for the answer: the next call of the model tries again if the dispatcher could not be reached. */
  report(call: UnpricedCall): void {
    const { tenantId, event, budgets } = call;
    if (budgets.length === 0) return;
    const { model = '', provider = '' } = event;
    const day = event.occurredAt.slice(0, 10);
    const key = sha256Hex(JSON.stringify([tenantId, provider, model, day]));
    if (this.#reported.has(key)) return;
    this.#reported.set(key, true);
    const about = `unpriced:${sha256Hex(JSON.stringify([provider, model, day]))}`;
    const asked = this.#bus
      .request(COMMANDS.raiseAlert, {
        ...{ tenantId, kind: 'spend', severity: 'warn', agentId: event.agentId, runId: event.runId },
        ...{ about, at: `${day}T00:00:00.000Z`, title: titleOf(event), message: messageOf(call) },
      })
      .then((answer) => {
        if (!answer.ok) throw new Error(answer.problem.error);
      })
      .catch((err: unknown) => {
        this.#reported.delete(key);
        this.#logger.warn({ err, tenantId }, 'raising an alert about a model without a price failed');
      });
    this.#asking.add(asked);
  }

  async stop(): Promise<void> {
    await this.#asking.ended();
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
