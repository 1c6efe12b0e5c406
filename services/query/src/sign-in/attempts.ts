import { randomBytes } from 'node:crypto';
import { MINUTE_MS } from '@agentlens/contracts';
import { type Clock, port, type SecretBox } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';

const LIFE_MS = 10 * MINUTE_MS;
const CONTEXT = ['sign-in-attempt'];
const PREFIX = 'agentlens_signin_';
const MAX_OPEN = 5;
const ID_LENGTH = 8;

const Attempt = z.object({
  providerId: z.string(),
  purpose: z.enum(['sign-in', 'test']),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  isFresh: z.boolean(),
  returnTo: z.string(),
  until: z.number(),
});
export type SignInAttempt = z.infer<typeof Attempt>;

/** A started sign-in, and the `Set-Cookie` values that bind it to the browser. */
interface Started {
  readonly attempt: SignInAttempt;
  readonly cookies: readonly string[];
}

/**
 * Sign-ins that a browser has started, each in a sealed cookie of its own, so that two tabs do not disturb each other.
 * The cookie is `Lax`, because the provider's redirect comes from another site.
 */
@Injectable()
export class SignInAttempts {
  constructor(
    @Inject(port('secrets')) private readonly secrets: SecretBox,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  start(
    request: FastifyRequest,
    draft: Pick<SignInAttempt, 'providerId' | 'purpose' | 'isFresh' | 'returnTo'>,
  ): Started {
    const random = () => randomBytes(32).toString('base64url');
    const attempt = {
      ...draft,
      state: random(),
      nonce: random(),
      verifier: random(),
      until: this.clock.now() + LIFE_MS,
    };
    const sealed = this.secrets.seal(JSON.stringify(attempt), CONTEXT);
    const oldest = this.#open(request).toSorted((a, b) => a.until - b.until);
    const dropped = oldest.slice(0, Math.max(0, oldest.length - MAX_OPEN + 1));
    const set = `${nameOf(attempt)}=${sealed}; Max-Age=${LIFE_MS / 1_000}${attributesFor(request)}`;
    return { attempt, cookies: [set, ...dropped.map((one) => this.end(one, request))] };
  }

  /** The attempt of this browser with the state that the provider returned. */
  find(request: FastifyRequest, state: string): SignInAttempt | undefined {
    return this.#open(request).find((attempt) => attempt.state === state);
  }

  /** The `Set-Cookie` value that ends an attempt. */
  end(attempt: Pick<SignInAttempt, 'state'>, request: FastifyRequest): string {
    return `${nameOf(attempt)}=; Max-Age=0${attributesFor(request)}`;
  }

  #open({ headers }: FastifyRequest): SignInAttempt[] {
    const pairs = (headers.cookie ?? '').split(/; */).filter((pair) => pair.startsWith(PREFIX));
    return pairs.slice(0, 2 * MAX_OPEN).flatMap((pair) => this.#read(pair.slice(pair.indexOf('=') + 1)) ?? []);
  }

  #read(sealed: string): SignInAttempt | undefined {
    if (!this.secrets.isSealed(sealed)) return undefined;
    try {
      const attempt = Attempt.parse(JSON.parse(this.secrets.open(sealed, CONTEXT)));
      return attempt.until > this.clock.now() ? attempt : undefined;
    } catch {
      // Sealed with a key that this platform no longer has, or altered: the same as no cookie.
      return undefined;
    }
  }
}

function nameOf({ state }: Pick<SignInAttempt, 'state'>): string {
  return `${PREFIX}${state.slice(0, ID_LENGTH)}`;
}

function attributesFor({ headers }: FastifyRequest): string {
  return `; Path=/; HttpOnly; SameSite=Lax${headers['x-forwarded-proto'] === 'https' ? '; Secure' : ''}`;
}

/** Returns a path of this console; `/` for anything that could leave it. */
export function safeReturnTo(path: string | undefined): string {
  if (path === undefined || !/^\/[^/\\]/.test(path) || /[\\\p{Cc}]/u.test(path)) return '/';
  const here = new URL('http://console.invalid');
  const url = URL.parse(path, here.href);
  return url === null || url.origin !== here.origin ? '/' : `${url.pathname}${url.search}`;
}
