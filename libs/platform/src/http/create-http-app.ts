import { getLiveness, getProcessMetrics, getReadiness } from '@agentlens/operations/probes';
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authorizeRequests } from '../auth/authorize-requests.ts';
import { SessionCookies, StreamTickets } from '../auth/browser-sessions.ts';
import { nestLogger } from '../log/create-logger.ts';
import { BusTransport } from '../messages/message-handlers.ts';
import type { Platform } from '../platform.ts';
import { answerMetrics } from '../telemetry/telemetry.ts';
import { acceptJsonOnly } from './accept-json-only.ts';
import { addSecurityHeaders, limitBodies, refuseUnreadable, refuseUnrouted, trackRequests } from './hooks.ts';
import { ProblemFilter } from './problem.filter.ts';
import { routeOf } from './serves.ts';

/** Routes for probes and Prometheus: no key required, no data of tenants. */
function addOperatorRoutes(fastify: FastifyInstance, platform: Platform): void {
  fastify.route({ ...routeOf(getLiveness), handler: async () => ({ status: 'ok' }) });
  fastify.route({
    ...routeOf(getReadiness),
    handler: async (_request, reply) => {
      const { ready, checks } = await platform.health.report();
      return reply.status(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', checks });
    },
  });
  fastify.route({
    ...routeOf(getProcessMetrics),
    handler: (request, reply) => {
      reply.hijack();
      answerMetrics(request.raw, reply.raw);
    },
  });
}

/** Longer than load balancers keep idle connections, so that none is reused while it closes. */
const KEEP_ALIVE_MS = 72_000;
/** Limit for a whole request, so that a slow client cannot hold a connection. */
const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** The length of a request line. Routes limit ids themselves; a 404 would look like a missing route. */
const MAX_PARAMETER_LENGTH = 16_384;

@Module({})
class HttpRoot {}

/**
 * Creates the HTTP server of these modules: keys checked on every route, every error a Problem, with `/healthz`,
 * `/readyz` and `/metrics`. Does not listen; specs use `app.inject` after `app.init()`.
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
    // No module has middleware of Nest, and its runner costs every request as much as all hooks here.
    skipMiddie: true,
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    forceCloseConnections: 'idle',
    clientErrorHandler: refuseUnreadable,
    // Some clients post to `/v1/rules/`.
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH, ignoreTrailingSlash: true },
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
