import { z } from 'zod';
import { operation } from './operation.ts';

const probe = { method: 'get', tag: 'Probes', scope: null } as const;
const Report = z.object({ status: z.string(), checks: z.record(z.string(), z.unknown()) });

/** Operator routes of every process: no key, and no tenant data. */
export const getLiveness = operation({
  ...probe,
  id: 'getLiveness',
  path: '/healthz',
  summary: 'Liveness: restart the process if this does not answer.',
  response: z.object({ status: z.literal('ok') }),
});

export const getReadiness = operation({
  ...probe,
  id: 'getReadiness',
  path: '/readyz',
  summary: 'Readiness: the process makes progress. 503 with the failing checks otherwise.',
  response: Report,
  unavailable: Report,
});

export const getProcessMetrics = operation({
  ...probe,
  id: 'getProcessMetrics',
  path: '/metrics',
  summary: 'Metrics in the Prometheus text format.',
  response: z.string(),
  contentType: 'text/plain',
});
