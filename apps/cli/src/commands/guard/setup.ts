import { text } from 'node:stream/consumers';
import { type Client } from '@agentlens/client';
import { HOST_IDS, STARTER_RULESET, starterRules } from '@agentlens/guard';
import { stringify } from 'yaml';
import type { DefineCommand } from '../../context.ts';
import { CommandError, EXIT, usageError } from '../../errors.ts';
import { amount } from '../../parse.ts';
import { chooseKey, clientWith } from '../../platform-client.ts';
import { PROGRAM } from '../../program-name.ts';
import { enforceStarterRules } from './enforce.ts';
import { pathsOf, refuseUnknownKey, saveKey } from './place.ts';

/** A coding agent makes thousands of calls a day, which the default limits of a run would stop after minutes. */
const LIMITS = { maxIterations: 100_000, maxTokens: 1_000_000_000, maxConsecutiveFailures: 50 };
const DEFAULT_RUN_USD = 50;

export const setup: DefineCommand = (command, context) => {
  command
    .option('--agents <slugs>', 'ids of the agents, comma-separated', HOST_IDS.join(','))
    .option('--max-run-cost <usd>', 'cost at which a run stops', amount, DEFAULT_RUN_USD)
    .option('--enforce', 'make the starter rules act; by default they only record')
    .option('--print-key', 'print the new key for other machines instead of saving it here')
    .action(async ({ agents, maxRunCost, enforce, printKey }) => {
      const { output } = context;
      const slugs = agents.split(',').map((slug) => slug.trim());
      const connection = context.connection();
      const options = context.clientOptions(connection);
      const client = clientWith(await chooseKey(options), options);
      const rules = await makeRules(client, slugs, enforce === true ? 'enforce' : 'shadow');
      const enforced = enforce === true ? await enforceStarterRules(client, 'agentlens guard setup --enforce') : [];
      const limited = await setLimits(client, slugs, maxRunCost);
      const name = `Coding agents (${context.host.env.USER ?? 'setup'})`;
      const { key } = await client.createKey({ body: { name, scopes: ['ingest', 'decide'], agents: slugs } });
      if (printKey !== true) await saveKey(context, connection.url, key);
      const answer = {
        url: connection.url,
        agents: slugs,
        rules,
        enforced,
        limited,
        ...(printKey === true ? { key } : {}),
      };
      output.print(answer, () =>
        [
          describeRules(rules, enforce === true, enforced.length),
          limited.length === 0
            ? 'The limits of a run stay as they are.'
            : `Limits of a run for ${limited.length} agents: 100,000 model calls, ${maxRunCost} USD.`,
          printKey === true
            ? `Key for ${slugs.join(', ')}: ${key}`
            : `A key for these agents is in ${pathsOf(context).config}.`,
          `Next: ${PROGRAM} guard claude-code${enforce === true ? ' --enforce' : ''}`,
        ].join('\n'),
      );
      if (printKey === true) output.note('Store the key now: it is not shown again.');
    });
};

function describeRules(
  { created, kept }: { readonly created: number; readonly kept: number },
  act: boolean,
  nowActing: number,
): string {
  const made = `${created} starter rules created${act ? '' : '; those that would refuse or ask only record'}.`;
  const rest = nowActing > 0 ? `of which ${nowActing} act from now on` : 'and stay as they are';
  return [created > 0 ? made : undefined, kept > 0 ? `${kept} were there already, ${rest}.` : undefined]
    .filter((sentence) => sentence !== undefined)
    .join(' ');
}

/** Creates the starter rules that do not exist yet; a rule that exists stays as it is. */
async function makeRules(client: Client, slugs: readonly string[], mode: 'shadow' | 'enforce') {
  const params = { name: STARTER_RULESET };
  const rules = starterRules(mode, slugs);
  const plan = await client.planRuleset({ params, body: { rules, prune: false } });
  const [problem] = plan.problems;
  if (problem !== undefined)
    throw new CommandError(`The starter rules were rejected: ${problem.path}: ${problem.message}`);
  const missing = new Set(plan.changes.filter(({ action }) => action === 'create').map(({ key }) => key));
  if (missing.size > 0) {
    const body = { rules: rules.filter(({ key }) => missing.has(key)), prune: false };
    const { basis } = await client.planRuleset({ params, body });
    await client.applyRuleset({ params, body: { ...body, basis, reason: 'agentlens guard setup' }, timeoutMs: 30_000 });
  }
  return { created: missing.size, kept: rules.length - missing.size };
}

/** Limits that an operator has set stay. */
async function setLimits(client: Client, slugs: readonly string[], maxCostUsd: number): Promise<string[]> {
  const { limits: known } = await client.getBreakerLimits();
  const unset = slugs.filter((slug) => !known.some(({ scope, scopeId }) => scope === 'agent' && scopeId === slug));
  for (const scopeId of unset)
    await client.setBreakerLimits({
      body: { scope: 'agent', scopeId, limits: { ...LIMITS, maxCostUsd, maxConfidenceDrop: null } },
    });
  return unset;
}

/** Saves a key that an administrator made, for a machine on which everything else is there. */
export const login: DefineCommand = (command, context) => {
  command.action(async () => {
    const { host, prompt, output } = context;
    const { url } = context.connection();
    if (prompt === null && host.stdin.isTTY === true)
      throw usageError('Cannot prompt for the key with --no-input: pipe it to stdin.');
    const typed = prompt === null ? await text(host.stdin) : await prompt.askSecret(`Key of the guard for ${url}: `);
    const key = typed.trim();
    if (!/^\S+$/.test(key))
      throw new CommandError('That is not an API key: a key is one word.', { exitCode: EXIT.usage });
    await refuseUnknownKey(context, key);
    await saveKey(context, url, key);
    output.print({ url }, () => `Saved in ${pathsOf(context).config}`);
  });
};

export const printRules: DefineCommand = (command, context) => {
  command
    .option('--agents <slugs>', 'ids of the agents, comma-separated', HOST_IDS.join(','))
    .option('--enforce', 'make the rules act; by default they only record')
    .action(({ agents, enforce }) => {
      const rules = starterRules(enforce === true ? 'enforce' : 'shadow', agents.split(','));
      const file = { apiVersion: 'agentlens/v1', ruleset: STARTER_RULESET, rules };
      context.output.print(file, () => stringify(file, { lineWidth: 120 }).trimEnd());
    });
};
