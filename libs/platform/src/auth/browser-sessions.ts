import { timingSafeEqual } from 'node:crypto';
import { DAY_MS } from '@agentlens/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ProblemException } from '../http/problem-exception.ts';
import type { Clock, Platform } from '../platform.ts';
import { bearerOf } from './api-key.ts';

const Sealed = z.object({
  key: z.string(),
  until: z.number(),
  secret: z.string().optional(),
  session: z.string().optional(),
});

interface OpenedKey {
  readonly key: string;
  /** A secret sealed with the key. */
  readonly secret: string | undefined;
  readonly session: string | undefined;
}

/** The browser session of each request with a session cookie. */
const sessions = new WeakMap<FastifyRequest, string>();

/** Id of the browser session that a request belongs to. */
export function browserSessionOf(request: FastifyRequest): string | undefined {
  return sessions.get(request);
}

/** Seals API keys for a limited time and one purpose, for clients that must not hold the key itself. */
class SealedKeys {
  readonly #platform: Pick<Platform, 'secrets' | 'clock'>;
  readonly #context: readonly string[];

  /** @param purpose keys sealed for one purpose do not open for another */
  constructor(platform: Pick<Platform, 'secrets' | 'clock'>, purpose: string) {
    this.#platform = platform;
    this.#context = [purpose];
  }

  seal(key: string, untilMs: number, more: { readonly secret?: string; readonly session?: string } = {}): string {
    return this.#platform.secrets.seal(JSON.stringify({ key, until: untilMs, ...more }), this.#context);
  }

  /** The key; undefined if it has expired, was altered, or was sealed with a key that this platform no longer has. */
  open(sealed: string): OpenedKey | undefined {
    const { secrets, clock } = this.#platform;
    if (!secrets.isSealed(sealed)) return undefined;
    try {
      const { key, until, secret, session } = Sealed.parse(JSON.parse(secrets.open(sealed, this.#context)));
      return until > clock.now() ? { key, secret, session } : undefined;
    } catch {
      return undefined;
    }
  }
}

const NAME = 'agentlens_session';
const COOKIE = new RegExp(`(?:^|; *)${NAME}=([^;]+)`);
/** Carries the page secret of every request that changes something. */
const PAGE_SECRET_HEADER = 'x-agentlens-page';
export const SESSION_LIFE_MS = 7 * DAY_MS;
const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Browser sessions: an API key sealed in a cookie that scripts cannot read. A request with the cookie and without
 * `Authorization` is treated as a request with that key, so that scope, expiry and revocation apply. Browsers send a
 * cookie to every port of a host, so writes need the origin of this page and the page secret that signing in returned,
 * which pages of other ports cannot read.
 */
export class SessionCookies {
  readonly #keys: SealedKeys;
  readonly #clock: Clock;

  constructor(platform: Pick<Platform, 'secrets' | 'clock'>) {
    this.#keys = new SealedKeys(platform, 'session-cookie');
    this.#clock = platform.clock;
  }

  /** Must run before keys are checked. */
  accept(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, _reply, done) => {
      done(this.#signIn(request));
    });
  }

  /** The `Set-Cookie` value that signs this browser in. */
  cookieFor(
    key: string,
    pageSecret: string,
    session: string,
    request: FastifyRequest,
    lifeMs = SESSION_LIFE_MS,
  ): string {
    const sealed = this.#keys.seal(key, this.#clock.now() + lifeMs, { secret: pageSecret, session });
    return `${NAME}=${sealed}; Max-Age=${lifeMs / 1000}${attributesFor(request)}`;
  }

  /** The `Set-Cookie` value that signs this browser out. */
  endedFor(request: FastifyRequest): string {
    return `${NAME}=; Max-Age=0${attributesFor(request)}`;
  }

  #signIn(request: FastifyRequest): ProblemException | undefined {
    if (request.headers.authorization !== undefined) return undefined;
    const session = this.#sessionOf(request);
    // A cookie of an earlier version has no session that could be ended.
    if (session?.session === undefined) return undefined;
    sessions.set(request, session.session);
    if (!SAFE_METHODS.includes(request.method) && !comesFromHere(request)) {
      return new ProblemException(403, 'This request does not come from the console', {
        hint: 'A browser session may change things only from its own page. Programs send their API key instead.',
      });
    }
    // Signing in again, and signing out, need no secret.
    const needsSecret = !SAFE_METHODS.includes(request.method) && request.routeOptions.config.isPublic !== true;
    if (needsSecret && !hasSecret(request, session.secret)) {
      return new ProblemException(403, 'This request lacks the secret of the page', {
        code: 'page_secret_required',
        hint: `Sign in again. The console sends "pageSecret" of the sign-in response in the header ${PAGE_SECRET_HEADER}.`,
      });
    }
    request.headers.authorization = `Bearer ${session.key}`;
    return undefined;
  }

  #sessionOf(request: FastifyRequest): OpenedKey | undefined {
    const value = COOKIE.exec(request.headers.cookie ?? '')?.[1];
    return value === undefined ? undefined : this.#keys.open(value);
  }
}

function hasSecret({ headers }: FastifyRequest, secret: string | undefined): boolean {
  const sent = headers[PAGE_SECRET_HEADER];
  if (secret === undefined || typeof sent !== 'string' || sent.length !== secret.length) return false;
  return timingSafeEqual(Buffer.from(sent), Buffer.from(secret));
}

function attributesFor(request: FastifyRequest): string {
  const secure = request.headers['x-forwarded-proto'] === 'https' ? '; Secure' : '';
  return `; Path=/; HttpOnly; SameSite=Strict${secure}`;
}

/** True if the request comes from a page of this origin. Requests without the header are rejected. */
export function comesFromHere(request: Pick<FastifyRequest, 'headers'>): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined || !URL.canParse(origin)) return false;
  const forwarded = request.headers['x-forwarded-host'];
  return [host, forwarded].includes(new URL(origin).host);
}

/** Long enough to connect. A ticket in a log is worthless afterwards. */
const TICKET_LIFE_MS = 60_000;

/** `expiresAt` is RFC 3339. */
export interface StreamTicket {
  readonly ticket: string;
  readonly expiresAt: string;
}

/**
 * Lets clients that cannot send headers open an event stream without a key in the address. A ticket is the sealed key,
 * valid for a minute on routes of event streams. A request with a ticket is treated as a request with that key, so that
 * its scopes, expiry, revocation and agents apply. Every process with the platform's secret key can open it.
 */
export class StreamTickets {
  readonly #keys: SealedKeys;
  readonly #clock: Clock;

  constructor(platform: Pick<Platform, 'secrets' | 'clock'>) {
    this.#keys = new SealedKeys(platform, 'stream-ticket');
    this.#clock = platform.clock;
  }

  /** Must run before keys are checked. */
  accept(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, _reply, done) => {
      done(this.#admit(request));
    });
  }

  /** Creates a ticket for the key of this request. */
  ticketFor(request: Pick<FastifyRequest, 'headers'>): StreamTicket {
    const key = bearerOf(request);
    if (key === undefined) throw new Error('cannot create a ticket for a request without a key');
    const untilMs = this.#clock.now() + TICKET_LIFE_MS;
    return { ticket: this.#keys.seal(key, untilMs), expiresAt: new Date(untilMs).toISOString() };
  }

  #admit(request: FastifyRequest): ProblemException | undefined {
    if (request.routeOptions.config.allowsQueryToken !== true) return undefined;
    const { ticket } = request.query as Record<string, unknown>;
    if (request.headers.authorization !== undefined || typeof ticket !== 'string') return undefined;
    const opened = this.#keys.open(ticket);
    if (opened === undefined) {
      return new ProblemException(401, 'Invalid stream ticket', {
        hint: 'A ticket is valid for a minute. Get a new one with your API key.',
        headers: { 'www-authenticate': 'Bearer' },
      });
    }
    request.headers.authorization = `Bearer ${opened.key}`;
    return undefined;
  }
}
