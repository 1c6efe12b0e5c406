import type { AnswerOf, DefineCommand } from '../context.ts';
import { CommandError, EXIT } from '../errors.ts';
import { type Column, instant } from '../output/table.ts';
import { instantFrom } from '../parse.ts';

type Schedule = AnswerOf<'getOnCall'>;
type Shift = Schedule['onCall'];

const NOW: readonly Column<Schedule>[] = [
  { title: 'schedule', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'on call', value: ({ onCall }) => personText(onCall) },
  { title: 'because', value: ({ onCall }) => reasonText(onCall) },
  { title: 'next', value: ({ next }) => next && personText(next) },
  { title: 'from', value: ({ next }) => next && instant(next.at) },
];

interface Row {
  readonly id: string;
  readonly what: string;
  readonly who: string;
  readonly when: string;
}

const ROWS: readonly Column<Row>[] = [
  { title: 'schedule', value: ({ id }) => id },
  { title: 'what', value: ({ what }) => what },
  { title: 'who', value: ({ who }) => who },
  { title: 'when', value: ({ when }) => when },
];

export const whoIsOnCall: DefineCommand = (command, context) => {
  command
    .argument('[schedule]', 'id of a schedule; default: all')
    .option('--at <time>', 'at this time; needs a schedule', instantFrom(context.host.nowMs))
    .action(async (id, { at }) => {
      const client = await context.connect();
      if (id === undefined) {
        if (at !== undefined) throw new CommandError('--at needs a schedule', { exitCode: EXIT.usage });
        const { schedules } = await client.listOnCall();
        context.output.printTable(schedules, NOW, 'No on-call schedules.');
        return;
      }
      const schedule = await client.getOnCall({ params: { id }, query: at === undefined ? {} : { at } });
      context.output.print(schedule, () => {
        const { name, onCall, next } = schedule;
        const then = next === null ? '' : `\nNext: ${personText(next)}, from ${next.at}`;
        return `${name}, on call: ${personText(onCall)} (${reasonText(onCall)})${then}`;
      });
    });
};

export const listOnCall: DefineCommand = (command, context) => {
  command.action(async () => {
    const { schedules } = await (await context.connect()).listOnCall();
    const rows = schedules.flatMap(({ id, layers, overrides }): Row[] => [
      ...layers.map(({ people, rotation, startsOn, handover, zone, days }, n) => ({
        ...{ id, what: `layer ${n + 1}`, who: people.join(', ') },
        when: `each ${rotation} at ${handover} ${zone} from ${startsOn}${days === undefined ? '' : `, ${days.join(' ')}`}`,
      })),
      ...overrides.map((one) => ({
        ...{ id, what: `override ${one.id}`, who: one.name ?? one.person },
        when: `${one.from} to ${one.to}`,
      })),
    ]);
    context.output.printTable(rows, ROWS, 'No on-call schedules.');
  });
};

export const overrideOnCall: DefineCommand = (command, context) => {
  const time = instantFrom(context.host.nowMs);
  command
    .argument('<schedule>', 'id of the schedule')
    .argument('<person>', 'id of the person, from "people list"')
    .requiredOption('--for <time>', 'how long, such as 8h, or until when; at most 30 days', time)
    .option('--from <time>', 'when it starts; default: now', time)
    .action(async (id, person, { for: to, from }) => {
      const client = await context.connect();
      const body = { person, to, ...(from === undefined ? {} : { from }) };
      const schedule = await client.addOnCallOverride({ params: { id }, body });
      context.output.print(schedule, () => `${schedule.name}, on call now: ${personText(schedule.onCall)}`);
    });
};

function personText({ person, name }: Pick<Shift, 'person' | 'name'>): string {
  return name ?? person ?? 'no person';
}

function reasonText({ because, layer }: Shift): string {
  if (because === 'override') return 'override';
  return because === 'layer' ? `layer ${layer}` : 'empty shift';
}
