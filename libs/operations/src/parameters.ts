import { ClientId, DAY_MS, HOUR_MS, Instant, SEVERITIES } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/** End of a page: the sort instant of its last row, and that row's id as tie-breaker. */
export interface Position {
  readonly at: string;
  readonly id: string;
}

/** A client's id, with room for the prefix of mixed lists. */
const RowId = z
  .string()
  .min(1)
  .max(300)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
  .regex(/^[^\u0000-\u001f\u007f]+$/);
const Decoded = z.strictObject({ v: z.literal(1), list: z.string(), at: Instant, id: RowId });
const MAX_CURSOR_LENGTH = 2_000;

/** Encodes a cursor, opaque to clients. It is not signed: a forged position stays within the tenant's data. */
export function encodeCursor(list: string, position: Position): string {
  const text = JSON.stringify({ v: 1, list, at: position.at, id: position.id });
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Decodes a cursor of this list; null if it is not one. */
export function decodeCursor(list: string, cursor: string): Position | null {
  const parsed = Decoded.safeParse(jsonOrNull(cursor));
  if (!parsed.success || parsed.data.list !== list) return null;
  return { at: parsed.data.at, id: parsed.data.id };
}

function jsonOrNull(cursor: string): unknown {
  if (cursor.length > MAX_CURSOR_LENGTH) return null;
  try {
    const bytes = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))));
  } catch {
    return null;
  }
}

/** Query parameters are text; each schema's message states the valid form. */

const EARLIEST = '1970-01-01T00:00:00.000Z';
const LATEST = '9999-12-31T23:59:59.999Z';
const MAX_OFFSET = 100_000;
const MAX_LIST_ITEMS = 50;

/** An integer in a closed range. */
export function wholeNumber(min: number, max: number, byDefault: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string(message)
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
    .default(byDefault)
    .meta({ type: 'integer', minimum: min, maximum: max, 'x-default': byDefault });
}

/** Text to search for. The database cannot compare with NUL. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is exactly what is refused
export const SearchText = z.string().regex(/^[^\u0000]*$/, 'must not contain NUL');

/** An amount of money: up to nine digits, and six decimals, as stored. */
export const Amount = z
  .string('must be an amount such as 0.25')
  .regex(/^\d{1,9}(\.\d{1,6})?$/, 'must be an amount such as 0.25')
  .transform(Number)
  .meta({ type: 'number', minimum: 0, maximum: 999_999_999.999999, multipleOf: 0.000001 });

/** `true` or `false`. */
export const Flag = z
  .enum(['true', 'false'], 'must be "true" or "false"')
  .transform((text) => text === 'true')
  .meta({ type: 'boolean' });

/**
 * An RFC 3339 instant with `Z` or an offset, or a date (its start in UTC), as UTC text. Years outside 1970-9999 are
 * rejected, because JavaScript and Postgres read them differently.
 */
export const InstantParameter = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], 'must be an instant such as 2026-11-21T10:00:00Z')
  .transform((text, context) => {
    const ms = Date.parse(text);
    const instant = Number.isNaN(ms) ? '' : new Date(ms).toISOString();
    if (instant.length === LATEST.length && instant >= EARLIEST && instant <= LATEST) return instant;
    context.addIssue({ code: 'custom', message: `must be between ${EARLIEST} and ${LATEST}` });
    return z.NEVER;
  })
  .meta({ type: 'string', format: 'date-time' });

/** A comma-separated list of short texts, `a,b`. */
export const CommaList = z
  .string('must be a comma-separated list')
  .max(4_000, 'must be at most 4000 characters')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not contain control characters')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  )
  .refine((items) => items.length > 0, 'must name at least one value')
  .refine((items) => items.length <= MAX_LIST_ITEMS, `must name at most ${MAX_LIST_ITEMS} values`)
  .meta({ type: 'string', pattern: listOf('[^, \\u0000-\\u001f\\u007f][^,\\u0000-\\u001f\\u007f]*') });

/** Documented form of a list; spaces and empty items are accepted. */
function listOf(item: string): string {
  return `^${item}(,${item}){0,${MAX_LIST_ITEMS - 1}}$`;
}

/** A comma-separated list of known words. */
export function commaListOf<const T extends readonly string[]>(words: T) {
  const known = z.array(z.enum(words, `must be a comma-separated list of ${words.join(', ')}`));
  const pattern = listOf(`(${words.map((word) => word.replaceAll('.', '\\.')).join('|')})`);
  return CommaList.pipe(known).meta({
    type: 'string',
    pattern,
    description: `Comma-separated list of ${words.join(', ')}.`,
  });
}

/** Severities; `warning` is read as `warn`. */
export const SeverityList = CommaList.transform((words) => words.map((word) => (word === 'warning' ? 'warn' : word)))
  .pipe(z.array(z.enum(SEVERITIES, `must be a comma-separated list of ${SEVERITIES.join(', ')}`)))
  .meta({
    type: 'string',
    pattern: listOf(`(${SEVERITIES.join('|')}|warning)`),
    description: `Comma-separated list of ${SEVERITIES.join(', ')}.`,
  });

/** Cursor of a list: `nextCursor` of the previous page. */
function cursorOf(list: string) {
  return z
    .string()
    .transform((text, context): Position => {
      const position = decodeCursor(list, text);
      if (position !== null) return position;
      context.addIssue({
        code: 'custom',
        message: 'is not a cursor of this list; send nextCursor of the previous page, or omit it to start over',
      });
      return z.NEVER;
    })
    .meta({ type: 'string', pattern: '^[A-Za-z0-9_-]{1,2000}$', description: 'nextCursor of the previous page.' });
}

/** Paging parameters of every list. */
export function paging(list: string, maxLimit: number, byDefault = Math.min(50, maxLimit)) {
  return {
    limit: wholeNumber(1, maxLimit, byDefault),
    offset: wholeNumber(0, MAX_OFFSET, 0),
    cursor: cursorOf(list).optional(),
  };
}

/** Closed time range, given by two of three parameters. */
export const timeRange = {
  from: InstantParameter.optional(),
  to: InstantParameter.optional(),
  range: z
    .string()
    .regex(/^([1-9]\d{0,3})(h|d|w)$/, 'must be a number of hours, days or weeks, such as 24h, 7d or 4w')
    .optional()
    .meta({ description: 'Length of the range: from `from`, or up to `to` or now. Not with both.' }),
};

const UNITS = { h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS } as const;

interface Range {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly range?: string | undefined;
}

/**
 * Resolves `range` to the ends of the query: starting at `from`, or ending at `to` or now. A range up to now has no
 * end, so it includes new data.
 */
export function withEnds<Query extends Range>(query: Query, nowMs: number): Query {
  const { from, to, range } = query;
  if (range === undefined) return query;
  const lengthMs = Number.parseInt(range, 10) * UNITS[range.slice(-1) as keyof typeof UNITS];
  if (from !== undefined) return { ...query, to: instant(Date.parse(from) + lengthMs) };
  return { ...query, from: instant((to === undefined ? nowMs : Date.parse(to)) - lengthMs) };
}

function instant(ms: number): string {
  return new Date(Math.min(Math.max(Date.parse(EARLIEST), ms), Date.parse(LATEST))).toISOString();
}

interface PagedAndRanged extends Range {
  readonly offset?: number | undefined;
  readonly cursor?: Position | undefined;
}

/** Adds checks across parameters: a range that runs forward, and one way of paging. */
export function consistent<T extends z.ZodType<PagedAndRanged>>(schema: T) {
  return schema
    .refine((query) => query.from === undefined || query.to === undefined || query.from <= query.to, {
      path: ['from'],
      message: 'must not be later than "to"',
    })
    .refine(({ from, to, range }) => from === undefined || to === undefined || range === undefined, {
      path: ['range'],
      message: 'cannot be combined with both "from" and "to"',
    })
    .refine((query) => query.cursor === undefined || !query.offset, {
      path: ['offset'],
      message: 'cannot be combined with "cursor"',
    });
}

/** An id in the path. Ids may contain `/`, sent as `%2F`. */
export const IdPath = z.object({ id: ClientId });

const SCOPE_IDS = {
  scopeId: ClientId.optional().meta({ description: 'Id of the run or agent.' }),
  id: ClientId.optional().meta({ description: 'Deprecated alias of scopeId.' }),
};

function scopeOptions<Fields extends z.ZodRawShape>(fields: Fields) {
  const of = <Scope extends 'tenant' | 'agent' | 'run'>(scope: Scope) =>
    z
      .strictObject({ scope: z.literal(scope), ...SCOPE_IDS, ...fields })
      .meta(scope === 'tenant' ? {} : { anyOf: [{ required: ['scopeId'] }, { required: ['id'] }] });
  return [of('tenant'), of('agent'), of('run')] as const;
}

/** Both names of the id become `id`, which is undefined only for the tenant and for all its run trees. */
function withId<Given>(given: Given, context: z.RefinementCtx) {
  const { scope, scopeId, id = scopeId } = given as { scope: string; scopeId?: string; id?: string };
  const problem = (message: string) => context.addIssue({ code: 'custom', path: ['scopeId'], message });
  if (scopeId !== undefined && id !== scopeId) problem('differs from "id": send one of them');
  if (id === undefined && (scope === 'agent' || scope === 'run')) problem(`is required: the id of the ${scope}`);
  return { ...given, id };
}

/** A body about the whole tenant (without `scopeId`), or about the run or agent `scopeId`. Older clients send `id`. */
export function scoped<Fields extends z.ZodRawShape>(fields: Fields) {
  const wrong = 'must be a JSON object with a scope: "tenant", "agent" or "run"';
  return z
    .discriminatedUnion('scope', scopeOptions(fields), wrong)
    .transform((given, context) => withId(given, context));
}

/** The same, or about each run tree of the tenant (without `scopeId`). */
export function scopedOrTrees<Fields extends z.ZodRawShape>(fields: Fields) {
  const wrong = 'must be a JSON object with a scope: "tenant", "agent", "run" or "tree"';
  const trees = z.strictObject({ scope: z.literal('tree'), ...fields });
  return z
    .discriminatedUnion('scope', [...scopeOptions(fields), trees], wrong)
    .transform((given, context) => withId(given, context));
}
