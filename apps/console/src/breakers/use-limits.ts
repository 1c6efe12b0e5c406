import { client } from '../api/client.ts';
import { useRead } from '../live-data/live-store.ts';

/** The breaker limits of the tenant and of its agents and runs, read once for every page that shows one. */
export function useLimits() {
  return useRead(['breakers', 'limits'], (signal) => client.getBreakerLimits({ signal }));
}
