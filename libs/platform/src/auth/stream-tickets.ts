import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemException } from '../http/problem-exception.ts';
import type { Clock, Platform } from '../platform.ts';
import { bearerOf } from './bearer.ts';
import { SealedKeys } from './sealed-keys.ts';

/** Long enough to connect; an address that was written down somewhere is worth nothing afterwards. */
const LIFE_MS = 60_000;

/** `expiresAt` is RFC 3339. */
export interface StreamTicket {
  readonly ticket: string;
  readonly expiresAt: string;
}

/**
 * Lets a client that cannot send headers open an event stream without its key in the address: a ticket is the key, sealed, and
 * good for a minute on the routes of event streams. A request that brings one is a request with that key, so that its scopes,
 * expiry, revocation and agents hold as they are. Every process that has the secret key of the platform reads it.
 */
export class StreamTickets {
  readonly #keys: SealedKeys;
  readonly #clock: Clock;

  constructor(platform: Pick<Platform, 'secrets' | 'clock'>) {
    this.#keys = new SealedKeys(platform, 'stream-ticket');
    this.#clock = platform.clock;
  }

  /** Before keys are checked. */
  accept(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, _reply, done) => {
      done(this.#admit(request));
    });
  }

  /** A ticket for the key of this request. */
  ticketFor(request: Pick<FastifyRequest, 'headers'>): StreamTicket {
    const key = bearerOf(request);
    if (key === undefined) throw new Error('a ticket was asked for by a request without a key');
    const untilMs = this.#clock.now() + LIFE_MS;
    return { ticket: this.#keys.seal(key, untilMs), expiresAt: new Date(untilMs).toISOString() };
  }

  #admit(request: FastifyRequest): ProblemException | undefined {
    if (request.routeOptions.config.allowsQueryToken !== true) return undefined;
    const { ticket } = request.query as Record<string, unknown>;
    if (request.headers.authorization !== undefined || typeof ticket !== 'string') return undefined;
    const key = this.#keys.open(ticket);
    if (key === undefined) {
      return new ProblemException(401, 'Invalid stream ticket', {
        hint: 'A ticket is good for a minute: get a new one with your API key.',
        headers: { 'www-authenticate': 'Bearer' },
      });
    }
    request.headers.authorization = `Bearer ${key}`;
    return undefined;
  }
}
