import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemException } from '../http/problem-exception.ts';
import type { Clock, Platform } from '../platform.ts';
import { type OpenedKey, SealedKeys } from './sealed-keys.ts';

const NAME = 'agentlens_session';
const COOKIE = new RegExp(`(?:^|; *)${NAME}=([^;]+)`);
/** Brings the page secret with every request that changes something. */
const PAGE_SECRET_HEADER = 'x-agentlens-page';
const LIFE_MS = 7 * 86_400_000;
const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * The browser's session: an API key sealed into a cookie that no script can read. A request that brings the cookie and no
 * `Authorization` is a request with that key, so that every check of keys (scope, expiry, revocation) holds as it is.
 * A browser sends a cookie to every port of a host, so writes need more: the origin of this page, and the page secret that
 * signing in returned. The page keeps it where pages of other ports cannot read it.
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
  cookieFor(key: string, pageSecret: string, request: FastifyRequest): string {
    const sealed = this.#keys.seal(key, this.#clock.now() + LIFE_MS, pageSecret);
    return `${NAME}=${sealed}; Max-Age=${LIFE_MS / 1000}${attributesFor(request)}`;
  }

  /** The value of `Set-Cookie` that signs it out. */
  endedFor(request: FastifyRequest): string {
    return `${NAME}=; Max-Age=0${attributesFor(request)}`;
  }

  #signIn(request: FastifyRequest): ProblemException | undefined {
    if (request.headers.authorization !== undefined) return undefined;
    const session = this.#sessionOf(request);
    if (session === undefined) return undefined;
    if (!SAFE_METHODS.includes(request.method) && !comesFromHere(request)) {
      return new ProblemException(403, 'This request does not come from the console', {
        hint: 'A browser session may change things only from its own page. Programs send their API key instead.',
      });
    }
    // Signing in again, and out, needs no key.
    const needsSecret = !SAFE_METHODS.includes(request.method) && request.routeOptions.config.isPublic !== true;
    if (needsSecret && !holdsSecret(request, session.secret)) {
      return new ProblemException(403, 'This request lacks the secret of the page', {
        code: 'page_secret_required',
        hint: `Sign in again. The console sends what signing in returned as "pageSecret" in the header ${PAGE_SECRET_HEADER}.`,
      });
    }
    request.headers.authorization = `Bearer ${session.key}`;
    return undefined;
  }

  #sessionOf(request: FastifyRequest): OpenedKey | undefined {
    const value = COOKIE.exec(request.headers.cookie ?? '')?.[1];
    return value === undefined ? undefined : this.#keys.openAll(value);
  }
}

function holdsSecret({ headers }: FastifyRequest, secret: string | undefined): boolean {
  const sent = headers[PAGE_SECRET_HEADER];
  if (secret === undefined || typeof sent !== 'string' || sent.length !== secret.length) return false;
  return timingSafeEqual(Buffer.from(sent), Buffer.from(secret));
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
