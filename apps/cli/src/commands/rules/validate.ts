import { CommandError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';
import type { CommandContext } from '../../context.ts';
import { plainText } from '../../output/plain-text.ts';
import { documentOf } from '../../parse/document.ts';
import { findRuleFiles, type NamedText } from '../../rule-files/find-files.ts';
import { refuseProblems } from '../../rule-files/read-ruleset.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument(
      '<files...>',
      'files of rules or folders of them, checked here; or one rule as JSON or YAML ("-" reads stdin)',
    )
    .action(async (files) => {
      const [file = '-'] = files;
      if (files.length === 1 && (file === '-' || file.endsWith('.json'))) return validateDraft(file, context);
      const sources = await findRuleFiles(files, context.host);
      const isRuleset = sources.some(({ text }) => /^["']?(apiVersion|ruleset)["']?\s*:/m.test(text));
      await (isRuleset ? validateFiles(sources, context) : validateDraft(file, context));
    });
};

/** Asks nobody: what the platform would say of the rules follows from the same code. */
async function validateFiles(sources: readonly NamedText[], { output }: CommandContext): Promise<void> {
  const { readRuleFiles } = await import('@agentlens/replay');
  const { rulesets, problems } = readRuleFiles(sources);
  await refuseProblems(problems);
  const counted = rulesets.map(({ name, rules }) => ({ ruleset: name, rules: rules.length }));
  output.print(counted, () => counted.map(({ ruleset, rules }) => `${ruleset}: ${rules} rules are valid.`).join('\n'));
}

async function validateDraft(file: string, context: CommandContext): Promise<void> {
  const body = await documentOf(file, context.host);
  const client = await context.connect();
  const result = await client.validateRule({ body });
  context.output.print(result, () =>
    result.valid
      ? 'The rule is valid. Nothing was stored.'
      : result.details.map(({ path, message }) => plainText(`${file}: ${path}: ${message}`)).join('\n'),
  );
  if (!result.valid) throw new CommandError('The platform would refuse this rule.', { hint: result.hint });
}
