import pg from 'pg';

const DATE = 1082;
const TIMESTAMPTZ = 1184;
const INT8 = 20;
const NUMERIC = 1700;
const UTC_TEXT = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/;

type Parser = (text: string) => unknown;

/** `2026-11-21 10:00:00.5+00` as `2026-11-21T10:00:00.500Z`; what no ISO text can say (`infinity`, BC) stays as it is. */
function instantText(text: string): string {
  const parts = UTC_TEXT.exec(text);
  if (parts === null) return text;
  const [, day, time, fraction = ''] = parts;
  return `${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
}

const PARSERS: Readonly<Record<number, Parser>> = {
  [DATE]: (text) => text,
  [TIMESTAMPTZ]: instantText,
  [INT8]: Number,
  [NUMERIC]: Number,
};

/**
 * Given to each pool rather than set on `pg.types`, so that two copies of this lib, or a host application with parsers
 * of its own, do not change each other's rows. Timestamps rely on the session's time zone being UTC.
 */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && PARSERS[oid]) || pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};
