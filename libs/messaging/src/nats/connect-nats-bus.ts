import type { EventBus } from '../event-bus.ts';
import type { NatsBusOptions } from './open-nats-bus.ts';

/**
 * Loads the NATS client when it is asked for: one process with all services has no use for it.
 * @throws InvalidNatsAddress if an address cannot be parsed
 * @throws BusUnavailable if no server answers within `connectTimeoutMs`
 */
export async function connectNatsBus(options: NatsBusOptions): Promise<EventBus> {
  const { openNatsBus } = await import('./open-nats-bus.ts');
  return openNatsBus(options);
}
