import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Client, pages } from '@agentlens/client';
import { argumentLine } from '@agentlens/contracts/argument-line';
import { isMap, isScalar, isSeq, parseAllDocuments, type Scalar, type YAMLMap } from 'yaml';
import type { CommandContext, DecisionAnswer, DefineCommand, RuleAnswer } from '../context.ts';
import { CommandError, EXIT, usageError } from '../errors.ts';
import { toneOf } from '../output/style.ts';
import { type Column, instant, plainText, table } from '../output/table.ts';
import { instantBefore } from '../parse.ts';
import { PROGRAM } from '../program-name.ts';
import { findRuleFiles, refuseProblems } from '../rule-files/read-ruleset.ts';
import { starterFiles } from '../rule-files/starter-files.ts';
import { PAGE } from './print-list.ts';

/** A name of a ruleset that needs no quotes. */
const PLAIN_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

export const initRules: DefineCommand = (command, context) => {
  command
    .argument('[folder]', 'folder for the files, created if it does not exist', 'rules')
    .option('--ruleset <name>', 'name of the ruleset', 'rules')
    .action(async (folder, { ruleset }) => {
      if (!PLAIN_NAME.test(ruleset))
        throw usageError(`"${ruleset}" cannot be the name: use up to 63 characters of a to z, 0 to 9 and "-".`);
      const { rules, test } = starterFiles(ruleset);
      const files = { [join(folder, 'rules.yaml')]: rules, [join(folder, 'rules.test.yaml')]: test };
      const at = (file: string) => resolve(context.host.folder, file);
      const known = Object.keys(files).filter((file) => existsSync(at(file)));
      if (known.length > 0)
        throw new CommandError(`Nothing was written: ${known.join(' and ')} exists already.`, {
          exitCode: EXIT.notFoundOrConflict,
          hint: `Name another folder: ${PROGRAM} rules init FOLDER`,
        });
      await mkdir(at(folder), { recursive: true });
      // "wx" fails if the file has appeared meanwhile.
      for (const [file, text] of Object.entries(files)) await writeFile(at(file), text, { flag: 'wx' });
      context.output.print({ written: Object.keys(files) }, () =>
        [
          ...Object.keys(files).map((file) => `Wrote ${file}`),
          `Next: ${PROGRAM} rules test ${folder}, then ${PROGRAM} rules apply ${join(folder, 'rules.yaml')}`,
        ]
          .map(plainText)
          .join('\n'),
      );
    });
};

/** Decisions that are shown before a rule is promoted. */
const SHOWN = 20;

const STOPPED_COLUMNS: readonly Column<DecisionAnswer>[] = [
  { title: 'at', value: ({ decidedAt }) => instant(decidedAt) },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'run', value: ({ runId }) => runId },
  { title: 'what', value: ({ toolName, phase }) => toolName ?? phase },
  { title: 'with', value: ({ arguments: args }) => argumentLine(args) },
  { title: 'would have', value: ({ wouldHave }) => wouldHave ?? '', tone: toneOf },
];

export const promoteRule: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .argument('<path>', 'the rule file, or a folder that contains it')
    .argument('<key>', 'key of the rule')
    .option('--since <time>', 'show what it would have stopped since: an instant, a date or an age (default: 7d)', when)
    .addHelpText('after', '\nThe file is changed, and nothing else: apply it afterwards.')
    .action(async (path, key, { since = when('7d') }) => {
      const { file, text } = await enforced(path, key, context);
      const client = await context.connect();
      const { decisions, hasMore } = await wouldHaveStopped(client, key, since);
      const { output } = context;
      if (decisions.length === 0) output.note(`It would have stopped no call since ${instant(since)}.`);
      else
        output.note(
          `It would have stopped ${hasMore ? 'more than ' : ''}${decisions.length} call${decisions.length === 1 ? '' : 's'} since ${instant(since)}:\n` +
            table(decisions, STOPPED_COLUMNS, output.layout),
        );
      await context.confirm(`Make the rule ${key} act in ${file}?`);
      await writeFile(resolve(context.host.folder, file), text);
      output.print({ file, key, mode: 'enforce', wouldHaveStopped: decisions }, () =>
        plainText(`${key} acts in ${file}. Next: ${PROGRAM} rules test ${path}, then ${PROGRAM} rules apply ${path}`),
      );
    });
};

/** The text of the rule's file in which the rule acts. @throws CommandError if it does not wait in shadow there */
async function enforced(path: string, key: string, { host }: CommandContext) {
  const { readRuleFiles } = await import('@agentlens/replay');
  const sources = await findRuleFiles([path], host);
  const read = readRuleFiles(sources);
  await refuseProblems(read.problems);
  const rules = read.rulesets.flatMap((ruleset) => ruleset.rules);
  const rule = rules.find((one) => one.key === key);
  if (rule === undefined)
    throw usageError(`No rule has the key "${key}".`, `There are: ${rules.map((one) => one.key).join(', ')}`);
  const { file, line } = rule;
  const text = enforceInFile(sources.find((source) => source.file === file)?.text ?? '', key);
  if (text === undefined)
    throw new CommandError(`${file}:${line}: the rule ${key} is not in shadow, so there is nothing to promote.`, {
      exitCode: EXIT.notFoundOrConflict,
    });
  await refuseProblems(readRuleFiles([{ file, text }]).problems);
  return { file, text };
}

/** What the rule of the platform would have stopped; nothing if it is not there yet. */
async function wouldHaveStopped(client: Client, key: string, from: string) {
  const rule = await findByKey(client, key);
  if (rule === undefined) return { decisions: [], hasMore: false };
  const query = { ruleId: rule.id, wouldHave: 'modify,ask,block,terminate', from, limit: SHOWN };
  return client.listDecisions({ query });
}

async function findByKey(client: Client, key: string): Promise<RuleAnswer | undefined> {
  for await (const { rules } of pages(client.listRules, { query: { limit: PAGE } })) {
    const found = rules.find((rule) => rule.key === key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What to write instead of a value, by position in the text. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * Makes a rule of a rule file act: `mode: shadow` becomes `enforce`, `dryRun: true` becomes `false`. Everything else, also
 * comments and layout, stays as it is. Returns undefined if the file does not say in its own words that the rule is in
 * shadow.
 */
function enforceInFile(text: string, key: string): string | undefined {
  const rule = findRule(text, key);
  if (rule === undefined) return undefined;
  const edits = [edit(rule, 'mode', 'shadow', 'enforce'), edit(rule, 'dryRun', true, 'false')].filter(
    (one) => one !== undefined,
  );
  if (edits.length === 0) return undefined;
  return edits
    .toSorted((a, b) => b.from - a.from)
    .reduce((edited, { from, to, text: word }) => edited.slice(0, from) + word + edited.slice(to), text);
}

function findRule(text: string, key: string): YAMLMap | undefined {
  for (const document of parseAllDocuments(text)) {
    const rules = document.get('rules');
    if (!isSeq(rules)) continue;
    for (const rule of rules.items) if (isMap(rule) && rule.get('key') === key) return rule;
  }
  return undefined;
}

function edit(rule: YAMLMap, member: string, before: unknown, after: string): Edit | undefined {
  const node = scalarAt(rule, member);
  if (node === undefined || node.value !== before || node.range == null) return undefined;
  const [from, to] = node.range;
  return { from, to, text: after };
}

/** An alias is not the rule's own: its anchor may be used by others. */
function scalarAt(rule: YAMLMap, member: string): Scalar | undefined {
  const node = rule.get(member, true);
  return isScalar(node) ? node : undefined;
}
