import { mapInSlices, nextSlice } from '@agentlens/platform';
import { parse } from 'csv-parse';

/** A line of a provider's cost export. */
export interface InvoiceLine {
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
  /** As the provider writes it; empty if the line names none. */
  readonly model: string;
  readonly usd: number;
}

export interface Invoice {
  readonly format: 'openai' | 'anthropic' | 'generic';
  readonly lines: readonly InvoiceLine[];
  /** Lines without a day or an amount. */
  readonly skipped: number;
}

interface Format {
  readonly name: Invoice['format'];
  readonly day: readonly string[];
  readonly cost: readonly string[];
  readonly model: readonly string[];
}

/** Columns by format: the cost exports of platform.openai.com/usage and of the Claude Console's cost page. */
const FORMATS: readonly Format[] = [
  { name: 'openai', day: ['start_time_iso'], cost: ['amount_value'], model: ['line_item', 'model'] },
  { name: 'anthropic', day: ['usage_date_utc'], cost: ['cost_usd', 'cost'], model: ['model', 'model_version'] },
  { name: 'generic', day: ['day', 'date'], cost: ['cost', 'cost_usd', 'usd', 'amount'], model: ['model'] },
];

/** These bound the work of one check. */
const MAX_LINES = 50_000;
const MAX_COLUMNS = 200;
const MAX_LINE_CHARS = 20_000;
const MAX_MODEL_CHARS = 300;
const CHUNK_BYTES = 16_384;

const DELIMITERS = [',', ';', '\t'] as const;

/** A line with a day and an amount as text. `number` counts lines with content, the header being 1. */
interface Entry {
  readonly number: number;
  readonly day: string;
  readonly model: string;
  readonly amount: string;
}

/**
 * Reads a file in slices, so that a large one does not delay other requests.
 *
 * @throws Error if the text is no CSV, has no known columns, too many lines, or a day or an amount that cannot be read
 */
export async function readInvoice(csv: string): Promise<Invoice> {
  const delimiter = findDelimiter(csv);
  const [header, ...records] = await readRecords(csv, delimiter);
  if (header === undefined || records.length === 0) throw new Error('has no line below its header');
  if (records.length > MAX_LINES) throw new Error(`has more than ${MAX_LINES} lines; send one month at a time`);
  if (header.length > MAX_COLUMNS) throw new Error(`has more than ${MAX_COLUMNS} columns`);
  const names = header.map((name) => name.toLowerCase());
  const format = FORMATS.find(({ day, cost }) =>
    [day, cost].every((column) => column.some((name) => names.includes(name))),
  );
  if (format === undefined) {
    throw new Error('has no known columns; expected day, model and cost, or a cost export of OpenAI or Anthropic');
  }
  const pick = (record: readonly string[], columns: readonly string[]): string =>
    columns.map((name) => record[names.indexOf(name)] ?? '').find((value) => value !== '') ?? '';
  const read = await mapInSlices(records, (record, index): Entry | undefined => {
    const number = index + 2;
    const day = dayIn(pick(record, format.day), number);
    const amount = pick(record, format.cost);
    const model = modelIn(pick(record, format.model));
    if (model.length > MAX_MODEL_CHARS)
      throw new Error(`has a model of more than ${MAX_MODEL_CHARS} characters in line ${number}`);
    return day === undefined || amount === '' ? undefined : { number, day, model, amount };
  });
  const entries = read.filter((entry) => entry !== undefined);
  const readAmount = amountReader(entries, delimiter);
  const lines = await mapInSlices(entries, ({ number, day, model, amount }) => ({
    day,
    model,
    usd: readAmount(amount, number),
  }));
  return { format: format.name, lines, skipped: records.length - lines.length };
}

/** Rows as lists: objects with a member for each column would multiply the work by the width of the header. */
async function readRecords(csv: string, delimiter: string): Promise<string[][]> {
  const parser = parse({
    bom: true,
    delimiter,
    max_record_size: MAX_LINE_CHARS,
    relax_column_count: true,
    skip_empty_lines: true,
    to: MAX_LINES + 2,
    trim: true,
  });
  const records: string[][] = [];
  const ended = new Promise<void>((resolve, reject) => {
    parser
      .on('data', (record: string[]) => records.push(record))
      .on('end', resolve)
      .on('error', reject);
  });
  // Awaited below; an error before that must not count as unhandled.
  ended.catch(() => undefined);
  const bytes = Buffer.from(csv);
  for (let from = 0; from < bytes.length && parser.writable; from += CHUNK_BYTES) {
    parser.write(bytes.subarray(from, from + CHUNK_BYTES));
    await nextSlice();
  }
  if (parser.writable) parser.end();
  await ended;
  return records;
}

/** The one that the header has most often outside of quotes: other lines may contain the others in texts and numbers. */
function findDelimiter(csv: string): string {
  const header = /^[\s\uFEFF]*([^\r\n]*)/.exec(csv.slice(0, MAX_LINE_CHARS))?.[1] ?? '';
  const unquoted = header.replace(/"[^"]*"/g, '');
  const count = (delimiter: string) => unquoted.split(delimiter).length;
  return DELIMITERS.reduce((best, next) => (count(next) > count(best) ? next : best));
}

/** A UTC day from 2000 to 2099; undefined for a line that names none, as a line of totals. */
function dayIn(text: string, number: number): string | undefined {
  const [day] = /^\d{4}-\d{2}-\d{2}(?!\d)/.exec(text) ?? [];
  if (day === undefined) return undefined;
  const time = Date.parse(`${day}T00:00:00Z`);
  if (!/^20/.test(day) || Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== day)
    throw new Error(`has the day ${day} in line ${number}; expected a day from 2000-01-01 to 2099-12-31`);
  return day;
}

/** OpenAI names what a line charges after the model: `gpt-4o-2024-08-06, input`. */
function modelIn(lineItem: string): string {
  return (lineItem.split(',')[0] ?? '').trim();
}

const AMOUNT = /^-?\d[\d.,' \u00a0\u202f]*$/;

/** Currency signs and spaces around the number; a minus or parentheses for a credit. */
function stripCurrency(amount: string): string {
  const credit = /^\((.*)\)$/.exec(amount)?.[1];
  const text = (credit === undefined ? amount : `-${credit}`).replace(/US\$|USD|\$/i, '').trim();
  return text
    .replace(/^-\s+/, '-')
    .replace(/^([-+]?)[.,](?=\d)/, '$10.')
    .replace(/^\+/, '');
}

/**
 * Returns what reads the amounts of a file. All its lines write numbers alike, so one line that can only be read in one
 * way decides for those that could be read in two: `1,234` is 1.234 beside `12,5` and 1234 beside `1,234.56`.
 */
function amountReader(entries: readonly Entry[], delimiter: string): (amount: string, number: number) => number {
  const decimals = new Map<',' | '.', number>();
  let ambiguous: Entry | undefined;
  for (const entry of entries) {
    const decimal = decimalIn(stripCurrency(entry.amount), delimiter);
    if (decimal === 'either') ambiguous ??= entry;
    else if (decimal !== undefined && !decimals.has(decimal)) decimals.set(decimal, entry.number);
  }
  const [comma, dot] = [decimals.get(','), decimals.get('.')];
  if (comma !== undefined && dot !== undefined)
    throw new Error(`has a decimal comma in line ${comma} and a decimal point in line ${dot}; write all amounts alike`);
  if (ambiguous !== undefined && comma === undefined && dot === undefined) {
    const { amount, number } = ambiguous;
    throw new Error(
      `has the amount ${amount} in line ${number}, which can be read in two ways; write it with a point and without thousands separators`,
    );
  }
  const decimal = comma === undefined ? '.' : ',';
  return (amount, number) => {
    const text = stripCurrency(amount);
    const [whole = '', fraction, ...more] = text.split(decimal);
    const digits = whole.replace(/[.,' \u00a0\u202f]/g, '');
    const usd = Number(fraction === undefined ? digits : `${digits}.${fraction}`);
    const isGrouped = !/[.,]/.test(whole) || /^-?\d{1,3}([.,]\d{3})+$/.test(whole);
    if (/^-?\d+(\.\d+)?e[-+]?\d+$/i.test(text)) return Number(text);
    if (!AMOUNT.test(text) || more.length > 0 || !isGrouped || !Number.isFinite(usd))
      throw new Error(`has the amount ${amount.slice(0, 50)} in line ${number}, which is no number of US dollars`);
    return usd;
  };
}

/** The decimal separator of a number; `either` if it can be read with both, undefined if it has none. */
function decimalIn(text: string, delimiter: string): ',' | '.' | 'either' | undefined {
  if (!AMOUNT.test(text)) return undefined;
  const last = text.match(/[.,](?=[^.,]*$)/)?.[0];
  if (last !== ',' && last !== '.') return undefined;
  const other = last === ',' ? '.' : ',';
  if (text.includes(other)) return last;
  // `1,234,567` has groups of thousands.
  if (text.indexOf(last) !== text.lastIndexOf(last)) return other;
  if (!/^-?[1-9]\d{0,2}[.,]\d{3}$/.test(text)) return last;
  // Where commas separate columns, a point before three digits is a decimal point: `1.234`.
  return last === '.' && delimiter === ',' ? undefined : 'either';
}
