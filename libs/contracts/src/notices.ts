import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

// Short notifications; their readers fetch the details elsewhere.

/** Notifies that runs changed; the reader fetches them. A lost message is harmless. */
export const RunChanged = z.object({ tenantId: TenantId, runIds: z.array(z.string()), at: Instant });
export type RunChanged = z.infer<typeof RunChanged>;

/** Heartbeats of runs, batched briefly per tenant. The next one makes up for a lost one. */
export const RunHeartbeats = z.object({
  tenantId: TenantId,
  beats: z
    .array(
      z.object({
        runId: ClientId,
        agentId: ClientId,
        at: Instant,
        /** When the next heartbeat is due, in ms; if absent, the interval is unchanged. */
        everyMs: z.number().positive().optional(),
      }),
    )
    .min(1),
});
export type RunHeartbeats = z.infer<typeof RunHeartbeats>;

/** Notifies that a tenant's rules changed; `version` is a new id that only identifies the change. */
export const RulesChanged = z.object({ tenantId: TenantId, version: z.string(), at: Instant });
export type RulesChanged = z.infer<typeof RulesChanged>;

/** Notifies that an API key was revoked or changed: every instance evicts it from its cache. */
export const KeysChanged = z.object({ tenantId: TenantId, keyId: z.string(), at: Instant });
export type KeysChanged = z.infer<typeof KeysChanged>;

/** Announces that a tenant changed its own prices of models. */
export const PricesChanged = z.object({ tenantId: TenantId, at: Instant });
export type PricesChanged = z.infer<typeof PricesChanged>;

/** Notifies that a key was used, at most once a minute per key and instance. A lost message is harmless. */
export const KeyUsed = z.object({ tenantId: TenantId, keyId: z.string(), at: Instant });
export type KeyUsed = z.infer<typeof KeyUsed>;
