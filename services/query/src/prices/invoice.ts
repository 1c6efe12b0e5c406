import { parse } from 'csv-parse/sync';

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

/** Bounds the work of one check. */
const MAX_LINES = 50_000;

/** @throws Error if the text is no CSV, has no known columns, or has too many lines */
export function readInvoice(csv: string): Invoice {
  const records = parse(csv, {
    ...{ bom: true, columns: (names: string[]) => names.map((name) => name.trim().toLowerCase()) },
    ...{ skip_empty_lines: true, relax_column_count: true, trim: true, to: MAX_LINES + 1 },
    delimiter: [',', ';', '\t'],
  }) as Readonly<Record<string, string | undefined>>[];
  if (records.length > MAX_LINES) throw new Error(`has more than ${MAX_LINES} lines; send one month at a time`);
  const [first] = records;
  if (first === undefined) throw new Error('has no line below its header');
  const format = FORMATS.find(({ day, cost }) => [day, cost].every((names) => names.some((name) => name in first)));
  if (format === undefined) {
    throw new Error('has no known columns; expected day, model and cost, or a cost export of OpenAI or Anthropic');
  }
  const lines = records.flatMap((record) => lineOf(record, format) ?? []);
  return { format: format.name, lines, skipped: records.length - lines.length };
}

function lineOf(record: Readonly<Record<string, string | undefined>>, format: Format): InvoiceLine | undefined {
  const day = /^\d{4}-\d{2}-\d{2}/.exec(pick(record, format.day) ?? '')?.[0];
  const text = pick(record, format.cost)?.replace(/^\$/, '') ?? '';
  const usd = text === '' ? Number.NaN : Number(text);
  if (day === undefined || !Number.isFinite(usd)) return undefined;
  return { day, model: modelOf(pick(record, format.model) ?? ''), usd };
}

function pick(record: Readonly<Record<string, string | undefined>>, names: readonly string[]): string | undefined {
  return names.map((name) => record[name]).find((value) => value !== undefined && value !== '');
}

/** OpenAI names what a line charges after the model: `gpt-4o-2024-08-06, input`. */
function modelOf(lineItem: string): string {
  return (lineItem.split(',')[0] ?? '').trim();
}
