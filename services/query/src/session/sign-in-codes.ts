import { randomUUID } from 'node:crypto';
import {
  CLOCK,
  type Clock,
  IDEMPOTENCY_STORE,
  ProblemException,
  SECRET_BOX,
  type SecretBox,
} from '@agentlens/platform';
import type { IdempotencyStore } from '@agentlens/state';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';

const LIFE_MS = 60 * 60_000;
const CONTEXT = ['sign-in-code'];
/** Uses are remembered under this name in place of a tenant; no tenant can be called so. */
const USES = '*sign-in*';

const Code = z.object({ id: z.string(), key: z.string(), until: z.number() });

export interface SignInCode {
  readonly code: string;
  readonly expiresAt: string;
}

/**
 * Codes that sign a browser in once. A code holds its key sealed, so that any replica can exchange it; that it was used is
 * remembered where all replicas look.
 */
@Injectable()
export class SignInCodes {
  constructor(
    @Inject(SECRET_BOX) private readonly secrets: SecretBox,
    @Inject(IDEMPOTENCY_STORE) private readonly memory: IdempotencyStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Good for one exchange within the next hour. */
  create(key: string): SignInCode {
    const until = this.clock.now() + LIFE_MS;
    const sealed = this.secrets.seal(JSON.stringify({ id: randomUUID(), key, until }), CONTEXT);
    return { code: Buffer.from(sealed).toString('base64url'), expiresAt: new Date(until).toISOString() };
  }

  /** @returns the key. @throws ProblemException 401 where the code is not good, or not any more */
  async exchange(code: string): Promise<string> {
    const { id, key, until } = this.#open(code);
    if (until <= this.clock.now()) throw refused('This sign-in link has expired');
    const use = { bodyHash: randomUUID(), receivedAtMs: this.clock.now() };
    const first = await this.memory.remember(USES, id, use);
    if (first.bodyHash !== use.bodyHash) throw refused('This sign-in link was used before');
    return key;
  }

  #open(code: string): z.infer<typeof Code> {
    try {
      return Code.parse(JSON.parse(this.secrets.open(Buffer.from(code, 'base64url').toString(), CONTEXT)));
    } catch {
      throw refused('This is not a sign-in link of this platform');
    }
  }
}

function refused(error: string): ProblemException {
  return new ProblemException(401, error, { hint: 'Sign in with an API key, or make another link.' });
}
