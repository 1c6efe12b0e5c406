import type { EventBus } from '../event-bus.ts';
import type { NatsBusOptions } from './open-nats-bus.ts';

/**
 * Connects to NATS. Loads the client on demand, because standalone mode does not need it.
 * @throws InvalidNatsAddress if an address cannot be parsed
 * @throws BusUnavailable if no server answers within `connectTimeoutMs`
 */
export async function connectNatsBus(options: NatsBusOptions): Promise<EventBus> {
  const { openNatsBus } = await import('./open-nats-bus.ts');
  return openNatsBus(options);
}
