import { Problem } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';

const health = {
  version: z.string(),
  db: z.object({ ok: z.boolean(), latencyMs: z.number() }),
};

export const getServiceHealth = operation({
  id: 'getServiceHealth',
  method: 'get',
  path: '/api/health',
  tag: 'Service',
  summary: 'Whether the API and its database answer. 503 while the database does not.',
  scope: null,
  response: z.object({ status: z.literal('ok'), ...health }).meta({ id: 'ServiceHealth' }),
  unavailable: Problem.extend({ status: z.literal('degraded'), ...health }).meta({ id: 'DegradedHealth' }),
});

export const getFeatures = operation({
  id: 'getFeatures',
  method: 'get',
  path: '/api/config/features',
  tag: 'Service',
  summary: 'What this server can do, for clients that ask before they show.',
  scope: null,
  response: z.object({ features: z.record(z.string(), z.boolean()) }),
});

export const getOpenApi = operation({
  id: 'getOpenApi',
  method: 'get',
  path: '/openapi.json',
  tag: 'Service',
  summary: 'This document.',
  scope: null,
  response: z.record(z.string(), z.unknown()),
});
