import { getLiveness, getProcessMetrics, getReadiness } from '@agentlens/operations/probes';
import type { FastifyInstance } from 'fastify';
import type { Platform } from '../platform.ts';
import { answerMetrics } from '../telemetry/telemetry.ts';
import { routeOf } from './serves.ts';

/** For probes and Prometheus: no key, and nothing of any tenant. */
export function addOperatorRoutes(fastify: FastifyInstance, platform: Platform): void {
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
