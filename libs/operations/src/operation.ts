import type { Scope } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/**
 * One route as the outside sees it. The controller routes by it and parses with its schemas, and `/openapi.json` is made from
 * it, so that what is documented is what is served.
 */
export interface Operation {
  /** Its name in clients and in the OpenAPI document: the name it is exported under. */
  readonly id: string;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** With `:name` for parameters. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** Of several the key needs one. `null`: open to everybody. `admin` may do all that does not need `platform`. */
  readonly scope: Scope | readonly Scope[] | null;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Request headers beyond those of every route, by their lower-case names. */
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Bodies as they are sent, by what they do. */
  readonly examples?: Readonly<Record<string, unknown>>;
  /** The body is passed on as it came: the service that owns the data reads it, by this same schema, for every way in. */
  readonly forwarded?: true;
  /** The handler reads its input itself: clients in the field must not fail over what it does not know. */
  readonly tolerant?: true;
  /** Default 200. */
  readonly status?: number;
  readonly response: z.ZodType;
  /** What 207 answers, where a part of the request may be taken. */
  readonly partial?: z.ZodType;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** Of an event stream: what the `data` of each kind of event carries. */
  readonly frames?: Readonly<Record<string, z.ZodType>>;
  /** Answers carry an ETag, and 304 to whom holds what it names. */
  readonly tagged?: boolean;
  /** Answers carry their `version` as ETag: what `If-Match` of a change takes. A name: the member that has it. */
  readonly versioned?: boolean | string;
  /** Under an `Idempotency-Key` it is carried out once, and a repetition is answered as the first. */
  readonly once?: true;
  /** The key may come as `?token=`, a ticket for it as `?ticket=`. */
  readonly queryToken?: boolean;
  /** What 503 answers, where it says more than a Problem. */
  readonly unavailable?: z.ZodType;
  /** What refusals answer, where that is no Problem. */
  readonly failure?: z.ZodType;
  /** Statuses of problem answers beyond 400, 401, 403, 429 and 503, and 413 and 415 where there is a body. */
  readonly problems?: readonly number[];
}

/** The scopes of which a key needs one; none for a route that is open to everybody. */
export function scopesOf({ scope }: Pick<Operation, 'scope'>): readonly Scope[] {
  if (scope === null) return [];
  return typeof scope === 'string' ? [scope] : scope;
}

/** Keeps the exact schema types of an operation, for the parsing in its controller. */
export function operation<const O extends Operation>(described: O): O {
  return described;
}

/** What JSON carries of a query parameter before it becomes text: the text itself, or what the text stands for. */
type QueryValue<Text, Meaning> = Text | Extract<Meaning, string | number | boolean | readonly string[]>;

type QueryOf<Q extends z.ZodType> = {
  [Name in keyof z.input<Q>]: QueryValue<z.input<Q>[Name], Name extends keyof z.output<Q> ? z.output<Q>[Name] : never>;
};

/** `{ [Name]: Value }`, which may be left out where every member of it may. */
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

/** What a client sends with an operation: its path parameters, its query and its body. */
export type OperationInput<O extends Operation> = Part<'params', Sent<O, 'params'>> &
  Part<'query', SentQuery<O>> &
  Part<'body', Sent<O, 'body'>>;

/** What an operation answers when it succeeds. */
export type OperationAnswer<O extends Operation> =
  | z.output<O['response']>
  | (O extends { readonly partial: infer P extends z.ZodType } ? z.output<P> : never);

/** The events of a stream, by their kind. */
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

/** What a request of an operation holds once it is read by the operation's schemas. */
export type RequestOf<O extends Operation> = Read<O, 'params'> &
  Read<O, 'query'> &
  Read<O, 'headers'> &
  (O extends { readonly forwarded: true }
    ? { readonly body: unknown }
    : O extends { readonly body: infer B extends z.ZodType }
      ? { readonly body: z.output<B> }
      : unknown);

const FORM = 'must be the ETag of an answer, like "7", or *';

/** The version a change is meant for: the change is refused with 412 if there is a newer one. `undefined`: any version. */
const IfMatch = z
  .string(FORM)
  // Proxies that compress answers mark their tags as weak.
  .regex(/^(\*|(W\/)?"\d{1,9}")$/, FORM)
  .optional()
  .transform((tag) => (tag === undefined || tag === '*' ? undefined : Number(/\d+/.exec(tag)?.[0])))
  .meta({
    type: 'string',
    pattern: '^(\\*|(W/)?"[0-9]{1,9}")$',
    description: 'The ETag of the version that is changed: 412 if it is not current any more. Left out: any.',
  });

/** Why a rule is changed that a ruleset manages. */
const Override = z
  .string()
  .trim()
  .min(1, 'must say why')
  .max(1000)
  .optional()
  .meta({ description: 'The reason for changing a rule that belongs to a ruleset, which is refused without it.' });

/** Headers of operations that change a rule. */
export const RuleChangeHeaders = z.object({ 'if-match': IfMatch, 'x-agentlens-override': Override });

/** Headers of operations that change something with a version. */
export const VersionHeaders = z.object({ 'if-match': IfMatch });

/** Counting further costs more than anybody learns from it. */
export const MOST_COUNTED = 10_000;

/** How many rows match, of which a page shows some. */
export const Total = {
  total: z.int().meta({ description: `How many match, counted up to ${MOST_COUNTED.toLocaleString('en')}.` }),
  totalRelation: z.enum(['eq', 'gte']).meta({ description: '`gte`: there are more than `total`; `eq`: that many.' }),
};
export type Total = z.infer<z.ZodObject<typeof Total>>;
