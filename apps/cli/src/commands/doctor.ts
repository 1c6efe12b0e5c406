import { type Client, ProblemError } from '@agentlens/client';
import { buildNpx } from '@agentlens/contracts/packages';
import type { AnswerOf, CommandContext, DefineCommand } from '../context.ts';
import { CommandError, EXIT } from '../errors.ts';
import { withProgress } from '../output/output.ts';
import { type Paint, type Tone } from '../output/style.ts';
import { duration, plainText } from '../output/table.ts';
import { chooseKey, clientWith, interruptible, type PlatformClientOptions } from '../platform-client.ts';
import { PROGRAM } from '../program-name.ts';

/** Result of one check of `agentlens doctor`. */
export interface Finding {
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly what: string;
  /** What to do about it. */
  readonly advice?: string;
  /** Exit code of a failed check. */
  readonly exitCode?: number;
}

/** Webhook signatures expire after minutes, but wrong times in lists mislead people much earlier. */
const NOTICED_MS = 5_000;

/**
 * Compares this machine's clock with the platform's. The response was written at `platformNow`, some time between
 * `askedMs` and `answeredMs` on this machine.
 */
export function checkClock(platformNow: string, askedMs: number, answeredMs: number): Finding {
  const platformMs = Date.parse(platformNow);
  const apartMs = platformMs < askedMs ? askedMs - platformMs : Math.max(0, platformMs - answeredMs);
  if (apartMs <= NOTICED_MS) return { check: 'clock', result: 'ok', what: 'agrees with the platform' };
  const direction = platformMs < askedMs ? 'ahead of' : 'behind';
  return {
    check: 'clock',
    result: 'warning',
    what: `this machine is ${duration(apartMs)} ${direction} the platform`,
    advice: 'Synchronise the clocks (NTP): absolute times, and relative ones such as --from 1h, are off by this much.',
  };
}

/** Checks that AgentLens, not another program, answers at the address. */
async function checkConnection(options: PlatformClientOptions): Promise<Finding> {
  const { url, urlSource } = options.connection;
  const fail = (what: string, advice: string): Finding => {
    return { check: 'connection', result: 'failed', what, advice, exitCode: EXIT.unreachable };
  };
  const setBy = `The address comes from ${urlSource}.`;
  try {
    const startedMs = performance.now();
    const signal = AbortSignal.timeout(options.timeoutMs);
    const answer = await interruptible(options)(`${url}/api/health`, { signal });
    const tookMs = Math.round(performance.now() - startedMs);
    const text = await answer.text();
    const type = answer.headers.get('content-type') ?? 'no content type';
    if (!type.startsWith('application/json')) {
      const what = `${url} answered ${answer.status} with ${type}, which is not the AgentLens API`;
      return fail(what, `${setBy} Another program or a proxy's sign-in page answers there. Is a path prefix missing?`);
    }
    if (answer.status === 503) {
      return fail(`${url} answers, but its database does not: ${text}`, 'Check the log of the platform.');
    }
    if (!answer.ok)
      return fail(`${url}/api/health answered ${answer.status}`, `${setBy} Check the proxy in front of the platform.`);
    return { check: 'connection', result: 'ok', what: `${url} answers in ${tookMs} ms (from ${urlSource})` };
  } catch (error) {
    if (error instanceof CommandError)
      return fail(error.message, `${setBy} Start the platform or correct the address.`);
    if (error instanceof Error && error.name === 'TimeoutError') {
      const what = `${url} did not answer within ${options.timeoutMs / 1_000} s`;
      return fail(what, `${setBy} A firewall that drops packets causes this.`);
    }
    throw error;
  }
}

export interface KeyCheck {
  readonly finding: Finding;
  /** Set if the key is valid. */
  readonly accepted?: { readonly client: Client; readonly key: string };
}

/** Checks that the platform accepts the key and lists its scopes. */
export async function checkKey(options: PlatformClientOptions): Promise<KeyCheck> {
  const fail = (what: string, advice: string | undefined): KeyCheck => {
    return { finding: { check: 'key', result: 'failed', what, advice, exitCode: EXIT.notAllowed } };
  };
  try {
    const key = await chooseKey(options);
    const client = clientWith(key, options);
    const me = await client.getMe();
    const source = options.connection.keys.find((known) => known.key === key)?.source ?? '';
    const what = `"${me.keyName}" of tenant ${me.tenantId} has the scopes ${me.scopes.join(', ')} (from ${source})`;
    return { finding: { check: 'key', result: 'ok', what }, accepted: { client, key } };
  } catch (error) {
    if (error instanceof ProblemError) return fail(`${error.status}: ${error.message}`, error.hint);
    if (error instanceof CommandError) return fail(error.message, error.hint);
    throw error;
  }
}

/**
 * Checks that messages arrive while a stream is open. The platform sends a heartbeat at once; a buffering proxy holds
 * it back until the stream ends.
 */
async function checkStream(options: PlatformClientOptions, key: string): Promise<Finding> {
  const fail = (what: string, advice: string): Finding => {
    return { check: 'stream', result: 'failed', what, advice, exitCode: EXIT.unreachable };
  };
  const ending = new AbortController();
  try {
    const startedMs = performance.now();
    const answer = await interruptible(options)(`${options.connection.url}/api/stream`, {
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', 'user-agent': options.userAgent },
      signal: AbortSignal.any([ending.signal, AbortSignal.timeout(options.timeoutMs)]),
    });
    const type = answer.headers.get('content-type') ?? 'no content type';
    if (!answer.ok || !type.startsWith('text/event-stream')) {
      return fail(`the response was ${answer.status} with ${type}`, 'A proxy answered instead of the platform.');
    }
    const first = await answer.body?.getReader().read();
    const took = `${Math.round(performance.now() - startedMs)} ms`;
    if (first?.value !== undefined)
      return { check: 'stream', result: 'ok', what: `the first message arrived after ${took}` };
    return fail(
      'the stream ended before the first message',
      'A proxy closes the stream. Let it keep /api/stream open.',
    );
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'TimeoutError') throw error;
    return fail(
      `no message arrived within ${options.timeoutMs / 1_000} s`,
      'A proxy buffers the stream. Turn buffering off for /api/stream (nginx: proxy_buffering off).',
    );
  } finally {
    ending.abort();
  }
}

/** Checks that the CLI and the platform have the same minor version; the API may differ between minor versions. */
export function checkVersion(ours: string, platform: string, url: string): Finding {
  const minor = (version: string) => version.split('.').slice(0, 2).join('.');
  if (minor(ours) === minor(platform)) return { check: 'version', result: 'ok', what: `both are ${minor(ours)}` };
  return {
    check: 'version',
    result: 'warning',
    what: `the CLI is ${ours}, the platform is ${platform}`,
    advice: `Use the matching CLI: ${buildNpx('cli', url, platform)}`,
  };
}

/** Lists rules in force that let a call pass if it lacks what they look at, or has it in an unreadable form. */
export function checkRules(names: readonly string[]): Finding {
  if (names.length === 0) return { check: 'rules', result: 'ok', what: 'no rule lets a call pass that it cannot read' };
  return {
    check: 'rules',
    result: 'warning',
    what: `calls pass if these rules cannot read them: ${names.map((name) => JSON.stringify(name)).join(', ')}`,
    advice: 'Set onMissing to block for each rule that protects something.',
  };
}

/** Lists rules in force that require approval and let a call pass if the approval cannot be requested. */
export function checkApprovals(names: readonly string[]): Finding {
  if (names.length === 0)
    return { check: 'approvals', result: 'ok', what: 'no call passes if approval cannot be asked' };
  return {
    check: 'approvals',
    result: 'warning',
    what: `calls pass if approval cannot be requested: ${names.map((name) => JSON.stringify(name)).join(', ')}`,
    advice: 'Set onUnavailable to block for each of these rules.',
  };
}

/** Days after which a price table lacks models that people use. */
const MAX_TABLE_AGE_DAYS = 120;

/** Checks the age of the price table and whether calls have no price. */
export function checkPrices(
  { version, ageDays }: AnswerOf<'getPrices'>['table'],
  unpriced: readonly { readonly model: string; readonly calls: number }[],
): Finding {
  const what = `price table ${version}, ${ageDays} days old`;
  const calls = unpriced.reduce((sum, model) => sum + model.calls, 0);
  if (calls > 0) {
    return {
      check: 'prices',
      result: 'warning',
      what: `${what}; ${calls} calls of ${unpriced.length} models have no known price`,
      advice: `List them with: ${PROGRAM} prices unpriced`,
    };
  }
  if (ageDays <= MAX_TABLE_AGE_DAYS) return { check: 'prices', result: 'ok', what };
  return {
    check: 'prices',
    result: 'warning',
    what,
    advice: `Load a newer one: ${PROGRAM} prices update --from <file>`,
  };
}

const TONES: Readonly<Record<Finding['result'], Tone>> = {
  ok: 'good',
  warning: 'warning',
  failed: 'bad',
  skipped: 'quiet',
};

/** Names libraries whose calls arrive with less than the provider answered, so that their costs are wrong. */
export function checkUsage(sources: AnswerOf<'listUsageSources'>['sources']): Finding {
  const short = sources.filter(({ gaps }) => gaps.length > 0);
  if (short.length === 0)
    return { check: 'usage', result: 'ok', what: 'no library reported less than it should in the last day' };
  const named = short.map(
    ({ name, version, gaps }) => `${[name, version].filter(Boolean).join(' ')} ${gaps.join(', and ')}`,
  );
  return {
    check: 'usage',
    result: 'warning',
    what: named.join('; '),
    advice: 'See "Where figures come from" in the documentation (docs/usage-sources.md).',
  };
}

async function usageOf(client: Client): Promise<Finding> {
  try {
    return checkUsage((await client.listUsageSources({})).sources);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { check: 'usage', result: 'skipped', what: `the sources of usage cannot be read: ${error.message}` };
  }
}

export const doctor: DefineCommand = (command, context) => {
  command.action(async () => {
    const { output } = context;
    const findings = await withProgress(output, 'checking', examine(context));
    output.print(findings, () => findings.map((finding) => findingText(finding, output.paint)).join('\n'));
    const failed = findings.filter(({ result }) => result === 'failed');
    const [first] = failed;
    if (first === undefined) return;
    const names = failed.map(({ check }) => check).join(', ');
    throw new CommandError(`Failed checks: ${names}`, { exitCode: first.exitCode });
  });
};

/** Runs the checks; those that depend on a failed check are skipped. */
async function examine(context: CommandContext): Promise<Finding[]> {
  const { host } = context;
  const options = context.clientOptions(context.connection());
  const connection = await checkConnection(options);
  if (connection.result === 'failed')
    return [connection, ...skipped(['key', 'clock', 'version', 'stream', 'rules', 'approvals', 'prices', 'usage'])];
  const { finding, accepted } = await checkKey(options);
  if (accepted === undefined)
    return [connection, finding, ...skipped(['clock', 'version', 'stream', 'rules', 'approvals', 'prices', 'usage'])];
  const askedMs = host.nowMs();
  const { now, version } = await accepted.client.getMe();
  const clock = checkClock(now, askedMs, host.nowMs());
  const stream = await checkStream(options, accepted.key);
  const listed = (check: string, query: { passesUnread: true } | { passesUnasked: true }, judge: typeof checkRules) =>
    accepted.client.listRules({ query: { ...query, limit: 100 } }).then(
      (page) => judge(page.rules.map(({ name }) => name)),
      (error: unknown): Finding => {
        if (!(error instanceof ProblemError)) throw error;
        return { check, result: 'skipped', what: `the rules cannot be read: ${error.message}` };
      },
    );
  const rules = await listed('rules', { passesUnread: true }, checkRules);
  const approvals = await listed('approvals', { passesUnasked: true }, checkApprovals);
  const prices = await pricesOf(accepted.client);
  return [
    connection,
    finding,
    clock,
    checkVersion(host.version, version, options.connection.url),
    stream,
    rules,
    approvals,
    prices,
    await usageOf(accepted.client),
  ];
}

function skipped(checks: readonly string[]): Finding[] {
  return checks.map((check) => ({ check, result: 'skipped', what: 'depends on a check that failed' }));
}

function findingText({ check, result, what, advice }: Finding, paint: Paint): string {
  const line = `${paint(TONES[result], result.padEnd(9))}${check.padEnd(12)}${plainText(what)}`;
  return advice === undefined ? line : `${line}\n${' '.repeat(21)}${plainText(advice)}`;
}

async function pricesOf(client: Client): Promise<Finding> {
  try {
    const [{ table }, { models }] = await Promise.all([client.getPrices({}), client.getUnpricedUsage({})]);
    return checkPrices(table, models);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { check: 'prices', result: 'skipped', what: `the prices cannot be read: ${error.message}` };
  }
}
