import { DAY_MS } from '@agentlens/contracts';
import { ProblemException, runInSlices } from '@agentlens/platform';
import { modelNames, readModelName } from '@agentlens/prices';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';
import { type Invoice, type InvoiceLine, readInvoice } from './invoice.ts';

const MAX_DAYS = 366;
const MAX_UNSEEN = 100;
/** The answer has a row for each. */
const MAX_MODELS = 2_000;

type RecordedRow = { day: string; model: string; usd: number };

/** Compares invoices of providers with recorded costs. Stores nothing. */
@Injectable()
export class InvoiceQueries {
  constructor(private readonly reads: TenantReads) {}

  /** @throws ProblemException 422 if the file cannot be read */
  async check(tenantId: string, { csv, provider }: { readonly csv: string; readonly provider?: string | undefined }) {
    const { format, lines, skipped } = await invoiceOr422(csv);
    const days = [...new Set(lines.map(({ day }) => day))].sort();
    const [from = '', to = from] = [days[0], days.at(-1)];
    if (Date.parse(to) - Date.parse(from) > MAX_DAYS * DAY_MS) throw unreadable(`spans more than ${MAX_DAYS} days`);
    const { rows } = await this.reads.read(tenantId, (db) =>
      sql<RecordedRow>`
        select to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD') as day, coalesce(model, '') as model,
          sum(cost_usd)::float8 as usd
        from events
        where tenant_id = ${tenantId} and cost_usd > 0 and occurred_at >= ${from}::date::timestamp at time zone 'UTC'
          and occurred_at < (${to}::date + 1)::timestamp at time zone 'UTC'
          ${provider === undefined ? sql`` : sql`and provider = ${provider}`}
        group by 1, 2`.execute(db),
    );
    return { format, from, to, skippedLines: skipped, ...(await compare(lines, rows)) };
  }
}

async function invoiceOr422(csv: string): Promise<Invoice> {
  try {
    const invoice = await readInvoice(csv);
    if (invoice.lines.length === 0) throw new Error('has no line with a day and a cost');
    if (new Set(invoice.lines.map(({ model }) => model)).size > MAX_MODELS)
      throw new Error(`names more than ${MAX_MODELS} models; check the column of the model`);
    return invoice;
  } catch (error) {
    throw unreadable(error instanceof Error ? error.message : 'is no CSV');
  }
}

function unreadable(why: string): ProblemException {
  return new ProblemException(422, 'The file cannot be compared', {
    details: [{ path: 'csv', message: why }],
    hint: 'Send a CSV file with a header line and the columns day, model and cost.',
  });
}

/** Sums of both sides by a key. */
class Sides {
  readonly #sums = new Map<string, { invoiced: number; recorded: number }>();

  add(key: string, side: 'invoiced' | 'recorded', usd: number): void {
    const sums = this.#sums.get(key) ?? { invoiced: 0, recorded: 0 };
    sums[side] += usd;
    this.#sums.set(key, sums);
  }

  entries(): readonly (readonly [string, ReturnType<typeof difference>])[] {
    return [...this.#sums].map(([key, { invoiced, recorded }]) => [key, difference(invoiced, recorded)] as const);
  }
}

/** Compares in slices: an invoice may have 50,000 lines. */
export async function compare(lines: readonly InvoiceLine[], rows: readonly RecordedRow[]) {
  const [byDay, byModel, cells] = [new Sides(), new Sides(), new Sides()];
  const names = new Map<string, string>();
  const add = (side: 'invoiced' | 'recorded', { day, model, usd }: RecordedRow) => {
    const name = names.get(model) ?? plainName(model);
    names.set(model, name);
    byDay.add(day, side, usd);
    byModel.add(name, side, usd);
    cells.add(`${day} ${name}`, side, usd);
  };
  await runInSlices(
    (function* () {
      for (const line of lines) yield add('invoiced', line);
      for (const row of rows) yield add('recorded', row);
    })(),
  );
  const invoiced = sum(lines);
  const explained = cells.entries().reduce((all, [, { invoicedUsd, recordedUsd }]) => {
    return all + Math.max(0, Math.min(invoicedUsd, recordedUsd));
  }, 0);
  const unseen = cells.entries().flatMap(([cell, { invoicedUsd, recordedUsd }]) => {
    const [day = '', ...model] = cell.split(' ');
    return recordedUsd > 0 || invoicedUsd <= 0 ? [] : [{ day, model: model.join(' '), invoicedUsd }];
  });
  return {
    total: difference(invoiced, sum(rows)),
    explainedPercent: invoiced <= 0 ? 100 : Math.min(100, Math.round((explained / invoiced) * 10_000) / 100),
    byDay: byDay
      .entries()
      .map(([day, sides]) => ({ day, ...sides }))
      .sort((one, other) => (one.day < other.day ? -1 : 1)),
    byModel: byModel
      .entries()
      .map(([model, sides]) => ({ model, ...sides }))
      .sort((one, other) => Math.abs(other.differenceUsd) - Math.abs(one.differenceUsd)),
    unseen: unseen.sort((one, other) => other.invoicedUsd - one.invoicedUsd).slice(0, MAX_UNSEEN),
  };
}

/**
 * A provider and a gateway write one model in several ways: without its host, without the day of its release, and as
 * people name it.
 */
function plainName(model: string): string {
  const name = modelNames(model.toLowerCase(), undefined).at(-1)?.modelId ?? model.toLowerCase();
  const undated = name.replace(/[-@](\d{8}|\d{4}-\d{2}-\d{2})(?=$|[-:])/, '').replace(/-v\d+(:\d+)?$/, '');
  return readModelName(undated);
}

function difference(invoicedUsd: number, recordedUsd: number) {
  return { invoicedUsd, recordedUsd, differenceUsd: recordedUsd - invoicedUsd };
}

function sum(all: readonly { readonly usd: number }[]): number {
  return all.reduce((total, { usd }) => total + usd, 0);
}
