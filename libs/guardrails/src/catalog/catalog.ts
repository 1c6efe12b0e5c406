import { z } from 'zod';

/** Modules of one kind, indexed by type. A duplicate type is a programming error and throws. */
export class Catalog<M extends { readonly type: string }> {
  readonly #byType: ReadonlyMap<string, M>;

  constructor(readonly modules: readonly M[]) {
    this.#byType = new Map(modules.map((module) => [module.type, module]));
    if (this.#byType.size !== modules.length) throw new Error('a catalog lists a type twice');
  }

  get(type: string): M | undefined {
    return this.#byType.get(type);
  }

  get types(): readonly string[] {
    return this.modules.map((module) => module.type);
  }
}

/** JSON Schema (2020-12) of client input: keys with defaults are optional, units are in `unit`. */
export function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(schema, { io: 'input' }) as Record<string, unknown>;
}
