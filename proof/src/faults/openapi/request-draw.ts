import type { DocumentedOperation, OpenApi, Parameter, Schema } from './document.ts';
import { JsonFromSchema } from './json-from-schema.ts';

export interface DrawnRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Valid bodies by method and path: `post /api/budgets`. */
export type Examples = Readonly<Record<string, readonly object[]>>;

const MISCHIEF = 0.08;
/** Share of known values and valid bodies. */
const KNOWN = 0.6;
/** Share of bodies that are not JSON, or have another content type. */
const GARBLED = 0.02;
/** Longer waits do not change the response. */
const LONGEST_WAIT_MS = 20;

/** Generates requests to the operations of a document: mostly valid ones, often about existing items. */
export class RequestDraw {
  private readonly random: () => number;
  private readonly json: JsonFromSchema;
  private readonly known: KnownValues;
  private readonly examples: Examples;

  constructor(random: () => number, document: OpenApi, known: KnownValues, examples: Examples) {
    this.random = random;
    this.json = new JsonFromSchema(random, document.components.schemas);
    this.known = known;
    this.examples = examples;
  }

  of({ path, method, operation }: DocumentedOperation): DrawnRequest {
    const { url, headers } = this.placed(path, operation.parameters ?? []);
    const schema = operation.requestBody?.content['application/json']?.schema;
    if (schema === undefined) return { method, url, headers };
    const body = JSON.stringify(this.body(`${method} ${path}`, schema));
    const garbled = this.random() < GARBLED;
    const contentType = garbled ? this.json.oneOf(['text/plain', 'application/json', 'nonsense']) : 'application/json';
    return {
      method,
      url,
      headers: { ...headers, 'content-type': contentType },
      body: garbled ? body.slice(0, -1) : body,
    };
  }

  private placed(path: string, parameters: readonly Parameter[]): Pick<DrawnRequest, 'url' | 'headers'> {
    let url = path;
    const query = new URLSearchParams();
    const headers: Record<string, string> = {};
    for (const parameter of parameters) {
      const { name, required } = parameter;
      if (!required && name !== 'waitMs' && this.random() < 0.5) continue;
      const value = this.text(path, parameter);
      if (parameter.in === 'path') {
        url = url.replace(`{${name}}`, encodeURIComponent(value === '' || value === '..' ? 'x' : value));
      } else if (parameter.in === 'query') query.append(name, value);
      else headers[name] = this.json.oneOf(['"x"', ...this.known.of(path, name)]);
    }
    const text = query.toString();
    return { url: text === '' ? url : `${url}?${text}`, headers };
  }

  private text(path: string, { name, schema }: Parameter): string {
    const known = this.known.of(path, name);
    if (known.length > 0 && this.random() < KNOWN) return this.json.oneOf(known);
    if (name === 'waitMs') return String(Math.floor(this.random() * LONGEST_WAIT_MS));
    const drawn = this.json.value(schema, MISCHIEF);
    return (typeof drawn === 'string' ? drawn : JSON.stringify(drawn)).toWellFormed();
  }

  private body(operation: string, schema: Schema): unknown {
    const examples = this.examples[operation];
    if (examples !== undefined && this.random() < KNOWN) return this.json.oneOf(examples);
    const drawn = this.json.value(schema, MISCHIEF);
    const waits = typeof drawn === 'object' && drawn !== null && 'waitMs' in drawn;
    return waits ? { ...drawn, waitMs: Math.floor(this.random() * LONGEST_WAIT_MS) } : drawn;
  }
}

/** Older ones may have been deleted. */
const KEPT = 20;

/** Values from responses, so that requests can refer to existing items and continue pages. */
export class KnownValues {
  private readonly pools = new Map<string, string[]>();

  /** Records the ids of a response, and the end of its page. */
  learn(path: string, body: unknown): void {
    if (typeof body !== 'object' || body === null) return;
    for (const [name, value] of Object.entries(body)) {
      if (typeof value === 'string') this.keep(poolOf(path, PARAMETER_OF.get(name) ?? name), value);
      else this.learn(path, value);
    }
  }

  /** Returns known values of a path parameter. */
  of(path: string, parameter: string): readonly string[] {
    return this.pools.get(poolOf(path, parameter) ?? '') ?? [];
  }

  private keep(pool: string | undefined, value: string): void {
    if (pool === undefined) return;
    const kept = (this.pools.get(pool) ?? []).filter((known) => known !== value);
    this.pools.set(pool, [...kept, value].slice(-KEPT));
  }
}

/** Query parameters that continue a page, by the response member with the position. */
const PARAMETER_OF: ReadonlyMap<string, string> = new Map([
  ['nextCursor', 'cursor'],
  ['next', 'after'],
  ['etag', 'If-None-Match'],
]);
const PLACES = new Set(PARAMETER_OF.values());

/**
 * Returns the pool in which values of a name are shared: an `agentId` means the same everywhere, an `id` belongs to
 * `/api/budgets` and the paths below it, a cursor to a single list.
 */
function poolOf(path: string, name: string): string | undefined {
  if (name === 'id') return `${path.split('/{', 1)[0]} id`;
  if (PLACES.has(name)) return `${path} ${name}`;
  return name.endsWith('Id') ? name : undefined;
}
