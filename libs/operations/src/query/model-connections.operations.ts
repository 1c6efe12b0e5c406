import {
  CONNECTION_DIALECTS,
  ConnectionName,
  Instant,
  MAX_MODEL_CONNECTIONS,
  ModelConnectionDraft,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';

const TAG = 'Model connections';

const ModelConnectionView = z
  .object({
    name: z.string().meta({ description: 'Part of the address that clients use: `/gw/<name>`.' }),
    dialect: z.enum(CONNECTION_DIALECTS),
    baseUrl: z.string(),
    credential: z
      .object({
        fingerprint: z.string().meta({ description: 'Start of the SHA-256 of the key. Equal keys have equal ones.' }),
        setAt: Instant,
      })
      .nullable()
      .meta({ description: 'Null: the provider takes no key.' }),
    models: z.array(z.string()).nullable().meta({ description: 'Null: all models.' }),
    forwardHeaders: z.array(z.string()),
    pricingProvider: z.string().nullable(),
    enabled: z.boolean(),
    fallback: z.string().nullable().meta({ description: 'The connection that gets a call if this one fails.' }),
    firstByteSeconds: z.int().nullable().meta({ description: 'Null: the default.' }),
    version: z.int(),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'ModelConnection' });
export type ModelConnectionView = z.infer<typeof ModelConnectionView>;

const NamePath = z.object({ name: ConnectionName });

export const listModelConnections = operation({
  id: 'listModelConnections',
  method: 'get',
  path: '/api/model-connections',
  tag: TAG,
  summary: 'Connections of the tenant to model providers, by name. Keys of providers are never returned.',
  scope: 'admin',
  response: z.object({ connections: z.array(ModelConnectionView) }),
});

export const setModelConnection = operation({
  id: 'setModelConnection',
  method: 'put',
  path: '/api/model-connections/:name',
  tag: TAG,
  summary: `Create a connection to a model provider or replace it. Gateways use it within 5 seconds. A tenant has at most ${MAX_MODEL_CONNECTIONS}.`,
  scope: 'admin',
  params: NamePath,
  headers: VersionHeaders,
  body: ModelConnectionDraft.meta({ id: 'ModelConnectionDraft' }),
  examples: {
    anthropic: { dialect: 'anthropic', credential: 'sk-ant-...', models: ['claude-*'] },
    localModel: { dialect: 'openai', baseUrl: 'http://127.0.0.1:8000/v1', credential: 'none' },
  },
  versioned: true,
  response: ModelConnectionView,
  problems: [409, 412],
});

export const testModelConnection = operation({
  id: 'testModelConnection',
  method: 'post',
  path: '/api/model-connections/:name/test',
  tag: TAG,
  summary: 'Ask the provider for its list of models, which costs nothing: shows whether address and key work.',
  scope: 'admin',
  params: NamePath,
  response: z.object({
    works: z.boolean(),
    status: z.int().nullable().meta({ description: 'HTTP status of the provider; null: it was not reached.' }),
    message: z.string(),
  }),
  problems: [404],
});

export const deleteModelConnection = operation({
  id: 'deleteModelConnection',
  method: 'delete',
  path: '/api/model-connections/:name',
  tag: TAG,
  summary:
    'Delete a connection and its key. Calls in progress end; new ones are refused within 5 seconds. The fallback of ' +
    'another connection cannot be deleted.',
  scope: 'admin',
  params: NamePath,
  headers: VersionHeaders,
  response: z.object({ ok: z.literal(true) }),
  problems: [404, 409, 412],
});
