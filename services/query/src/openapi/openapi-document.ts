import { Problem, type Scope } from '@agentlens/contracts';
import { IdempotencyHeaders, type Operation, scopesOf } from '@agentlens/operations';
import { z } from 'zod';

type Json = Record<string, unknown>;

const PROBLEMS: Readonly<Record<number, string>> = {
  400: 'A parameter or the body is invalid. `details` lists each path and what is allowed.',
  401: 'The key is missing, invalid, revoked or expired.',
  403: 'The key lacks the required scope.',
  404: 'Not found in the tenant of the key.',
  409: 'Not possible in the current state.',
  412: 'Changed in the meantime: `currentVersion` and the ETag name the current version.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'The request is valid but cannot be carried out.',
  431: 'The headers, or the URL with its parameters, are too long.',
  429: 'The quota of this key is exceeded; see Retry-After.',
  503: 'Temporarily unavailable; see Retry-After.',
};

/** The error body, as every error response has it. */
const Refusal = Problem.required({ code: true, requestId: true });
const PlainProblem = Refusal.meta({ id: 'Problem' });

const Forbidden = Refusal.extend({
  required: z.array(z.string()).meta({ description: 'Scopes of which the key needs one.' }),
  current: z.array(z.string()).meta({ description: 'Scopes that the key has.' }),
}).meta({ id: 'Forbidden' });

const TooLarge = Refusal.extend({
  maxSize: z.int().meta({ description: 'Maximum size in bytes.' }),
}).meta({ id: 'TooLarge' });

const ETAG = {
  ETag: { description: 'Identifies the version of the response.', required: true, schema: { type: 'string' } },
};
const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds to wait.', required: true, schema: { type: 'integer' } },
};
const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'The ETag of the response that you have.',
  schema: { type: 'string' },
};

const ACTOR = {
  name: 'X-AgentLens-Actor',
  in: 'header',
  required: false,
  description: 'The person who acts with this key, for the audit log. Grants no permissions.',
  schema: { type: 'string', minLength: 1, maxLength: 200, pattern: '^[^\\u0000-\\u001f\\u007f]*$' },
};

/** Builds the OpenAPI 3.1 document from the schemas that the routes parse with. */
export function openApiDocument(operations: readonly Operation[], version: string): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const op of operations) {
    const path = op.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [op.method]: describe(op, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'AgentLens',
      version,
      description: 'Ingest agent events, enforce guardrails and query the results.',
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      schemas,
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'API key, `agk_...`.' } },
    },
  };
}

function describe(op: Operation, schemas: Json): Json {
  return {
    tags: [op.tag],
    operationId: op.id,
    summary: op.summary,
    ...(op.scope === null
      ? { security: [] }
      : { 'x-scope': scopesOf(op).join(' '), description: scopeText(scopesOf(op)) }),
    parameters: [
      ...parameters('path', op.params, schemas),
      ...parameters('query', op.query, schemas),
      ...parameters('header', op.headers, schemas),
      ...(op.once ? parameters('header', IdempotencyHeaders, schemas) : []),
      ...(op.tagged ? [IF_NONE_MATCH] : []),
      ...(op.scope === null || op.method === 'get' ? [] : [ACTOR]),
    ],
    ...(op.body === undefined
      ? {}
      : {
          requestBody: {
            required: !op.body.safeParse(undefined).success,
            content: {
              'application/json': {
                schema: jsonSchema(op.body, 'input', schemas, `${named(op)}Body`),
                ...(op.examples === undefined ? {} : { examples: examples(op.examples) }),
              },
            },
          },
        }),
    ...(op.frames === undefined ? {} : { 'x-frames': frames(op.frames, schemas) }),
    responses: { ...successes(op, schemas), ...problemResponses(op, schemas) },
  };
}

function scopeText(scopes: readonly Scope[]): string {
  const needed = `Needs the scope ${scopes.map((scope) => `\`${scope}\``).join(' or ')}`;
  return scopes.some((scope) => scope !== 'platform' && scope !== 'admin') ? `${needed}, or \`admin\`.` : `${needed}.`;
}

function successes(op: Operation, schemas: Json): Json {
  const { status = 200, response, partial, tagged, versioned, contentType = 'application/json' } = op;
  const answer = (description: string, body: z.ZodType, name: string): Json => ({
    description,
    content: { [contentType]: { schema: jsonSchema(body, 'output', schemas, name) } },
  });
  return {
    [status]: {
      ...answer('Success', response, `${named(op)}Answer`),
      ...(tagged || versioned ? { headers: ETAG } : {}),
    },
    ...(partial === undefined ? {} : { 207: answer('Partly accepted', partial, `${named(op)}PartialAnswer`) }),
    ...(tagged ? { 304: { description: 'Not modified: your cached copy is current.', headers: ETAG } } : {}),
  };
}

function problemResponses(op: Operation, schemas: Json): Json {
  const always = op.scope === null ? [431, 503] : [400, 401, 403, 429, 431, 503];
  const ofBodies = op.body === undefined ? [] : [400, 413, 415];
  const ofOnce = op.once ? [409, 422] : [];
  const statuses = [...new Set([...always, ...ofBodies, ...ofOnce, ...(op.problems ?? [])])].sort((a, b) => a - b);
  const bodies: Readonly<Record<number, z.ZodType | undefined>> = {
    403: Forbidden,
    413: TooLarge,
    503: op.unavailable,
  };
  const problem = (status: number): Json => ({
    description: PROBLEMS[status] ?? 'Refused',
    ...(status === 429 || status === 503 ? { headers: RETRY_AFTER } : {}),
    content: {
      'application/json': { schema: jsonSchema(op.failure ?? bodies[status] ?? PlainProblem, 'output', schemas) },
    },
  });
  return Object.fromEntries(statuses.map((status) => [status, problem(status)]));
}

function parameters(place: 'path' | 'query' | 'header', schema: z.ZodType | undefined, schemas: Json): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = jsonSchema(schema, 'input', schemas) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }));
}

/** Turns the operation id `listRuns` into `ListRuns`. */
function named({ id }: Operation): string {
  return id.charAt(0).toUpperCase() + id.slice(1);
}

function examples(values: Readonly<Record<string, unknown>>): Json {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}

function frames(schemasOf: Readonly<Record<string, z.ZodType>>, schemas: Json): Json {
  return Object.fromEntries(
    Object.entries(schemasOf).map(([event, schema]) => [event, jsonSchema(schema, 'output', schemas)]),
  );
}

/**
 * Converts a schema. Schemas with an id become components; bodies and responses become components named after their
 * operation, so that a client generator names each type once.
 */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output', schemas: Json, name?: string): Json {
  const made = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema: node }) => {
      // Query parameters also accept numbers and booleans as text. Readers only need the type.
      if (node.type === 'integer' || node.type === 'boolean') {
        delete node.pattern;
        if (node.enum?.every((word) => typeof word === 'string')) delete node.enum;
      }
      // Every safe integer has these bounds, so they carry no information.
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (node.format === 'date-time') delete node.anyOf;
      // In responses, the format makes the pattern redundant.
      if (io === 'output' && (node.format === 'date-time' || node.format === 'date')) delete node.pattern;
      // zod omits `default` if a transform follows it.
      const { 'x-default': byDefault } = node as Json;
      if (byDefault !== undefined) Object.assign(node, { default: byDefault, 'x-default': undefined });
    },
  }) as Json & { $defs?: Record<string, Json> };
  const { $schema: _, $defs = {}, ...rest } = made;
  for (const [id, definition] of Object.entries($defs)) schemas[id] = relocated(withoutId(definition));
  const { id = rest.type === 'string' ? undefined : name } = rest;
  if (typeof id !== 'string') return relocated(rest);
  schemas[id] = relocated(withoutId(rest));
  return { $ref: `#/components/schemas/${id}` };
}

function withoutId(definition: Json): Json {
  return Object.fromEntries(Object.entries(definition).filter(([key]) => key !== 'id'));
}

function relocated<T>(node: T): T {
  return JSON.parse(JSON.stringify(node).replaceAll('"#/$defs/', '"#/components/schemas/')) as T;
}
