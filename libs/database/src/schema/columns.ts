import type { ColumnType, JSONColumnType } from 'kysely';

/**
 * Column types as `pg` returns them with our type parsers: timestamptz as ISO text with milliseconds and `Z`, bigint
 * and numeric as number (counts and USD stay far below 2^53), date as `YYYY-MM-DD`.
 */
export type Timestamp = ColumnType<string, string, string>;
/** Any JSON value, including a plain string or number. */
export type AnyJson = ColumnType<unknown, string | null | undefined, string | null>;
export type NullableJson = ColumnType<Record<string, unknown> | null, string | null | undefined, string | null>;
export type Json = JSONColumnType<Record<string, unknown>, string, string>;
export type JsonList = JSONColumnType<unknown[], string, string>;
