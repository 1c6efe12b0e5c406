import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@agentlens/client';
import type { FileRule } from '@agentlens/replay';
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { AnswerOf, DefineCommand } from '../context.ts';
import { CommandError } from '../errors.ts';
import { plainText } from '../output/table.ts';
import { instantBefore } from '../parse.ts';
import { readRuleset, readRulesetAt } from '../rule-files/read-ruleset.ts';
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
    .option(
      '--against <commit>',
      'compare with the files of this commit, such as origin/main; skip rules it has unchanged',
    )
    .option('--fail-over <rate>', 'fail if a rule would stop more than this share of the calls, such as 0.02', share)
    .option('--fail-over-false <rate>', 'fail if more than this share would be false rejections', share)
    .addOption(new Option('--format <format>', 'output format').choices(FORMATS).default('text' as const))
    .action(async (paths, { since, against, failOver, failOverFalse, format }) => {
      const ruleset = await readRuleset(paths, context);
      const base = against === undefined ? undefined : ((await readRulesetAt(against, paths, context))?.rules ?? []);
      const client = await context.connect();
      const bodyOf = base === undefined ? await besideInForce(client) : (rule: FileRule) => besideFile(rule, base);
      const tested: Tested[] = [];
      for (const rule of ruleset.rules) {
        const body = bodyOf(rule);
        context.output.note(body === undefined ? `${rule.key} is as in ${against}` : `Testing ${rule.key}`);
        if (body === undefined) continue;
        const { id } = await client.createBacktest({ body: { ...body, ...(since && { from: since }) } });
        tested.push({ rule, job: await finished(client, id, context.host.signal) });
      }
      const reports = tested.map((one) => reportOf(one, failOver, failOverFalse));
      context.output.print(
        tested.map(({ rule, job }) => ({ key: rule.key, ...job })),
        () =>
          format === 'markdown'
            ? markdownOf(tested, reports, against ?? 'the version in force')
            : findingsReport(reports, format),
      );
      const failed = reports.filter(({ failures }) => failures.length > 0).length;
      if (failed > 0) throw new CommandError(`${failed} of ${reports.length} rules exceed a bound.`);
    });
};

type Body = NonNullable<NonNullable<Parameters<Client['createBacktest']>[0]>['body']>;

/** Compares a rule with the version in force. */
async function besideInForce(client: Client): Promise<(rule: FileRule) => Body> {
  const { rules } = await client.listRules({ query: { limit: 500 } });
  const ids = new Map(rules.map(({ key, id }) => [key ?? '', id]));
  return ({ key, draft }) => {
    const ruleId = ids.get(key);
    return { rule: { ...draft }, ...(ruleId && { ruleId }) };
  };
}

/** Compares a rule with the same rule of other files. @returns undefined if it is unchanged */
function besideFile({ key, draft }: FileRule, others: readonly FileRule[]): Body | undefined {
  const against = others.find((one) => one.key === key)?.draft;
  if (against === undefined) return { rule: { ...draft } };
  return isDeepStrictEqual(draft, against) ? undefined : { rule: { ...draft }, against: { ...against } };
}

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
  return { name: rule.key, file: rule.file, line: rule.line, summary: summaryOf(rule, job), failures };
}

type Result = NonNullable<Backtest['result']>;

function stopRateOf({ asked, blocked, wouldAsk }: Result): number {
  return asked === 0 ? 0 : (blocked + wouldAsk) / asked;
}

/** Actions of rules that decide about calls; other rules are triggered by events. */
const CALL_ACTIONS: readonly string[] = ['allow', 'block', 'modify_arguments', 'require_approval', 'terminate_run'];

function summaryOf({ draft }: FileRule, { status, result }: Backtest): string {
  if (result === undefined) return status;
  const { asked, blocked, wouldAsk, triggers, falseRejections, misses, coverage, compared } = result;
  const isAboutCalls = CALL_ACTIONS.includes(draft.actionType);
  const happened = result.happened?.[isAboutCalls ? 'stopped' : 'triggers'];
  const change =
    (happened === undefined ? '' : `, ${happened} really happened`) +
    (compared === null ? '' : `, ${changeOf(compared)}`);
  if (!isAboutCalls) return `${triggers} triggers${change}, ${misses.count} runs missed`;
  if (asked === 0) return `no call in this time is one that the rule is about${change}, ${misses.count} runs missed`;
  const unjudged = coverage.causes.map(({ cause, calls }) => `${calls} not: ${UNJUDGED[cause] ?? cause}`).join('; ');
  return (
    `${blocked + wouldAsk} of ${asked} calls (${percent(stopRateOf(result))})${change}, ` +
    `${falseRejections.count} false rejections of ${falseRejections.judged} judged, ` +
    `${coverage.percent} % of the calls judged${unjudged === '' ? '' : ` (${unjudged})`}, ${misses.count} runs missed`
  );
}

/** Why calls cannot be judged, by the cause in the result. */
const UNJUDGED: Readonly<Record<string, string>> = {
  arguments: 'their arguments are not kept',
  result: 'their results are not kept',
  metrics: 'their metrics are not kept',
  subjects: 'their subjects are not kept',
  tags: 'the tags of their tools are not known',
  unavailable: 'what the rule counts is not known for them',
  error: 'the rule failed on them',
};

function changeOf({ onlyDraft, onlyInForce }: NonNullable<Result['compared']>): string {
  return `+${onlyDraft} −${onlyInForce}`;
}

/** A table for a pull request. */
function markdownOf(tested: readonly Tested[], reports: readonly RuleReport[], against: string): string {
  const rows = tested.map(({ rule, job }, at) => {
    const { result } = job;
    const mark = reports[at]?.failures.length === 0 ? 'ok' : '**over its bound**';
    if (result === undefined) return `| ${plainText(rule.key)} | ${job.status} | | | | ${mark} |`;
    const { blocked, wouldAsk, triggers, falseRejections, compared, coverage } = result;
    const change = compared === null ? 'new' : changeOf(compared);
    const stops = `${blocked + wouldAsk + triggers} (${percent(stopRateOf(result))})`;
    return `| ${plainText(rule.key)} | ${stops} | ${falseRejections.count} of ${falseRejections.judged} | ${change} | ${coverage.percent} % | ${mark} |`;
  });
  return [
    '### Backtest',
    '',
    `| Rule | Stops | False rejections | Against ${plainText(against)} | Judged | |`,
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function percent(rate: number): string {
  return `${Number((rate * 100).toPrecision(3))} %`;
}
