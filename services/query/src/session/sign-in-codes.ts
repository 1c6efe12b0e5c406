import { randomUUID } from 'node:crypto';
import { type Clock, ProblemException, port, type SecretBox } from '@agentlens/platform';
import type { IdempotencyStore } from '@agentlens/state';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';

const LIFE_MS = 60 * 60_000;
const BOUND_LIFE_MS = 60_000;
const CONTEXT = ['sign-in-code'];
/** Stands in for the tenant when a use is recorded. No tenant can have this name. */
const USES = '*sign-in*';

const Code = z.object({
  id: z.string(),
  key: z.string(),
  until: z.number(),
  /** The browser must have started the sign-in with this state. */
  state: z.string().optional(),
  returnTo: z.string().optional(),
});
export type OpenedCode = z.infer<typeof Code>;

export interface SignInCode {
  readonly code: string;
  readonly expiresAt: string;
}

/**
 * One-time sign-in codes for browsers. A code contains its sealed key, so any replica can exchange it. The replicas
 * share the record of used codes.
 */
@Injectable()
export class SignInCodes {
  constructor(
    @Inject(port('secrets')) private readonly secrets: SecretBox,
    @Inject(port('idempotency')) private readonly memory: IdempotencyStore,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  /** Creates a code for one exchange within the next hour. */
  create(key: string): SignInCode {
    return this.#seal({ key }, LIFE_MS);
  }

  /** Creates the code that ends a sign-in with a provider, for the browser that started it, within a minute. */
  createBound(bound: { readonly key: string; readonly state: string; readonly returnTo: string }): string {
    return this.#seal(bound, BOUND_LIFE_MS).code;
  }

  #seal(content: Omit<OpenedCode, 'id' | 'until'>, lifeMs: number): SignInCode {
    const until = this.clock.now() + lifeMs;
    const sealed = this.secrets.seal(JSON.stringify({ id: randomUUID(), until, ...content }), CONTEXT);
    return { code: Buffer.from(sealed).toString('base64url'), expiresAt: new Date(until).toISOString() };
  }

  /**
   * @param hasStarted whether this browser started the sign-in with that state
   * @throws ProblemException 401 if the code is invalid, expired or used
   */
  async exchange(code: string, hasStarted: (state: string) => boolean): Promise<OpenedCode> {
    const opened = this.#open(code);
    const { id, until, state } = opened;
    if (state !== undefined && !hasStarted(state)) throw refused('This sign-in was started in another browser');
    if (until <= this.clock.now()) throw refused('This sign-in link has expired');
    const use = { bodyHash: randomUUID(), receivedAtMs: this.clock.now() };
    const first = await this.memory.remember(USES, id, use);
    if (first.bodyHash !== use.bodyHash) throw refused('This sign-in link was used before');
    return opened;
  }

  #open(code: string): OpenedCode {
    try {
      return Code.parse(JSON.parse(this.secrets.open(Buffer.from(code, 'base64url').toString(), CONTEXT)));
    } catch {
      throw refused('This is not a sign-in link of this platform');
    }
  }
}

function refused(error: string): ProblemException {
  return new ProblemException(401, error, { hint: 'Sign in with an API key, or create another link.' });
}
