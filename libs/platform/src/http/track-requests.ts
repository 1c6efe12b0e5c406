import { InFlight } from '@agentlens/messaging';
import { metrics, trace } from '@opentelemetry/api';
import type { FastifyInstance } from 'fastify';
import type { Platform } from '../platform.ts';

/**
 * Names the route on the request's span, measures every answer, and answers with the request's id. When the process
 * drains, answers that have begun and never end by themselves (event streams) are ended here.
 */
export function trackRequests(fastify: FastifyInstance, platform: Platform): void {
  const duration = metrics.getMeter('agentlens').createHistogram('agentlens.http.request.duration_seconds', {
    description: 'Time from the first byte of a request to the end of its answer, by route and status',
    unit: 's',
    advice: { explicitBucketBoundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] },
  });
  const open = new InFlight<{ readonly headersSent: boolean; end(): void }>();

  fastify.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    trace.getActiveSpan()?.setAttribute('http.route', route).updateName(`${request.method} ${route}`);
    reply.header('x-request-id', request.id);
    if (platform.health.draining) reply.header('connection', 'close');
    const place = open.add(reply.raw);
    reply.raw.once('close', () => open.delete(place));
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    duration.record(reply.elapsedTime / 1000, { method: request.method, route, status: reply.statusCode });
    done();
  });
  platform.health.onDrain(() => {
    for (const response of open) if (response.headersSent) response.end();
  });
}
