import type { FastifyRequest } from 'fastify';
import { ProblemException } from './problem-exception.ts';

export function routeNotFound({ method, url }: FastifyRequest): ProblemException {
  return new ProblemException(404, 'Route not found', {
    hint: `There is no ${method} ${url.split('?')[0]}. All routes are listed in /openapi.json.`,
  });
}
