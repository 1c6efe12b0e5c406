import { request } from 'undici';
import { equal, holds } from '../check.ts';
import type { Fault } from '../fault.ts';
import { JsonFromSchema } from '../json-from-schema.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, unknown>>;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const REQUESTS = 20_000;
const AT_ONCE = 8;
const MISCHIEF = 0.08;
/** Would end the test: the key itself, and streams, which end only when their reader leaves. */
const LEFT_OUT = (path: string) => path.includes('/keys') || path.includes('stream');
/** What the ingest gateway serves; the rest is the query service's. */
const AT_INGEST = (path: string, method: string) =>
  path.startsWith('/v1/') || (path === '/api/events' && method === 'post');
const EXAMPLES = 5;

const fuzz: Fault = {
  id: 'F-23',
  title: `${REQUESTS} requests drawn from the OpenAPI document`,
  async run(lab) {
    const site = await lab.freshSite();
    const answer = await request(`${site.stack.queryUrl}/openapi.json`);
    const document = (await answer.body.json()) as OpenApi;
    const draw = new JsonFromSchema(lab.random, document.components.schemas);
    const operations = Object.entries(document.paths)
      .filter(([path]) => !LEFT_OUT(path))
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
      );
    lab.note(`${operations.length} operations`);
    const statuses: Record<number, number> = {};
    const wrong: string[] = [];
    const serverErrors: string[] = [];
    let sent = 0;

    async function one(): Promise<void> {
      const { path, method, operation } = draw.oneOf(operations);
      const url = urlOf(draw, path, operation);
      const schema = operation.requestBody?.content['application/json']?.schema;
      const body = schema === undefined ? undefined : JSON.stringify(draw.value(schema, MISCHIEF));
      const base = AT_INGEST(path, method) ? site.stack.ingestUrl : site.stack.queryUrl;
      const {
        statusCode,
        headers,
        body: received,
      } = await request(`${base}${url}`, {
        method: method.toUpperCase() as 'GET',
        headers: {
          authorization: `Bearer ${site.stack.key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body }),
        headersTimeout: 20_000,
      });
      const text = await received.text();
      statuses[statusCode] = (statuses[statusCode] ?? 0) + 1;
      const said = `${method} ${url} ${body?.slice(0, 200) ?? ''} -> ${statusCode} ${text.slice(0, 200)}`;
      const declared = operation.responses[statusCode] !== undefined;
      const problem = statusCode < 400 || isProblem(text, String(headers['content-type']));
      if (statusCode >= 500) serverErrors.push(said);
      else if (!declared || !problem) wrong.push(said);
    }

    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (sent < REQUESTS) {
          sent += 1;
          await one();
        }
      }),
    );
    lab.note(`answers ${JSON.stringify(statuses)}`);
    for (const said of [...serverErrors.slice(0, EXAMPLES), ...wrong.slice(0, EXAMPLES)]) lab.note(`wrong: ${said}`);
    lab.check(
      equal('server errors', 0, serverErrors.length),
      equal('answers that the document does not know, or errors that are no Problem', 0, wrong.length),
      equal('processes ended by themselves', 0, site.unexpectedExits),
      holds('something was accepted', (statuses[200] ?? 0) + (statuses[201] ?? 0) > 0, JSON.stringify(statuses), '> 0'),
    );
  },
};

function urlOf(draw: JsonFromSchema, path: string, { parameters = [] }: Operation): string {
  let url = path;
  const query = new URLSearchParams();
  for (const { name, in: place, required, schema } of parameters) {
    const drawn = draw.value(schema, MISCHIEF);
    const value = (typeof drawn === 'string' ? drawn : JSON.stringify(drawn)).toWellFormed();
    if (place === 'path')
      url = url.replace(`{${name}}`, encodeURIComponent(value === '' || value === '..' ? 'x' : value));
    else if (required || draw.oneOf([true, false])) query.append(name, value);
  }
  const text = query.toString();
  return text === '' ? url : `${url}?${text}`;
}

function isProblem(text: string, contentType: string): boolean {
  if (!contentType.includes('json')) return false;
  const body = JSON.parse(text) as { readonly error?: unknown; readonly status?: unknown };
  return typeof body.error === 'string' && typeof body.status === 'number';
}

export const FUZZ = [fuzz];
