import { type Platform, withDeadline } from '@agentlens/platform';
import type { Presence } from '@agentlens/state';

/** One SDK process. */
export interface Listener {
  readonly tenantId: string;
  readonly agentId: string;
  readonly instanceId: string;
}

/** An instance that has not been seen for this long is no longer expected to acknowledge. */
const PRESENT_MS = 30_000;
const PATIENCE_MS = 1_000;

/** Tracks which SDK instances listen. Best effort: if tracking fails, the instance still gets its answer. */
export class Listeners {
  #isAway = false;

  constructor(
    private readonly presence: Presence,
    private readonly logger: Platform['logger'],
  ) {}

  touch(listener: Listener): void {
    this.#touch(listener, PRESENT_MS);
  }

  /** Its stream ended, so it is no longer expected to acknowledge. */
  left(listener: Listener): void {
    this.#touch(listener, 0);
  }

  /** Returns true if the instance listens for orders of the agent, or if that is unknown. */
  async isPresent({ tenantId, agentId, instanceId }: Listener): Promise<boolean> {
    try {
      const present = await withDeadline(this.presence.list(tenantId, agentId), PATIENCE_MS);
      return present.some((instance) => instance.instanceId === instanceId);
    } catch (error) {
      this.logger.warn({ err: error }, 'cannot list connected agent instances; the acknowledgement counts');
      return true;
    }
  }

  #touch({ tenantId, agentId, instanceId }: Listener, ttlMs: number): void {
    this.presence.touch(tenantId, agentId, instanceId, ttlMs).then(
      () => {
        this.#isAway = false;
      },
      (error: unknown) => {
        // Logged once per outage, because each instance is touched every few seconds.
        if (!this.#isAway)
          this.logger.warn({ err: error }, 'state store unavailable; listening instances are not tracked');
        this.#isAway = true;
      },
    );
  }
}
