import type { FastifyInstance } from 'fastify';
import type { Platform } from '../platform.ts';
import { answerMetrics } from '../telemetry/telemetry.ts';

const OPEN = { config: { isPublic: true } };

/** For probes and Prometheus: no key, and nothing of any tenant. */
export function addOperatorRoutes(fastify: FastifyInstance, platform: Platform): void {
  /** The process runs: restart it when this does not answer. */
  fastify.get('/healthz', OPEN, async () => ({ status: 'ok' }));
  /** It makes progress: send it work. */
  fastify.get('/readyz', OPEN, async (_request, reply) => {
    const { ready, checks } = await platform.health.report();
    return reply.status(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', checks });
  });
  fastify.get('/metrics', OPEN, (request, reply) => {
    reply.hijack();
    answerMetrics(request.raw, reply.raw);
  });
}
