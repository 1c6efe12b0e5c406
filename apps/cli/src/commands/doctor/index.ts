import { CommandError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';
import type { CommandContext } from '../../context.ts';
import { plainText } from '../../output/plain-text.ts';
import { withProgress } from '../../output/progress.ts';
import type { Paint, Tone } from '../../output/style.ts';
import { checkClock } from './check-clock.ts';
import { checkConnection } from './check-connection.ts';
import { checkKey } from './check-key.ts';
import { checkStream } from './check-stream.ts';
import { checkVersion } from './check-version.ts';
import type { Finding } from './finding.ts';

const TONES: Readonly<Record<Finding['result'], Tone>> = {
  ok: 'good',
  warning: 'warning',
  failed: 'bad',
  skipped: 'quiet',
};

export const define: CommandFile['define'] = (command, context) => {
  command.action(async () => {
    const { output } = context;
    const findings = await withProgress(output, 'checking', examine(context));
    output.print(findings, () => findings.map((finding) => findingText(finding, output.paint)).join('\n'));
    const failed = findings.filter(({ result }) => result === 'failed');
    const [first] = failed;
    if (first === undefined) return;
    const names = failed.map(({ check }) => check).join(', ');
    throw new CommandError(`Something is wrong with: ${names}`, { exitCode: first.exitCode });
  });
};

/** Each check says something of its own: what depends on one that failed is skipped. */
async function examine(context: CommandContext): Promise<Finding[]> {
  const { host } = context;
  const options = context.clientOptions(context.connection());
  const connection = await checkConnection(options);
  if (connection.result === 'failed') return [connection, ...skipped(['key', 'clock', 'version', 'stream'])];
  const { finding, accepted } = await checkKey(options);
  if (accepted === undefined) return [connection, finding, ...skipped(['clock', 'version', 'stream'])];
  const askedMs = host.nowMs();
  const { now, version } = await accepted.client.getMe();
  const clock = checkClock(now, askedMs, host.nowMs());
  const stream = await checkStream(options, accepted.key);
  return [connection, finding, clock, checkVersion(host.version, version), stream];
}

function skipped(checks: readonly string[]): Finding[] {
  return checks.map((check) => ({ check, result: 'skipped', what: 'depends on the one that failed' }));
}

function findingText({ check, result, what, advice }: Finding, paint: Paint): string {
  const line = `${paint(TONES[result], result.padEnd(9))}${check.padEnd(12)}${plainText(what)}`;
  return advice === undefined ? line : `${line}\n${' '.repeat(21)}${plainText(advice)}`;
}
