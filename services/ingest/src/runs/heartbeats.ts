import { type RunHeartbeats, runHeartbeats } from '@agentlens/contracts';
import type { GatewayMetrics } from '@agentlens/decisions';
import { BackgroundWork, type EventBus } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';

type Beat = RunHeartbeats['beats'][number];

const COLLECT_MS = 1_000;
/** Maximum number of runs per message, which stays far below the broker's limit. */
const MAX_HEARTBEATS = 1_000;

/** Collects heartbeats for a second and publishes one message per tenant, with the last heartbeat of each run. */
export class Heartbeats {
  readonly #waiting = new Map<string, Map<string, Beat>>();
  readonly #sending = new BackgroundWork();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly bus: EventBus,
    private readonly metrics: Pick<GatewayMetrics, 'dropped'>,
    private readonly logger: Platform['logger'],
  ) {}

  add(tenantId: string, beat: Beat): void {
    const beats = this.#waiting.get(tenantId) ?? new Map<string, Beat>();
    this.#waiting.set(tenantId, beats.set(beat.runId, beat));
    if (beats.size >= MAX_HEARTBEATS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), COLLECT_MS).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [tenantId, beats] of this.#waiting) this.#send({ tenantId, beats: [...beats.values()] });
    this.#waiting.clear();
  }

  async drain(): Promise<void> {
    this.flush();
    await this.#sending.ended();
  }

  #send(message: RunHeartbeats): void {
    const sending = this.bus.publish(runHeartbeats, message).then(
      () => undefined,
      (error: unknown) => {
        this.metrics.dropped('heartbeat', message.beats.length);
        this.logger.warn({ err: error }, 'publishing heartbeats failed');
      },
    );
    this.#sending.add(sending);
  }
}
