type Json = Readonly<Record<string, unknown>>;
interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
}

/** Deeper than any answer; a schema that holds itself ends here. */
const MOST_DEPTH = 8;

/**
 * What clients can rely on, one line each, of an OpenAPI document: `GET /api/runs`, its parameters (`?limit`), what its
 * answers have (`200 runs[].id`), what its body may have (`body name`) and must have (`needs name`), and words of enums that
 * a body takes (`body mode=off`).
 */
export function apiSurface(document: Json): string[] {
  const lines = new Set<string>();
  for (const [path, methods] of Object.entries(document.paths as Record<string, Json>)) {
    for (const [method, op] of Object.entries(methods as Record<string, Json>)) {
      const name = `${method.toUpperCase()} ${path}`;
      lines.add(name);
      for (const { in: place, name: parameter, required } of (op.parameters ?? []) as Parameter[]) {
        if (place === 'query') lines.add(`${name} ?${parameter}`);
        if (place === 'query' && required === true) lines.add(`${name} needs ?${parameter}`);
      }
      const body = (op.requestBody as { content?: Record<string, Json> } | undefined)?.content?.['application/json'];
      if (body !== undefined) new Walk(document, lines, `${name} body`, `${name} needs`).of(body.schema as Json);
      for (const [status, answer] of Object.entries(op.responses as Record<string, Json>)) {
        if (!status.startsWith('2')) continue;
        const content = (answer.content as Record<string, Json> | undefined)?.['application/json'];
        if (content !== undefined) new Walk(document, lines, `${name} ${status}`).of(content.schema as Json);
      }
    }
  }
  return [...lines].sort();
}

class Walk {
  readonly #document: Json;
  readonly #lines: Set<string>;
  readonly #prefix: string;
  readonly #needs: string | undefined;

  constructor(document: Json, lines: Set<string>, prefix: string, needs?: string) {
    this.#document = document;
    this.#lines = lines;
    this.#prefix = prefix;
    this.#needs = needs;
  }

  of(given: Json | undefined, at = '', depth = 0): void {
    if (given === undefined || depth > MOST_DEPTH) return;
    const schema = this.#resolved(given);
    for (const key of ['oneOf', 'anyOf', 'allOf'] as const) {
      // What one of several needs is not needed.
      for (const branch of (schema[key] ?? []) as Json[]) this.#branch(key).of(branch, at, depth + 1);
    }
    for (const [member, value] of Object.entries((schema.properties ?? {}) as Record<string, Json>)) {
      const place = at === '' ? member : `${at}.${member}`;
      this.#lines.add(`${this.#prefix} ${place}`);
      this.of(value, place, depth + 1);
    }
    for (const member of (schema.required ?? []) as string[]) {
      if (this.#needs !== undefined) this.#lines.add(`${this.#needs} ${at === '' ? member : `${at}.${member}`}`);
    }
    const words = (schema.enum ?? (schema.const === undefined ? [] : [schema.const])) as unknown[];
    for (const word of words) {
      if (this.#prefix.endsWith(' body')) this.#lines.add(`${this.#prefix} ${at}=${String(word)}`);
    }
    this.of(schema.items as Json | undefined, `${at}[]`, depth + 1);
  }

  #branch(key: 'oneOf' | 'anyOf' | 'allOf'): Walk {
    if (key === 'allOf' || this.#needs === undefined) return this;
    return new Walk(this.#document, this.#lines, this.#prefix);
  }

  #resolved(schema: Json): Json {
    const { $ref } = schema;
    if (typeof $ref !== 'string') return schema;
    const name = $ref.split('/').at(-1) ?? '';
    const schemas = (this.#document.components as { schemas: Record<string, Json> }).schemas;
    return this.#resolved(schemas[name] ?? {});
  }
}
