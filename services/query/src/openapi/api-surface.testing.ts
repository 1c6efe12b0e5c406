type Json = Readonly<Record<string, unknown>>;
interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly schema: Json;
}
interface Answer {
  readonly headers?: Readonly<Record<string, { readonly required?: boolean }>>;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}

/** Promises of the API with their types. Routes, enum values and required input have no type. */
export type ApiSurface = ReadonlyMap<string, ReadonlySet<string>>;

/** Deeper than any response. Ends the walk of recursive schemas. */
const MAX_DEPTH = 8;

/**
 * Lists what clients can rely on in an OpenAPI document: routes (`GET /api/runs`), parameters (`?limit`), response
 * members (`200 runs[].id`, `429 header Retry-After`), body members (`body name`), required input (`needs name`) and
 * accepted enum values (`?by=day`, `body mode=off`).
 */
export function apiSurface(document: Json): ApiSurface {
  const surface = new Surface(document);
  for (const [path, methods] of Object.entries(document.paths as Record<string, Json>)) {
    for (const [method, op] of Object.entries(methods as Record<string, Json>)) {
      surface.addOperation(`${method.toUpperCase()} ${path}`, op as Json);
    }
  }
  return surface.promises;
}

/** Formats one promise per line: `GET /api/runs 200 runs[].id: string`. */
export function linesOf(surface: ApiSurface): string[] {
  const lines = [...surface].map(([name, types]) =>
    types.size === 0 ? name : `${name}: ${[...types].sort().join(' | ')}`,
  );
  return lines.sort();
}

export function surfaceOf(lines: readonly string[]): ApiSurface {
  return new Map(
    lines.map((line) => {
      const [name = '', types] = line.split(/: (?=[a-z |]+$)/);
      return [name, new Set(types?.split(' | '))];
    }),
  );
}

class Surface {
  readonly promises = new Map<string, Set<string>>();
  readonly #document: Json;

  constructor(document: Json) {
    this.#document = document;
  }

  addOperation(name: string, op: Json): void {
    this.add(name);
    for (const { in: place, name: parameter, required, schema } of (op.parameters ?? []) as Parameter[]) {
      if (place !== 'query') continue;
      const known = `${name} ?${parameter}`;
      this.add(known, this.typesOf(schema));
      for (const word of wordsOf(this.resolved(schema))) this.add(`${known}=${word}`);
      if (required === true) this.add(`${name} needs ?${parameter}`);
    }
    const body = (op.requestBody as Answer | undefined)?.content?.['application/json'];
    if (body !== undefined) new Walk(this, `${name} body`, `${name} needs`).of(body.schema);
    for (const [status, answer] of Object.entries(op.responses as Record<string, Answer>)) {
      for (const [header, { required }] of Object.entries(answer.headers ?? {})) {
        if (required === true) this.add(`${name} ${status} header ${header}`);
      }
      const content = answer.content?.['application/json'];
      if (content !== undefined && status.startsWith('2')) new Walk(this, `${name} ${status}`).of(content.schema);
    }
  }

  add(name: string, types: readonly string[] = []): void {
    const known = this.promises.get(name) ?? new Set();
    for (const type of types) known.add(type);
    this.promises.set(name, known);
  }

  /** Returns the types of a schema. An enum of strings has the type `word`. */
  typesOf(given: Json): string[] {
    const schema = this.resolved(given);
    const branches = (schema.anyOf ?? schema.oneOf ?? schema.allOf) as Json[] | undefined;
    const types = schema.type === undefined ? [] : ([schema.type].flat() as string[]);
    const isOfWords = wordsOf(schema).length > 0;
    if (types.length > 0) return types.map((type) => (type === 'string' && isOfWords ? 'word' : type));
    if (branches !== undefined) return branches.flatMap((branch) => this.typesOf(branch));
    return [schema.properties === undefined ? 'anything' : 'object'];
  }

  resolved(schema: Json): Json {
    const { $ref } = schema;
    if (typeof $ref !== 'string') return schema;
    const name = $ref.split('/').at(-1) ?? '';
    const schemas = (this.#document.components as { schemas: Record<string, Json> }).schemas;
    return this.resolved(schemas[name] ?? {});
  }
}

class Walk {
  readonly #surface: Surface;
  readonly #prefix: string;
  readonly #needs: string | undefined;

  constructor(surface: Surface, prefix: string, needs?: string) {
    this.#surface = surface;
    this.#prefix = prefix;
    this.#needs = needs;
  }

  of(given: Json | undefined, at = '', depth = 0): void {
    if (given === undefined || depth > MAX_DEPTH) return;
    const schema = this.#surface.resolved(given);
    for (const key of ['oneOf', 'anyOf', 'allOf'] as const) {
      // A member that only one alternative requires is not required.
      for (const branch of (schema[key] ?? []) as Json[]) this.#branch(key).of(branch, at, depth + 1);
    }
    for (const [member, value] of Object.entries((schema.properties ?? {}) as Record<string, Json>)) {
      const place = at === '' ? member : `${at}.${member}`;
      this.#surface.add(`${this.#prefix} ${place}`, this.#surface.typesOf(value));
      this.of(value, place, depth + 1);
    }
    for (const member of (schema.required ?? []) as string[]) {
      if (this.#needs !== undefined) this.#surface.add(`${this.#needs} ${at === '' ? member : `${at}.${member}`}`);
    }
    if (this.#prefix.endsWith(' body')) {
      for (const word of wordsOf(schema)) this.#surface.add(`${this.#prefix} ${at}=${word}`);
    }
    this.of(schema.items as Json | undefined, `${at}[]`, depth + 1);
  }

  #branch(key: 'oneOf' | 'anyOf' | 'allOf'): Walk {
    return key === 'allOf' || this.#needs === undefined ? this : new Walk(this.#surface, this.#prefix);
  }
}

function wordsOf(schema: Json): string[] {
  const words = (schema.enum ?? (schema.const === undefined ? [] : [schema.const])) as unknown[];
  return words.map(String);
}
