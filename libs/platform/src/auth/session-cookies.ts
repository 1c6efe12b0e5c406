import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemException } from '../http/problem-exception.ts';
import type { Clock, Platform } from '../platform.ts';
import { SealedKeys } from './sealed-keys.ts';

const NAME = 'agentlens_session';
const COOKIE = new RegExp(`(?:^|; *)${NAME}=([^;]+)`);
const LIFE_MS = 7 * 86_400_000;
const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * The browser's session: an API key sealed into a cookie that no script can read. A request that brings the cookie and no
 * `Authorization` is a request with that key, so that every check of keys (scope, expiry, revocation) holds as it is.
 * Writes must come from a page of this very address: a cookie is sent along by the browser, whoever asks for it.
 */
export class SessionCookies {
  readonly #keys: SealedKeys;
  readonly #clock: Clock;

  constructor(platform: Pick<Platform, 'secrets' | 'clock'>) {
    this.#keys = new SealedKeys(platform, 'session-cookie');
    this.#clock = platform.clock;
  }

  /** Before keys are checked. */
  accept(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, _reply, done) => {
      done(this.#signIn(request));
    });
  }

  /** The value of `Set-Cookie` that signs this browser in. */
  cookieFor(key: string, request: FastifyRequest): string {
    return `${NAME}=${this.#keys.seal(key, this.#clock.now() + LIFE_MS)}; Max-Age=${LIFE_MS / 1000}${attributesFor(request)}`;
  }

  /** The value of `Set-Cookie` that signs it out. */
  endedFor(request: FastifyRequest): string {
    return `${NAME}=; Max-Age=0${attributesFor(request)}`;
  }

  #signIn(request: FastifyRequest): ProblemException | undefined {
    if (request.headers.authorization !== undefined) return undefined;
    const key = this.#keyOf(request);
    if (key === undefined) return undefined;
    if (!SAFE_METHODS.includes(request.method) && !comesFromHere(request)) {
      return new ProblemException(403, 'This request does not come from the console', {
        hint: 'A browser session may change things only from its own page. Programs send their API key instead.',
      });
    }
    request.headers.authorization = `Bearer ${key}`;
    return undefined;
  }

  #keyOf(request: FastifyRequest): string | undefined {
    const value = COOKIE.exec(request.headers.cookie ?? '')?.[1];
    return value === undefined ? undefined : this.#keys.open(value);
  }
}

function attributesFor(request: FastifyRequest): string {
  const secure = request.headers['x-forwarded-proto'] === 'https' ? '; Secure' : '';
  return `; Path=/; HttpOnly; SameSite=Strict${secure}`;
}

/** Browsers name the page a write comes from; one that does not is not answered. */
export function comesFromHere(request: Pick<FastifyRequest, 'headers'>): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined || !URL.canParse(origin)) return false;
  const forwarded = request.headers['x-forwarded-host'];
  return [host, forwarded].includes(new URL(origin).host);
}
