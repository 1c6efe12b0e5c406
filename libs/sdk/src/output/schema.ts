import { Validator } from '@cfworker/json-schema';

/** The part of Standard Schema (standardschema.dev) that is used; zod, valibot, arktype and others implement it. */
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

/** A JSON Schema; 2020-12 unless it says otherwise. */
export type JsonSchema = Readonly<Record<string, unknown>> | boolean;

export type OutputSchema<T> = StandardSchema<T> | JsonSchema;

export interface OutputIssue {
  /** Dotted path to the offending value; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

export type CheckedValue<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly OutputIssue[] };

const MAX_ISSUES = 20;
/** An error of a container only says that something in it is wrong; the errors of its parts give the reason. */
const OF_THE_WHOLE = new Set(['properties', 'items', 'prefixItems', 'allOf', '$ref']);

/** Compiles a schema once and checks values against it. For a JSON Schema, the caller names the type. */
export function schemaChecker<T>(schema: OutputSchema<T>): (value: unknown) => Promise<CheckedValue<T>> {
  if (isStandardSchema(schema)) return (value) => checkStandard(schema, value);
  // This validator interprets the schema: edge runtimes forbid the code generation of faster ones.
  const validator = new Validator(schema as object, '2020-12', false);
  return async (value) => checkJsonSchema<T>(validator, value);
}

export function isStandardSchema<T>(schema: OutputSchema<T>): schema is StandardSchema<T> {
  // Some libraries' schemas are functions.
  return (typeof schema === 'object' || typeof schema === 'function') && '~standard' in schema;
}

async function checkStandard<T>(schema: StandardSchema<T>, value: unknown): Promise<CheckedValue<T>> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { ok: true, value: result.value };
  const issues = result.issues.slice(0, MAX_ISSUES).map(({ path = [], message }) => ({
    path: path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.'),
    message,
  }));
  return { ok: false, issues };
}

function checkJsonSchema<T>(validator: Validator, value: unknown): CheckedValue<T> {
  const { valid, errors } = validator.validate(value);
  if (valid) return { ok: true, value: value as T };
  const issues = errors
    .filter(({ keyword }) => !OF_THE_WHOLE.has(keyword))
    .slice(0, MAX_ISSUES)
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
