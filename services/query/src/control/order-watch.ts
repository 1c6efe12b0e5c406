import type { ControlOrder } from '@agentlens/contracts';
import { type Platform, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Acknowledgement, ControlQueries } from './control.queries.ts';
import { type Receipts, receiptsOf } from './receipts.ts';

/**
 * Poll interval for acknowledgements. It does not distort the reported latency, because each acknowledgement carries
 * its own time.
 */
const LOOK_MS = 20;

/** Watches the delivery of a control order. */
@Injectable()
export class OrderWatch {
  constructor(
    private readonly control: ControlQueries,
    @Inject(port('presence')) private readonly presence: Pick<Platform['presence'], 'list'>,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  /**
   * Returns as soon as every connected instance has acknowledged, or after `waitMs`. A run belongs to one process, so
   * for a run order the agent's other instances have nothing to acknowledge.
   */
  async follow(order: ControlOrder, waitMs: number): Promise<Receipts & { readonly connected: number | null }> {
    const listening = await this.#listening(order);
    const until = performance.now() + waitMs;
    for (;;) {
      const taken = await this.control.acknowledgements(order);
      const missing = missingOf(listening, taken);
      const isDone = missing === 0 || (order.scope === 'run' && taken.length > 0);
      if (isDone || performance.now() >= until) {
        const receipts = receiptsOf(
          order.issuedAt,
          taken.map(({ at }) => at),
        );
        // An instance that connected and acknowledged in the meantime counts as connected too.
        return { ...receipts, connected: missing === null ? null : taken.length + missing };
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(LOOK_MS, Math.max(0, until - performance.now()))));
    }
  }

  /** Returns null if the control store is unavailable. The order is valid regardless. */
  async #listening({ tenantId, scope, scopeId, agentId }: ControlOrder): Promise<ReadonlySet<string> | null> {
    try {
      const instances = await this.presence.list(tenantId, scope === 'agent' ? scopeId : agentId);
      return new Set(instances.map(keyOf));
    } catch (error) {
      this.logger.warn({ err: error }, 'cannot list connected agent instances');
      return null;
    }
  }
}

function missingOf(listening: ReadonlySet<string> | null, taken: readonly Acknowledgement[]): number | null {
  if (listening === null) return null;
  const heard = new Set(taken.map(keyOf));
  return [...listening].filter((instance) => !heard.has(instance)).length;
}

function keyOf({ agentId, instanceId }: { readonly agentId: string; readonly instanceId: string }): string {
  return JSON.stringify([agentId, instanceId]);
}
