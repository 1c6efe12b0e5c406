import { type Client, ProblemError, pages } from '@agentlens/client';
import { STARTER_RULESET } from '@agentlens/guard';
import type { CommandContext, DefineCommand, RuleAnswer } from '../../context.ts';
import { CommandError, describeError, EXIT, usageError } from '../../errors.ts';
import { plainText } from '../../output/table.ts';
import { PROGRAM } from '../../program-name.ts';
import { fileOf } from '../../rule-files/pulled-rules.ts';
import { PAGE } from '../print-list.ts';

const APPLY_TIMEOUT_MS = 30_000;

export const enforce: DefineCommand = (command, context) => {
  command
    .argument('[rule]', 'key of one starter rule; default: all of them')
    .option('--reason <text>', 'reason, recorded in the rule history')
    .action(async (key, { reason = 'agentlens guard enforce' }) => {
      const client = await context.connect();
      const starters = await readStarterRules(client);
      if (starters.length === 0)
        throw new CommandError(`There are no starter rules on ${context.connection().url}.`, {
          exitCode: EXIT.notFoundOrConflict,
          hint: `Create them: ${PROGRAM} guard setup`,
        });
      const chosen = key === undefined ? starters : starters.filter((rule) => rule.key === key);
      if (chosen.length === 0)
        throw usageError(`No starter rule has the key "${key}".`, `There are: ${keysOf(starters).join(', ')}`);
      const { changed, off } = await enforceRules(client, chosen, reason);
      const left = keysOf(starters.filter((rule) => !isActing(rule) && !changed.includes(rule.key ?? '')));
      context.output.print({ enforced: changed, off, observing: left }, () => enforcedText(changed, off, left));
    });
};

function enforcedText(changed: readonly string[], off: readonly string[], left: readonly string[]): string {
  const lines = [
    changed.length === 0
      ? 'Nothing changed: these rules act already.'
      : `These rules act from now on: ${changed.join(', ')}.`,
  ];
  if (off.length > 0)
    lines.push(`Turned off, so they do nothing: ${off.join(', ')}. Turn on: ${PROGRAM} rules enable ID`);
  const observing = left.filter((key) => !off.includes(key));
  if (observing.length > 0) lines.push(`These still only record: ${observing.join(', ')}.`);
  lines.push(`They stop a call only where the guard enforces: ${PROGRAM} guard status`);
  return lines.map(plainText).join('\n');
}

/** The starter rules that can stop a call; those that only raise an alert act from the first day. */
async function readStarterRules(client: Client): Promise<RuleAnswer[]> {
  const found: RuleAnswer[] = [];
  for await (const { rules } of pages(client.listRules, { query: { limit: PAGE } }))
    found.push(...rules.filter((rule) => rule.ruleset === STARTER_RULESET && rule.actionType !== 'raise_alert'));
  return found.reverse();
}

/** Sets the mode of these rules and keeps everything else of them. */
async function enforceRules(client: Client, rules: readonly RuleAnswer[], reason: string) {
  const observing = rules.filter((rule) => rule.mode === 'shadow');
  const off = keysOf(rules.filter(({ enabled }) => !enabled));
  if (observing.length === 0) return { changed: [], off };
  const params = { name: STARTER_RULESET };
  const wanted = fileOf(observing, STARTER_RULESET).rules.map((rule) => ({ ...rule, mode: 'enforce' }));
  const body = { rules: wanted, prune: false };
  const { problems, basis } = await client.planRuleset({ params, body });
  const [problem] = problems;
  if (problem !== undefined)
    throw new CommandError(`The starter rules were rejected: ${problem.path}: ${problem.message}`);
  await client.applyRuleset({ params, body: { ...body, basis, reason }, timeoutMs: APPLY_TIMEOUT_MS });
  return { changed: keysOf(observing), off };
}

/** Enforces every starter rule of the platform. @returns the keys of the rules that only recorded before */
export async function enforceStarterRules(client: Client, reason: string): Promise<readonly string[]> {
  return (await enforceRules(client, await readStarterRules(client), reason)).changed;
}

const isActing = ({ enabled, mode }: RuleAnswer) => enabled && mode !== 'shadow';
const keysOf = (rules: readonly RuleAnswer[]) => rules.map(({ id, key }) => key ?? id);

/** What the starter rules refuse, for a person who has just turned refusals on. */
export async function enforcementHint(context: CommandContext): Promise<string> {
  let rules: readonly RuleAnswer[];
  try {
    rules = await readStarterRules(await context.connect());
  } catch (error) {
    // The key of the guard may not read rules; the installation is complete all the same.
    if (!(error instanceof ProblemError || error instanceof CommandError)) throw error;
    const [reason = ''] = describeError(error).lines;
    return `Whether the starter rules refuse calls is not known here (${plainText(reason)}). They only record until: ${PROGRAM} guard enforce`;
  }
  if (rules.length === 0) return `There are no starter rules. Create them: ${PROGRAM} guard setup`;
  const observing = rules.filter((rule) => !isActing(rule)).length;
  if (observing === 0) return `All ${rules.length} starter rules act.`;
  const nothing = observing === rules.length ? ': they refuse nothing yet' : '';
  return [
    `${observing} of ${rules.length} starter rules only record${nothing}.`,
    `See what they would have stopped: ${PROGRAM} decisions list --would-have ask,block,terminate`,
    `Make them act: ${PROGRAM} guard enforce (one of them: ${PROGRAM} guard enforce destructive)`,
  ].join('\n');
}
