import { pages } from '@agentlens/client';
import type { RuleAnswer } from '../../api-types.ts';
import { usageError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';
import { fileOf } from '../../rule-files/pulled-rules.ts';
import { PAGE } from '../print-list.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('[ids...]', 'the rules; without them all rules that no other ruleset manages')
    .option('--ruleset <name>', 'the ruleset the file is of', 'rules')
    .action(async (ids, { ruleset }) => {
      const client = await context.connect();
      const rules =
        ids.length > 0 ? await Promise.all(ids.map((id) => client.getRule({ params: { id } }))) : await all(ruleset);
      if (rules.length === 0) throw usageError('There is no rule to write.');
      const file = fileOf(rules, ruleset);
      const { stringify } = await import('yaml');
      context.output.print(file, () => stringify(file, { lineWidth: 0 }).trimEnd());

      async function all(name: string): Promise<RuleAnswer[]> {
        const found: RuleAnswer[] = [];
        for await (const page of pages(client.listRules, { query: { limit: PAGE } })) {
          found.push(...page.rules.filter((rule) => rule.ruleset === undefined || rule.ruleset === name));
        }
        return found.reverse();
      }
    });
};
