import type { Scope } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/**
 * A route of the public API. The controller routes and parses by it, and `/openapi.json` is generated from it, so the
 * documentation matches what is served.
 */
export interface Operation {
  /** Name in clients and the OpenAPI document; equal to the exported name. */
  readonly id: string;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Path with `:name` for parameters. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** The key needs one of these scopes. `null`: public. `admin` includes every scope except `platform`. */
  readonly scope: Scope | readonly Scope[] | null;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Additional request headers, by lower-case name. */
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Example bodies, by purpose. */
  readonly examples?: Readonly<Record<string, unknown>>;
  /** The body is passed on unread: the service that owns the data validates it with this schema. */
  readonly forwarded?: true;
  /** The handler reads its input itself, because clients in the field must not fail on unknown members. */
  readonly tolerant?: true;
  /** Default 200. */
  readonly status?: number;
  readonly response: z.ZodType;
  /** Body of 207, if a part of the request can be accepted. */
  readonly partial?: z.ZodType;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** For event streams: `data` of each kind of event. */
  readonly frames?: Readonly<Record<string, z.ZodType>>;
  /** Answers have an ETag, and 304 if the client has the current version. */
  readonly tagged?: boolean;
  /** Answers have their `version` as ETag, for `If-Match`. A string names the member that contains it. */
  readonly versioned?: boolean | string;
  /** With an `Idempotency-Key` it is executed once, and a repetition gets the first answer. */
  readonly once?: true;
  /** The key may be sent as `?token=`, a ticket as `?ticket=`. */
  readonly queryToken?: boolean;
  /** Body of 503, if it is more than a Problem. */
  readonly unavailable?: z.ZodType;
  /** Body of errors, if it is not a Problem. */
  readonly failure?: z.ZodType;
  /** Problem statuses besides 400, 401, 403, 429 and 503, and 413 and 415 with a body. */
  readonly problems?: readonly number[];
}

/** Scopes of which the key needs one; empty for a public route. */
export function scopesOf({ scope }: Pick<Operation, 'scope'>): readonly Scope[] {
  if (scope === null) return [];
  return typeof scope === 'string' ? [scope] : scope;
}

/** Keeps the exact schema types of an operation for its controller. */
export function operation<const O extends Operation>(described: O): O {
  return described;
}

/** JSON values accepted for a query parameter: its text, or the value the text represents. */
type QueryValue<Text, Meaning> = Text | Extract<Meaning, string | number | boolean | readonly string[]>;

type QueryOf<Q extends z.ZodType> = {
  [Name in keyof z.input<Q>]: QueryValue<z.input<Q>[Name], Name extends keyof z.output<Q> ? z.output<Q>[Name] : never>;
};

/** `{ [Name]: Value }`, optional if every member is optional. */
type Part<Name extends string, Value> = [Value] extends [never]
  ? unknown
  : undefined extends Value
    ? { readonly [N in Name]?: Value }
    : Record<never, never> extends Value
      ? { readonly [N in Name]?: Value }
      : { readonly [N in Name]: Value };

type Sent<O extends Operation, Key extends 'params' | 'body'> = O extends {
  readonly [K in Key]: infer S extends z.ZodType;
}
  ? z.input<S>
  : never;
type SentQuery<O extends Operation> = O extends { readonly query: infer Q extends z.ZodType } ? QueryOf<Q> : never;

/** Input of an operation: path parameters, query and body. */
export type OperationInput<O extends Operation> = Part<'params', Sent<O, 'params'>> &
  Part<'query', SentQuery<O>> &
  Part<'body', Sent<O, 'body'>>;

/** Answer of a successful operation. */
export type OperationAnswer<O extends Operation> =
  | z.output<O['response']>
  | (O extends { readonly partial: infer P extends z.ZodType } ? z.output<P> : never);

/** Events of a stream, by kind. */
export type OperationFrame<O extends Operation> = O extends {
  readonly frames: infer F extends Record<string, z.ZodType>;
}
  ? {
      [Kind in keyof F & string]: { readonly event: Kind; readonly id?: string; readonly data: z.output<F[Kind]> };
    }[keyof F & string]
  : never;

type Read<O extends Operation, Key extends 'params' | 'query' | 'headers'> = O extends {
  readonly [K in Key]: infer S extends z.ZodType;
}
  ? { readonly [K in Key]: z.output<S> }
  : unknown;

/** A request as parsed by the operation's schemas. */
export type RequestOf<O extends Operation> = Read<O, 'params'> &
  Read<O, 'query'> &
  Read<O, 'headers'> &
  (O extends { readonly forwarded: true }
    ? { readonly body: unknown }
    : O extends { readonly body: infer B extends z.ZodType }
      ? { readonly body: z.output<B> }
      : unknown);

const FORM = 'must be the ETag of an answer, such as "7", or *';

/** The version a change is meant for; 412 if there is a newer one. `undefined`: any version. */
const IfMatch = z
  .string(FORM)
  // Proxies that compress answers mark tags as weak.
  .regex(/^(\*|(W\/)?"\d{1,9}")$/, FORM)
  .optional()
  .transform((tag) => (tag === undefined || tag === '*' ? undefined : Number(/\d+/.exec(tag)?.[0])))
  .meta({
    type: 'string',
    pattern: '^(\\*|(W/)?"[0-9]{1,9}")$',
    description: 'ETag of the version to change: 412 if it is no longer current. Omit it to change any version.',
  });

/** A header holds Latin-1 only. Other scripts are sent as `UTF-8''%e7%90%86`, the extended form of RFC 8187. */
function decodeExtended(text: string): string {
  const encoded = /^UTF-8''(.*)$/i.exec(text)?.[1];
  if (encoded === undefined) return text;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return text;
  }
}

/** Reason for changing a rule that a ruleset manages. */
const Override = z
  .string()
  .trim()
  .min(1, 'must contain a reason')
  .max(9000)
  .transform(decodeExtended)
  .refine((text) => text.length <= 1000, 'must be at most 1000 characters')
  .optional()
  .meta({
    type: 'string',
    description:
      'Reason for changing a rule of a ruleset; without it the change is rejected. ' +
      "Letters beyond Latin-1 as in RFC 8187: `UTF-8''%e7%90%86`.",
  });

/** Headers of operations that change a rule. */
export const RuleChangeHeaders = z.object({ 'if-match': IfMatch, 'x-agentlens-override': Override });

/** Headers of operations that change a versioned object. */
export const VersionHeaders = z.object({ 'if-match': IfMatch });

/** Counting further costs more than it is worth. */
export const MAX_COUNTED_ROWS = 10_000;

/** Number of matching rows, of which a page contains some. */
export const Total = {
  total: z.int().meta({ description: `Number of matches, counted up to ${MAX_COUNTED_ROWS.toLocaleString('en')}.` }),
  totalRelation: z
    .enum(['eq', 'gte'])
    .meta({ description: '`gte`: there are more than `total`; `eq`: the count is exact.' }),
};
export type Total = z.infer<z.ZodObject<typeof Total>>;
