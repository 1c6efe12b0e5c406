import { z } from 'zod';
import type { JsonObject } from '../../events.ts';

/**
 * A schema with a fast check of whether a value fits it. The check is several times cheaper and returns only a boolean;
 * a property test compares the two. The schema reads values that do not fit, and reports why.
 */
export interface Field<S extends z.ZodType = z.ZodType> {
  readonly schema: S;
  readonly fits: (value: unknown) => boolean;
}

export function field<S extends z.ZodType>(schema: S, fits: (value: unknown) => boolean): Field<S> {
  return { schema, fits };
}

export function nullish<S extends z.ZodType>({ schema, fits }: Field<S>): Field<z.ZodOptional<z.ZodNullable<S>>> {
  return field(schema.nullish(), (value) => value === undefined || value === null || fits(value));
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Shape = Readonly<Record<string, Field>>;
type Schemas<F extends Shape> = { [K in keyof F]: F[K]['schema'] };
type Read<F extends Shape> = z.infer<z.ZodObject<Schemas<F>, z.core.$loose>>;

/** Payload schema of one event type. */
export interface Payload<F extends Shape = Shape> extends Field<z.ZodType<Read<F>>> {
  refine(holds: (payload: Read<F>) => boolean, otherwise: { path: string[]; message: string }): Payload<F>;
}

/** Builds a payload schema. Unknown keys are kept unchanged. */
export function payload<F extends Shape>(fields: F): Payload<F> {
  const names = Object.keys(fields);
  const looks = Object.values(fields).map(({ fits }) => fits);
  const schemas = Object.fromEntries(Object.entries(fields).map(([key, { schema }]) => [key, schema])) as Schemas<F>;
  return refinable<F>(z.looseObject(schemas) as unknown as z.ZodType<Read<F>>, (value) => {
    if (!isObject(value)) return false;
    for (let index = 0; index < names.length; index++) {
      if (looks[index]?.(value[names[index] ?? '']) !== true) return false;
    }
    return true;
  });
}

function refinable<F extends Shape>(schema: z.ZodType<Read<F>>, fits: (value: unknown) => boolean): Payload<F> {
  return {
    schema,
    fits,
    refine: (holds, otherwise) =>
      refinable<F>(schema.refine(holds, otherwise), (value) => fits(value) && holds(value as Read<F>)),
  };
}
