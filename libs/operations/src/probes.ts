import { z } from 'zod';
import { operation } from './operation.ts';

const probe = { method: 'get', tag: 'Probes', scope: null } as const;
const Report = z.object({ status: z.string(), checks: z.record(z.string(), z.unknown()) });

/** What every process serves for its operator: no key, and nothing of any tenant. */
export const getLiveness = operation({
  ...probe,
  id: 'getLiveness',
  path: '/healthz',
  summary: 'The process runs: restart it when this does not answer.',
  response: z.object({ status: z.literal('ok') }),
});

export const getReadiness = operation({
  ...probe,
  id: 'getReadiness',
  path: '/readyz',
  summary: 'The process makes progress: send it work. 503 while it does not, with the checks that fail.',
  response: Report,
  unavailable: Report,
});

export const getProcessMetrics = operation({
  ...probe,
  id: 'getProcessMetrics',
  path: '/metrics',
  summary: 'Metrics of the process in the text format of Prometheus.',
  response: z.string(),
  contentType: 'text/plain',
});
