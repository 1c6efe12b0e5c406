import type { AnswerOf, CommandContext, DefineCommand } from '../context.ts';
import { CommandError, EXIT } from '../errors.ts';
import { type Column, instant } from '../output/table.ts';
import { instantFrom } from '../parse.ts';

type Deputies = AnswerOf<'listDeputies'>;
type Named = Pick<Deputies['deputies'][number], 'person' | 'name'>;

interface Row extends Named {
  readonly decides: string;
  readonly startsAt: string;
  readonly endsAt: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'id', value: ({ person }) => person },
  { title: 'name', value: ({ name }) => name },
  { title: 'who decides', value: ({ decides }) => decides },
  { title: 'from', value: ({ startsAt }) => instant(startsAt) },
  { title: 'until', value: ({ endsAt }) => instant(endsAt) },
];

export const listDeputies: DefineCommand = (command, context) => {
  command.action(async () => {
    const { deputies, standsInFor } = await (await context.connect()).listDeputies();
    const rows = [
      ...deputies.map((one) => ({ ...one, decides: 'in your place' })),
      ...standsInFor.map((one) => ({ ...one, decides: 'you, in the place of this person' })),
    ];
    context.output.printTable(rows, COLUMNS, 'No deputies.');
  });
};

export const setDeputy: DefineCommand = (command, context) => {
  const time = instantFrom(context.host.nowMs);
  command
    .argument('<person>', 'name or id')
    .requiredOption('--for <time>', 'how long, such as 7d, or until when; at most 30 days', time)
    .option('--from <time>', 'when it starts; default: now', time)
    .addHelpText('after', '\nThe vote is the vote of the deputy. You and your deputies fill one place of a quorum.')
    .action(async (person, { for: endsAt, from: startsAt }) => {
      const client = await context.connect();
      const { person: id } = findPerson(await client.listDeputies(), 'candidates', person);
      const body = startsAt === undefined ? { endsAt } : { startsAt, endsAt };
      const named = await client.setDeputy({ params: { id }, body });
      context.output.print(named, () => `${named.name} decides in your place until ${named.endsAt}`);
    });
};

export const endDeputy: DefineCommand = (command, context: CommandContext) => {
  command.argument('<person>', 'name or id').action(async (person) => {
    const client = await context.connect();
    const { person: id, name } = findPerson(await client.listDeputies(), 'deputies', person);
    const ended = await client.endDeputy({ params: { id } });
    context.output.print(ended, () => `${name} no longer decides in your place`);
  });
};

/** Names need not be unique. @throws CommandError if none or several people fit */
function findPerson(known: Deputies, among: 'candidates' | 'deputies', text: string): Named {
  const people: readonly Named[] = known[among];
  const found = people.filter(({ person, name }) => person === text || name.toLowerCase() === text.toLowerCase());
  const [first, ...others] = found;
  if (first !== undefined && others.length === 0) return first;
  const ids = (found.length > 0 ? found : people).slice(0, 20).map(({ person, name }) => `${name} (${person})`);
  const none = among === 'deputies' ? `${text} is not a deputy of yours` : `No person who may review is named ${text}`;
  throw new CommandError(first === undefined ? none : `Several people are named ${text}`, {
    exitCode: EXIT.notFoundOrConflict,
    ...(ids.length === 0 ? {} : { hint: `Use the name or id of one of: ${ids.join(', ')}` }),
  });
}
