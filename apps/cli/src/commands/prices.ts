import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import type { AnswerOf, DefineCommand } from '../context.ts';
import { CommandError, EXIT, usageError } from '../errors.ts';
import { withProgress } from '../output/output.ts';
import { type Column, details, instant, plainText, table, usd } from '../output/table.ts';
import { count, documentOf, instantBefore, textOf } from '../parse.ts';

type Override = AnswerOf<'listPriceOverrides'>['overrides'][number];

const OVERRIDE_COLUMNS: readonly Column<Override>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'model', value: ({ model }) => model },
  { title: 'provider', value: ({ provider }) => provider ?? 'any' },
  { title: 'from', value: ({ fromDay }) => fromDay },
  { title: 'input', value: ({ rates }) => rates && usd(rates.input), align: 'right' },
  { title: 'output', value: ({ rates }) => rates && usd(rates.output), align: 'right' },
  { title: 'factor', value: ({ factor }) => factor, align: 'right' },
];

function tableLine({ version, source, ageDays }: AnswerOf<'getPrices'>['table']): string {
  return `Price table ${version} (${source}), ${ageDays} days old`;
}

export const listPrices: DefineCommand = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const { table: priceTable } = await client.getPrices({});
    const { overrides } = await client.listPriceOverrides();
    const { output } = context;
    output.print({ table: priceTable, overrides }, () => {
      const own =
        overrides.length === 0
          ? 'No own prices.'
          : `Own prices, USD per million tokens:\n${table(overrides, OVERRIDE_COLUMNS, output.layout)}`;
      return `${tableLine(priceTable)}\n\n${own}`;
    });
  });
};

export const explainPrice: DefineCommand = (command, context) => {
  command
    .argument('<model>', 'name of the model, as agents send it')
    .option('--provider <name>', 'provider, as agents send it')
    .option('--at <time>', 'the price at this time', instantBefore(context.host.nowMs))
    .action(async (model, { provider, at }) => {
      const client = await context.connect();
      const answer = await client.getPrices({ query: { model, provider, at } });
      const { output } = context;
      output.print(answer, () => {
        const { price } = answer;
        const { listed, reason, priceRef, source, estimateUsdPerMillionInput: estimate } = price ?? {};
        const rates = Object.entries(listed?.rates ?? {}).map(([kind, rate]) => `${kind} ${JSON.stringify(rate)}`);
        const members = [
          ['Price', source === 'none' ? `none: ${reason}` : priceRef],
          ['Listed as', listed && `${listed.provider}/${listed.model}`],
          ['USD per million', rates.join(', ')],
          ['Budgets count', estimate === undefined ? undefined : `${usd(estimate)} per million input tokens`],
        ] as const;
        const own = price?.overrides ?? [];
        const others = own.length === 0 ? '' : `\n\n${table(own, OVERRIDE_COLUMNS, output.layout)}`;
        return `${details(members, output.paint)}${others}\n\n${tableLine(answer.table)}`;
      });
    });
};

export const setPrice: DefineCommand = (command, context) => {
  command
    .argument('<model>', 'name of the model; * matches any characters')
    .option('--provider <name>', 'only calls of this provider')
    .option('--from <day>', 'first UTC day, such as 2026-11-01; default today')
    .option('--input <usd>', 'USD per million input tokens', rate)
    .option('--output <usd>', 'USD per million output tokens', rate)
    .option('--cache-read <usd>', 'USD per million cached input tokens', rate)
    .option('--cache-write <usd>', 'USD per million tokens written to the cache', rate)
    .option('--factor <number>', 'what a contract charges relative to the price, such as 0.85', rate)
    .action(async (model, { provider, from, input, output: out, cacheRead, cacheWrite, factor }) => {
      const isHalf = (input === undefined) !== (out === undefined);
      if (isHalf) throw usageError('--input and --output belong together.');
      if (input === undefined && factor === undefined) throw usageError('Give --input and --output, or --factor.');
      const rates =
        input === undefined || out === undefined ? undefined : { input, output: out, cacheRead, cacheWrite };
      const fromDay = from ?? new Date(context.host.nowMs()).toISOString().slice(0, 10);
      const client = await context.connect();
      const set = await client.setPriceOverride({ body: { model, provider, fromDay, rates, factor } });
      context.output.print(set, () => table([set], OVERRIDE_COLUMNS, context.output.layout));
    });
};

export const deletePrice: DefineCommand = (command, context) => {
  command.argument('<id>', 'the own price').action(async (id) => {
    await context.confirm(`Delete the own price ${id}? Stored costs stay until they are repriced.`);
    const client = await context.connect();
    const answer = await client.deletePriceOverride({ params: { id } });
    context.output.print(answer, () => `Deleted ${id}`);
  });
};

export const updatePrices: DefineCommand = (command, context) => {
  command
    .requiredOption('--from <file>', 'data.json of genai-prices, version 2; - for stdin')
    .option('--table-version <name>', 'a name for the table; default: the time of loading')
    .action(async ({ from, tableVersion }) => {
      const providers = await documentOf(from, context.host);
      if (!Array.isArray(providers)) throw usageError(`${from} is no price table: it must be an array of providers.`);
      const version = tableVersion ?? new Date(context.host.nowMs()).toISOString().slice(0, 19);
      const client = await context.connect();
      const answer = await client.loadPriceTable({ body: { version, providers } });
      context.output.print(answer, () => `${tableLine(answer.table)}, ${answer.models} models`);
    });
};

type Unpriced = AnswerOf<'getUnpricedUsage'>['models'][number];

const UNPRICED_COLUMNS: readonly Column<Unpriced>[] = [
  { title: 'model', value: ({ model }) => model },
  { title: 'provider', value: ({ provider }) => provider },
  { title: 'reason', value: ({ reason }) => reason },
  { title: 'calls', value: ({ calls }) => calls, align: 'right' },
  { title: 'tokens in', value: ({ inputTokens }) => inputTokens, align: 'right' },
  { title: 'tokens out', value: ({ outputTokens }) => outputTokens, align: 'right' },
  { title: 'last', value: ({ lastAt }) => instant(lastAt) },
  { title: 'like', value: ({ proposal }) => proposal?.basedOn },
];

export const unpricedModels: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command.option('--from <time>', 'start: an instant, a date or an age; default 30d', when).action(async ({ from }) => {
    const client = await context.connect();
    const answer = await client.getUnpricedUsage({ query: { from } });
    const { output } = context;
    output.print(answer, () =>
      answer.models.length === 0 ? 'Every call has a price.' : table(answer.models, UNPRICED_COLUMNS, output.layout),
    );
  });
};

type Repriced = AnswerOf<'getReprice'>['byModel'][number];

const REPRICED_COLUMNS: readonly Column<Repriced>[] = [
  { title: 'model', value: ({ model }) => model },
  { title: 'provider', value: ({ provider }) => provider },
  { title: 'calls', value: ({ calls }) => calls, align: 'right' },
  { title: 'changed', value: ({ changed }) => changed, align: 'right' },
  { title: 'before', value: ({ oldUsd }) => usd(oldUsd), align: 'right' },
  { title: 'after', value: ({ newUsd }) => usd(newUsd), align: 'right' },
  { title: 'unpriced', value: ({ unpriced }) => unpriced, align: 'right' },
];

const POLL_MS = 500;

export const reprice: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .requiredOption('--from <time>', 'start: an instant, a date or an age such as 30d', when)
    .option('--to <time>', 'end: an instant, a date or an age; default now', when)
    .option('--model <name...>', 'only calls of these models')
    .option('--only-unpriced', 'only calls without a known cost')
    .option('--dry-run', 'show what would change, and change nothing')
    .action(async ({ from, to, model: models, onlyUnpriced = false, dryRun = false }) => {
      const end = to ?? new Date(context.host.nowMs()).toISOString();
      if (!dryRun) await context.confirm('Recalculate stored costs with the prices of the time of each call?');
      const client = await context.connect();
      const begun = await client.createReprice({ body: { from, to: end, models, onlyUnpriced, dryRun } });
      const { output } = context;
      const finished = async () => {
        let current = begun;
        while (current.state === 'running') {
          await delay(POLL_MS, undefined, { signal: context.host.signal });
          current = await client.getReprice({ params: { id: current.id } });
        }
        return current;
      };
      const job = await withProgress(output, 'repricing', finished());
      if (job.state === 'failed') throw new CommandError(job.error ?? 'The reprice failed.', { exitCode: EXIT.failed });
      output.print(job, () => repriceText(job, output.layout));
    });
};

function repriceText(job: AnswerOf<'getReprice'>, layout: Parameters<typeof table>[2]): string {
  const done = job.dryRun ? 'would change' : 'changed';
  const sign = job.deltaUsd < 0 ? '-' : '+';
  const head = `${job.changed} of ${job.calls} calls ${done}: ${sign}${usd(Math.abs(job.deltaUsd))}`;
  const models = job.byModel.length === 0 ? '' : `\n\n${table(job.byModel, REPRICED_COLUMNS, layout)}`;
  return `${head}${models}\n\n${job.notes.join('\n')}`;
}

type Compared = AnswerOf<'checkInvoice'>['byModel'][number];

const COMPARED_COLUMNS: readonly Column<Compared>[] = [
  { title: 'model', value: ({ model }) => model },
  { title: 'invoice', value: ({ invoicedUsd }) => usd(invoicedUsd), align: 'right' },
  { title: 'recorded', value: ({ recordedUsd }) => usd(recordedUsd), align: 'right' },
  { title: 'difference', value: ({ differenceUsd }) => differenceUsd.toFixed(2), align: 'right' },
];

const UNSEEN_COLUMNS: readonly Column<AnswerOf<'checkInvoice'>['unseen'][number]>[] = [
  { title: 'day', value: ({ day }) => day },
  { title: 'model', value: ({ model }) => model },
  { title: 'invoice', value: ({ invoicedUsd }) => usd(invoicedUsd), align: 'right' },
];

export const checkInvoiceFile: DefineCommand = (command, context) => {
  command
    .argument('<file>', 'cost export of OpenAI or Anthropic, or a CSV with day, model and cost; - for stdin')
    .option('--provider <name>', 'compare only calls of this provider')
    .option('--fail-under <percent>', 'fail if recorded calls explain less of the invoice', count)
    .action(async (file, { provider, failUnder }) => {
      const csv = await textOf(file, context.host);
      const client = await context.connect();
      const answer = await client.checkInvoice({ body: { csv, provider } });
      const { output } = context;
      output.print(answer, () => {
        const { explainedPercent, total, from, to, byModel, unseen, skippedLines } = answer;
        const head = `${explainedPercent} % of the invoice explained: ${usd(total.invoicedUsd)} invoiced, ${usd(total.recordedUsd)} recorded, ${from} to ${to}`;
        const skipped = skippedLines === 0 ? '' : `\n${skippedLines} lines without a day or a cost were skipped`;
        const rest = unseen.length === 0 ? '' : `\n\nNever seen:\n${table(unseen, UNSEEN_COLUMNS, output.layout)}`;
        return `${head}${skipped}\n\n${table(byModel, COMPARED_COLUMNS, output.layout)}${rest}`;
      });
      if (failUnder !== undefined && answer.explainedPercent < failUnder) {
        const what = `Recorded calls explain ${answer.explainedPercent} % of ${plainText(file)}, less than ${failUnder} %.`;
        throw new CommandError(what, { exitCode: EXIT.failed });
      }
    });
};

/** Parses a number of USD or a factor: not negative. */
function rate(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError('Must be a number of at least 0, such as 2.5.');
}
