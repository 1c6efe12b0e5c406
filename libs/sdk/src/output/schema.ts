import { Validator } from '@cfworker/json-schema';

/** The part of Standard Schema (standardschema.dev) that is used: zod, valibot, arktype and others speak it. */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult<T> | Promise<StandardResult<T>>;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A JSON Schema, 2020-12 where it does not say otherwise. */
export type JsonSchema = Readonly<Record<string, unknown>> | boolean;

export type OutputSchema<T> = StandardSchema<T> | JsonSchema;

export interface OutputIssue {
  /** Dotted path to the offending value; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly OutputIssue[] };

const MOST_ISSUES = 20;

/** Of a Standard Schema the type is known; of a JSON Schema it is what the caller says it is. */
export async function checkAgainst<T>(schema: OutputSchema<T>, value: unknown): Promise<Checked<T>> {
  return isStandard(schema) ? checkStandard(schema, value) : checkJsonSchema<T>(schema, value);
}

function isStandard<T>(schema: OutputSchema<T>): schema is StandardSchema<T> {
  // Some libraries' schemas are functions.
  return (typeof schema === 'object' || typeof schema === 'function') && '~standard' in schema;
}

async function checkStandard<T>(schema: StandardSchema<T>, value: unknown): Promise<Checked<T>> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { ok: true, value: result.value };
  const issues = result.issues.slice(0, MOST_ISSUES).map(({ path = [], message }) => ({
    path: path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.'),
    message,
  }));
  return { ok: false, issues };
}

/** This validator interprets the schema: edge runtimes forbid the generated code that faster ones run. */
function checkJsonSchema<T>(schema: JsonSchema, value: unknown): Checked<T> {
  const result = new Validator(schema as object, '2020-12', false).validate(value);
  if (result.valid) return { ok: true, value: value as T };
  const issues = result.errors
    // An error of a whole says only that something in it is wrong; the errors of its parts say what.
    .filter(({ keyword }) => !['properties', 'items', 'prefixItems', 'allOf', '$ref'].includes(keyword))
    .slice(0, MOST_ISSUES)
    .map(({ instanceLocation, error }) => ({ path: dotted(instanceLocation), message: error }));
  return { ok: false, issues: issues.length > 0 ? issues : [{ path: '', message: 'does not match the schema' }] };
}

function dotted(pointer: string): string {
  return pointer
    .replace(/^#\/?/, '')
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
}
