import type { Platform } from '@agentlens/platform';
import type { Presence } from '@agentlens/state';

/** One SDK process. */
export interface Listener {
  readonly tenantId: string;
  readonly agentId: string;
  readonly instanceId: string;
}

/** An instance not heard of for this long no longer counts among those that should acknowledge. */
const PRESENT_MS = 30_000;

/** Notes which SDK instances listen. Best effort: not knowing one must not cost it an answer. */
export class Listeners {
  #isAway = false;

  constructor(
    private readonly presence: Presence,
    private readonly logger: Platform['logger'],
  ) {}

  touch({ tenantId, agentId, instanceId }: Listener): void {
    this.presence.touch(tenantId, agentId, instanceId, PRESENT_MS).then(
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
