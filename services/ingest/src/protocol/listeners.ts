import { type Platform, withDeadline } from '@agentlens/platform';
import type { Presence } from '@agentlens/state';

/** One SDK process. */
export interface Listener {
  readonly tenantId: string;
  readonly agentId: string;
  readonly instanceId: string;
}

/** An instance not heard of for this long no longer counts among those that should acknowledge. */
const PRESENT_MS = 30_000;
const PATIENCE_MS = 1_000;

/** Notes which SDK instances listen. Best effort: not knowing one must not cost it an answer. */
export class Listeners {
  #isAway = false;

  constructor(
    private readonly presence: Presence,
    private readonly logger: Platform['logger'],
  ) {}

  touch(listener: Listener): void {
    this.#touch(listener, PRESENT_MS);
  }

  /** Its stream ended: it is not waited for. */
  left(listener: Listener): void {
    this.#touch(listener, 0);
  }

  /** Whether the instance listens for orders of the agent; true if that cannot be known. */
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
        // Said once per outage: there is one touch per instance every few seconds.
        if (!this.#isAway) this.logger.warn({ err: error }, 'listening instances are not counted: the store is away');
        this.#isAway = true;
      },
    );
  }
}
