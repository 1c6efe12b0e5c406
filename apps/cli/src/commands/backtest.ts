import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@agentlens/client';
import type { FileRule } from '@agentlens/replay';
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { AnswerOf, DefineCommand } from '../context.ts';
import { CommandError } from '../errors.ts';
import { plainText } from '../output/table.ts';
import { instantBefore } from '../parse.ts';
import { readRuleset } from '../rule-files/read-ruleset.ts';
import { findingsReport, type RuleReport } from '../rule-files/test-reports.ts';

type Backtest = AnswerOf<'getBacktest'>;
const FORMATS = ['text', 'junit', 'github', 'markdown'] as const;
const POLL_MS = 1_000;
const UNFINISHED: readonly string[] = ['queued', 'running'];

interface Tested {
  readonly rule: FileRule;
  readonly job: Backtest;
}

export const backtestRules: DefineCommand = (command, context) => {
  command
    .argument('<paths...>', 'files of one ruleset, or folders that contain them')
    .option('--since <age>', 'start of the history, such as 7d; at most 31d', instantBefore(Date.now))
    .option('--fail-over <rate>', 'fail if a rule would stop more than this share of the calls, such as 0.02', share)
    .option('--fail-over-false <rate>', 'fail if more than this share would be false rejections', share)
    .addOption(new Option('--format <format>', 'output format').choices(FORMATS).default('text' as const))
    .action(async (paths, { since, failOver, failOverFalse, format }) => {
      const ruleset = await readRuleset(paths, context);
      const client = await context.connect();
      const inForce = await client.listRules({ query: { limit: 500 } });
      const ids = new Map(inForce.rules.map((rule) => [rule.key ?? '', rule.id]));
      const tested: Tested[] = [];
      for (const rule of ruleset.rules) {
        context.output.note(`Testing ${rule.key}`);
        const ruleId = ids.get(rule.key);
        const body = { rule: { ...rule.draft }, ...(ruleId && { ruleId }), ...(since && { from: since }) };
        tested.push({
          rule,
          job: await finished(client, (await client.createBacktest({ body })).id, context.host.signal),
        });
      }
      const reports = tested.map((one) => reportOf(one, failOver, failOverFalse));
      context.output.print(
        tested.map(({ rule, job }) => ({ key: rule.key, ...job })),
        () => (format === 'markdown' ? markdownOf(tested, reports) : findingsReport(reports, format)),
      );
      const failed = reports.filter(({ failures }) => failures.length > 0).length;
      if (failed > 0) throw new CommandError(`${failed} of ${reports.length} rules exceed a bound.`);
    });
};

function share(text: string): number {
  const rate = Number(text);
  if (text.trim() !== '' && rate >= 0 && rate <= 1) return rate;
  throw new InvalidArgumentError('It must be a share from 0 to 1, such as 0.02.');
}

async function finished(client: Client, id: string, signal: AbortSignal): Promise<Backtest> {
  for (;;) {
    const job = await client.getBacktest({ params: { id } });
    if (!UNFINISHED.includes(job.status)) return job;
    await delay(POLL_MS, undefined, { signal });
  }
}

function reportOf({ rule, job }: Tested, failOver: number | undefined, failOverFalse: number | undefined): RuleReport {
  const { result } = job;
  const failures: string[] = [];
  if (result === undefined || job.status !== 'succeeded') {
    failures.push(job.error ?? `The backtest ended as ${job.status}`);
  } else {
    const stopRate = stopRateOf(result);
    const { rate } = result.falseRejections;
    if (failOver !== undefined && stopRate > failOver)
      failures.push(`would stop ${percent(stopRate)} of the calls; the bound is ${percent(failOver)}`);
    if (failOverFalse !== undefined && rate !== null && rate > failOverFalse)
      failures.push(`${percent(rate)} of the calls would be false rejections; the bound is ${percent(failOverFalse)}`);
  }
  return { name: rule.key, file: rule.file, line: rule.line, summary: summaryOf(job), failures };
}

type Result = NonNullable<Backtest['result']>;

function stopRateOf({ asked, blocked, wouldAsk }: Result): number {
  return asked === 0 ? 0 : (blocked + wouldAsk) / asked;
}

function summaryOf({ status, result }: Backtest): string {
  if (result === undefined) return status;
  const { asked, blocked, wouldAsk, triggers, falseRejections, misses, coverage } = result;
  if (triggers > 0 || asked === 0) return `${triggers} triggers, ${misses.count} runs missed`;
  return (
    `${blocked + wouldAsk} of ${asked} calls (${percent(stopRateOf(result))}), ` +
    `${falseRejections.count} false rejections of ${falseRejections.judged} judged, ${coverage.percent} % judged`
  );
}

/** A table for a pull request. */
function markdownOf(tested: readonly Tested[], reports: readonly RuleReport[]): string {
  const rows = tested.map(({ rule, job }, at) => {
    const { result } = job;
    const mark = reports[at]?.failures.length === 0 ? 'ok' : '**over its bound**';
    if (result === undefined) return `| ${plainText(rule.key)} | ${job.status} | | | | ${mark} |`;
    const { blocked, wouldAsk, triggers, falseRejections, compared, coverage } = result;
    const change = compared === null ? 'new' : `+${compared.onlyDraft} −${compared.onlyInForce}`;
    const stops = `${blocked + wouldAsk + triggers} (${percent(stopRateOf(result))})`;
    return `| ${plainText(rule.key)} | ${stops} | ${falseRejections.count} of ${falseRejections.judged} | ${change} | ${coverage.percent} % | ${mark} |`;
  });
  return [
    '### Backtest',
    '',
    '| Rule | Stops | False rejections | Against the version in force | Judged | |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function percent(rate: number): string {
  return `${Number((rate * 100).toPrecision(3))} %`;
}
