import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { authorizeRequests } from '../auth/authorize-requests.ts';
import { SessionCookies } from '../auth/session-cookies.ts';
import { StreamTickets } from '../auth/stream-tickets.ts';
import { nestLogger } from '../log/nest-logger.ts';
import { BusTransport } from '../messages/message-handlers.ts';
import type { Platform } from '../platform.ts';
import { acceptJsonOnly } from './accept-json-only.ts';
import { limitBodies } from './limit-bodies.ts';
import { addOperatorRoutes } from './operator-routes.ts';
import { ProblemFilter } from './problem.filter.ts';
import { refuseUnreadable } from './refuse-unreadable.ts';
import { refuseUnrouted } from './refuse-unrouted.ts';
import { addSecurityHeaders } from './security-headers.ts';
import { trackRequests } from './track-requests.ts';

/** Longer than any load balancer keeps an idle connection, so that it never reuses one we are closing. */
const KEEP_ALIVE_MS = 72_000;
/** From the first byte of a request to its last: a client that trickles cannot hold a connection for ever. */
const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** As long as a request line can be. Each route says what an id may be; a 404 would look like a route that is not there. */
const LONGEST_PARAMETER = 16_384;

@Module({})
class HttpRoot {}

/**
 * One HTTP server for these service modules: keys checked on every route, every error a Problem, `/healthz`, `/readyz`
 * and `/metrics` beside them. Not yet listening; specs use it with `app.inject` after `app.init()`.
 */
export async function createHttpApp(
  platform: Platform,
  modules: readonly DynamicModule[],
): Promise<NestFastifyApplication> {
  const { bodyLimitBytes } = platform.config.http;
  const filter = new ProblemFilter(platform.logger);
  const adapter = new FastifyAdapter({
    bodyLimit: bodyLimitBytes,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    requestIdHeader: false,
    genReqId: () => crypto.randomUUID(),
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    forceCloseConnections: 'idle',
    clientErrorHandler: refuseUnreadable,
    // Clients in the field post to `/v1/rules/`.
    routerOptions: { maxParamLength: LONGEST_PARAMETER, ignoreTrailingSlash: true },
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      filter.answer(error, request, reply),
  });
  const app = await NestFactory.create<NestFastifyApplication>({ module: HttpRoot, imports: [...modules] }, adapter, {
    logger: nestLogger(platform.logger),
    bodyParser: false,
    abortOnError: false,
  });
  const fastify = adapter.getInstance();
  limitBodies(fastify, bodyLimitBytes);
  acceptJsonOnly(fastify);
  trackRequests(fastify, platform);
  addSecurityHeaders(fastify);
  refuseUnrouted(fastify);
  new StreamTickets(platform).accept(fastify);
  new SessionCookies(platform).accept(fastify);
  authorizeRequests(fastify, platform.keys);
  addOperatorRoutes(fastify, platform);
  app.useGlobalFilters(filter);
  const find = <T>(type: Type<T>): T => app.get(type, { strict: false });
  app.connectMicroservice({ strategy: new BusTransport(platform.bus, find) }, { inheritAppConfig: true });
  return app;
}

/** Starts the modules, then hands messages to their handlers. Does not listen on HTTP. */
export async function startApp(app: NestFastifyApplication): Promise<void> {
  await app.init();
  await app.startAllMicroservices();
}
