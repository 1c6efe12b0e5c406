import type { Schema } from './document.ts';

/** Generates JSON values that a JSON schema allows, and occasionally ones that it does not. */
export class JsonFromSchema {
  private readonly random: () => number;
  private readonly definitions: Readonly<Record<string, Schema>>;

  constructor(random: () => number, definitions: Readonly<Record<string, Schema>>) {
    this.random = random;
    this.definitions = definitions;
  }

  /** @param mischief probability, at every place, of a value that the schema does not allow */
  value(schema: Schema, mischief: number, depth = 0): unknown {
    if (this.random() < mischief) return this.oneOf(ODDITIES);
    const reference = schema.$ref;
    if (typeof reference === 'string') {
      return this.value(this.definitions[reference.split('/').at(-1) ?? ''] ?? {}, mischief, depth + 1);
    }
    if (schema.const !== undefined) return schema.const;
    if (Array.isArray(schema.enum)) return this.oneOf(schema.enum as unknown[]);
    const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (Array.isArray(choices)) return this.value(this.oneOf(choices as Schema[]), mischief, depth + 1);
    return this.ofType(schema, mischief, depth);
  }

  oneOf<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.random() * items.length)];
    if (item === undefined && items.length === 0) throw new Error('nothing to choose from');
    return item as T;
  }

  private ofType(schema: Schema, mischief: number, depth: number): unknown {
    const type = Array.isArray(schema.type) ? this.oneOf(schema.type as string[]) : schema.type;
    switch (type) {
      case 'string':
        return this.text(schema);
      case 'integer':
        return Math.floor(this.number(schema));
      case 'number':
        return this.number(schema);
      case 'boolean':
        return this.random() < 0.5;
      case 'null':
        return null;
      case 'array':
        return depth > DEEP
          ? []
          : Array.from({ length: Math.floor(this.random() * 4) }, () =>
              this.value((schema.items as Schema | undefined) ?? {}, mischief, depth + 1),
            );
      default:
        return this.object(schema, mischief, depth);
    }
  }

  private object(schema: Schema, mischief: number, depth: number): unknown {
    const properties = (schema.properties ?? {}) as Readonly<Record<string, Schema>>;
    const required = new Set((schema.required ?? []) as string[]);
    const made: Record<string, unknown> = {};
    for (const [name, property] of Object.entries(properties)) {
      if (required.has(name) || (depth <= DEEP && this.random() < 0.5)) {
        made[name] = this.value(property, mischief, depth + 1);
      }
    }
    if (this.random() < mischief) made[this.oneOf(['', 'constructor', 'unknown', 'a.b', '\u0000'])] = 1;
    return made;
  }

  private text({ format, minLength, pattern }: Schema): string {
    if (format === 'date-time') return new Date(1.6e12 + this.random() * 4e11).toISOString();
    if (format === 'uri') return this.oneOf(['https://example.com/hook', 'http://127.0.0.1:9/x']);
    if (typeof pattern === 'string' || this.random() < 0.7) return this.oneOf(['a', 'agent-1', 'default', '1', 'x-y']);
    return this.oneOf(TEXTS).padEnd(Number(minLength ?? 0), 'x');
  }

  private number({ minimum, maximum }: Schema): number {
    const least = Number(minimum ?? -1_000);
    return least + this.random() * (Math.min(Number(maximum ?? 1e6), 1e12) - least);
  }
}

const DEEP = 4;
const TEXTS = [
  '',
  ' ',
  'ü',
  '\ud83d',
  '\u0000',
  '%00',
  '../..',
  "' or 1=1 --",
  '{{x}}',
  'x'.repeat(300),
  '🦜',
  '-1',
  'null',
];
const ODDITIES: readonly unknown[] = [
  null,
  '',
  'x',
  -1,
  0,
  1e308,
  1.5,
  true,
  [],
  {},
  [null],
  '\u0000',
  '\ud800',
  { a: { b: {} } },
];
