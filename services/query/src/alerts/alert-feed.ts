import { type Alert, alertChanged } from '@agentlens/contracts';
import { type EventBus, type Received, type Subscription, watchWithPast } from '@agentlens/messaging';
import type { AlertStreamFilter } from '@agentlens/operations';
import type { StreamFrame } from '@agentlens/platform';

interface AlertFeedOptions {
  readonly bus: EventBus;
  readonly tenantId: string;
  readonly filter: AlertStreamFilter;
  /** Position to resume after. Without it the feed starts now. */
  readonly resume?: number | undefined;
  readonly emit: (frame: StreamFrame) => void;
}

/**
 * Feed of one tenant's alert changes. For a client without a position, the feed reads the newest existing change but
 * does not send it. This finds the current position, so that the client can resume from its first heartbeat.
 */
export class AlertFeed {
  readonly #options: AlertFeedOptions;
  #sequence: number;
  #isLive: boolean;
  #subscription: Subscription | undefined;

  constructor(options: AlertFeedOptions) {
    this.#options = options;
    this.#sequence = options.resume ?? 0;
    this.#isLive = options.resume !== undefined;
  }

  get frameId(): string {
    return String(this.#sequence);
  }

  async open(): Promise<void> {
    const { bus, tenantId, resume } = this.#options;
    const onChange = (message: Received<Alert>) => this.#onChange(message);
    if (resume !== undefined) {
      this.#subscription = await bus.watch(alertChanged, { tenantId, from: resume }, onChange);
      return;
    }
    this.#subscription = await watchWithPast((onCaughtUp) =>
      bus.watch(alertChanged, { tenantId, from: 'last', onCaughtUp }, onChange),
    );
    this.#isLive = true;
  }

  async close(): Promise<void> {
    await this.#subscription?.close();
  }

  #onChange({ value: alert, sequence }: Received<Alert>): void {
    this.#sequence = Math.max(sequence, this.#sequence);
    if (this.#isLive && this.#shows(alert)) this.#options.emit({ event: 'alert', id: this.frameId, data: alert });
  }

  #shows({ status, kind, agentId, runId }: Alert): boolean {
    const { filter } = this.#options;
    if (filter.status !== undefined && !filter.status.includes(status)) return false;
    if (filter.kind !== undefined && !filter.kind.includes(kind)) return false;
    if (filter.agentId !== undefined && filter.agentId !== agentId) return false;
    return filter.runId === undefined || filter.runId === runId;
  }
}
