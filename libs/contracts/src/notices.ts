import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

// Short messages that say that something moved or is alive, for whoever reads the rest elsewhere.

/** Says only that a run moved; the reader fetches it. Lost messages are harmless. */
export const RunChanged = z.object({ tenantId: TenantId, runIds: z.array(z.string()), at: Instant });
export type RunChanged = z.infer<typeof RunChanged>;

/** Runs that are alive, collected for a moment per tenant. One that is lost is made good by the next. */
export const RunHeartbeats = z.object({
  tenantId: TenantId,
  beats: z
    .array(
      z.object({
        runId: ClientId,
        agentId: ClientId,
        at: Instant,
        /** When the next one is due, ms; absent: as before. */
        everyMs: z.number().positive().optional(),
      }),
    )
    .min(1),
});
export type RunHeartbeats = z.infer<typeof RunHeartbeats>;

/** Says that a tenant's rules are others now; `version` is a fresh id that only names the change. */
export const RulesChanged = z.object({ tenantId: TenantId, version: z.string(), at: Instant });
export type RulesChanged = z.infer<typeof RulesChanged>;

/** An API key was revoked or changed: every instance forgets what it cached of it. */
export const KeysChanged = z.object({ tenantId: TenantId, keyId: z.string(), at: Instant });
export type KeysChanged = z.infer<typeof KeysChanged>;

/** A key was used; told at most once a minute per key and instance. Lost messages are harmless. */
export const KeyUsed = z.object({ tenantId: TenantId, keyId: z.string(), at: Instant });
export type KeyUsed = z.infer<typeof KeyUsed>;
