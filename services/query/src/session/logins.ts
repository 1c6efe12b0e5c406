import { createHash, randomUUID } from 'node:crypto';
import { MINUTE_MS, PERSON_SCOPES } from '@agentlens/contracts';
import { type Clock, ProblemException, port, type SecretBox } from '@agentlens/platform';
import type { IdempotencyStore } from '@agentlens/state';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';

/** A program collects the key within this time after the person has confirmed. */
const LIFE_MS = 5 * MINUTE_MS;
const CONTEXT = ['login'];
/** Stands in for the tenant. No tenant can have this name. */
const CONFIRMED = '*login*';

const Confirmed = z.object({
  tenantId: z.string(),
  personId: z.string(),
  person: z.string(),
  name: z.string(),
  via: z.enum(['cli', 'mcp']),
  scopes: z.array(z.enum(PERSON_SCOPES)),
  signedInAtMs: z.number().optional(),
  days: z.number(),
  until: z.number(),
});
type Confirmed = z.infer<typeof Confirmed>;
export type ConfirmedLogin = Omit<Confirmed, 'until'>;

/**
 * Logins of programs that a person has confirmed. Nothing is stored before: a challenge is the hash of a secret that only
 * the program knows. The replicas share the record.
 */
@Injectable()
export class Logins {
  constructor(
    @Inject(port('secrets')) private readonly secrets: SecretBox,
    @Inject(port('idempotency')) private readonly memory: IdempotencyStore,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  /** @throws ProblemException 409 if the challenge was confirmed before */
  async confirm(challenge: string, login: ConfirmedLogin): Promise<void> {
    const now = this.clock.now();
    const sealed = this.secrets.seal(JSON.stringify({ ...login, until: now + LIFE_MS }), CONTEXT);
    const record = { bodyHash: Buffer.from(sealed).toString('base64url'), receivedAtMs: now };
    const kept = await this.memory.remember(CONFIRMED, challenge, record);
    if (kept.bodyHash === record.bodyHash) return;
    throw new ProblemException(409, 'This login was confirmed before', { hint: 'Run agentlens login again.' });
  }

  /**
   * Returns a login to the program that knows its secret, once. Undefined: no person has confirmed it yet.
   *
   * @throws ProblemException 410 if it has expired or was collected
   */
  async collect(verifier: string): Promise<ConfirmedLogin | undefined> {
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const kept = await this.memory.find(CONFIRMED, challenge);
    if (kept === undefined) return undefined;
    const text = this.secrets.open(Buffer.from(kept.bodyHash, 'base64url').toString(), CONTEXT);
    const { until, ...login } = Confirmed.parse(JSON.parse(text));
    const now = this.clock.now();
    if (until <= now) throw gone('This login has expired');
    const use = { bodyHash: randomUUID(), receivedAtMs: now };
    const first = await this.memory.remember(CONFIRMED, `${challenge} used`, use);
    if (first.bodyHash !== use.bodyHash) throw gone('The key of this login was collected before');
    return login;
  }
}

function gone(error: string): ProblemException {
  return new ProblemException(410, error, { hint: 'Run agentlens login again.' });
}
