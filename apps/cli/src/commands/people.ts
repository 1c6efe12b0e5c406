import type { AnswerOf, DefineCommand } from '../context.ts';
import { CommandError, EXIT, usageError } from '../errors.ts';
import { type Column, instant } from '../output/table.ts';
import { PROGRAM } from '../program-name.ts';

type PersonAnswer = AnswerOf<'listPeople'>['people'][number];
type TeamAnswer = AnswerOf<'listTeams'>['teams'][number];
type PolicyAnswer = AnswerOf<'listApprovalPolicies'>['policies'][number];
type Role = PersonAnswer['grants'][number]['role'];

/** Written out, because loading the contracts would slow the start. The platform checks the word as well. */
const ROLES: readonly Role[] = ['viewer', 'approver', 'operator', 'editor', 'admin'];

const PEOPLE: readonly Column<PersonAnswer>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'e-mail', value: ({ email }) => email ?? undefined },
  { title: 'state', value: ({ state }) => state },
  {
    title: 'roles',
    value: ({ grants }) =>
      grants
        .map(
          ({ role, team, source }) =>
            `${role}${team === undefined ? '' : ` for ${team}`}${source === 'manual' ? ' (by hand)' : ''}`,
        )
        .join(', '),
  },
  { title: 'teams', value: ({ teams }) => teams.join(', ') },
  { title: 'last sign-in', value: ({ lastSeenAt }) => instant(lastSeenAt) ?? 'never' },
];

export const listPeople: DefineCommand = (command, context) => {
  command.action(async () => {
    const { people } = await (await context.connect()).listPeople();
    context.output.printTable(people, PEOPLE, 'No person has signed in yet.');
  });
};

/** A command that disables or enables a person. */
function changeState(state: 'active' | 'disabled'): DefineCommand {
  return (command, context) => {
    command.argument('<id>', 'the person, from "people list"').action(async (id) => {
      const client = await context.connect();
      if (state === 'disabled') await context.confirm('Disable this person? All sessions and personal keys end.');
      const person = await client.updatePerson({ params: { id }, body: { state } });
      context.output.print(person, () => `${person.name} is ${person.state}`);
    });
  };
}

export const disablePerson = changeState('disabled');
export const enablePerson = changeState('active');

export const grantRole: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the person, from "people list"')
    .argument('<role>', ROLES.join(', '))
    .option('--team <id>', 'only for the agents of this team')
    .option('--remove', 'take the role away')
    .action(async (id, word, { team, remove }) => {
      const role = ROLES.find((one) => one === word);
      if (role === undefined) throw usageError(`There is no role ${JSON.stringify(word)}.`, `Use ${ROLES.join(', ')}.`);
      const client = await context.connect();
      const person = (await client.listPeople()).people.find((one) => one.id === id);
      if (person === undefined)
        throw new CommandError(`There is no person ${id}`, {
          exitCode: EXIT.notFoundOrConflict,
          hint: `To list people: ${PROGRAM} people list`,
        });
      const others = person.grants
        .filter(({ source }) => source === 'manual')
        .filter((grant) => grant.role !== role || grant.team !== team)
        .map((grant) => ({ role: grant.role, ...(grant.team === undefined ? {} : { team: grant.team }) }));
      const given = { role, ...(team === undefined ? {} : { team }) };
      const changed = await client.updatePerson({
        params: { id },
        // Otherwise a grant of another administrator in between would be lost.
        headers: { 'if-match': `"${person.version}"` },
        body: { grants: remove === true ? others : [...others, given] },
      });
      context.output.printTable([changed], PEOPLE, '');
    });
};

const TEAMS: readonly Column<TeamAnswer>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'agents', value: ({ agents }) => agents.join(', ') },
  { title: 'members', value: ({ members }) => members.map(({ name }) => name).join(', ') },
];

export const listTeams: DefineCommand = (command, context) => {
  command.action(async () => {
    const { teams } = await (await context.connect()).listTeams();
    context.output.printTable(teams, TEAMS, 'No teams.');
  });
};

const POLICIES: readonly Column<PolicyAnswer>[] = [
  { title: 'place', value: ({ place }) => String(place) },
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ policy }) => policy.name },
  { title: 'tools', value: ({ policy }) => policy.match.tools.join(', ') || 'all' },
  { title: 'agents', value: ({ policy }) => policy.match.agents.join(', ') || 'all' },
  {
    title: 'who',
    value: ({ policy: { quorum, approvers } }) =>
      `${quorum} of ${
        approvers.anyone
          ? 'everyone who may review'
          : [...approvers.teams, ...(approvers.onCall ?? []).map((id) => `on call ${id}`), ...approvers.people].join(
              ', ',
            )
      }`,
  },
  { title: 'via', value: ({ policy }) => policy.via.join(', ') },
  { title: 'mode', value: ({ policy }) => policy.mode },
];

export const listPolicies: DefineCommand = (command, context) => {
  command.action(async () => {
    const { policies } = await (await context.connect()).listApprovalPolicies();
    context.output.printTable(policies, POLICIES, 'No policies: everyone who may review decides alone.');
  });
};

export const explainPolicy: DefineCommand = (command, context) => {
  command
    .argument('<agent>', 'id of the agent')
    .argument('<tool>', 'name of the tool')
    .action(async (agentId, toolName) => {
      const answer = await (await context.connect()).explainApprovalPolicy({ body: { agentId, toolName } });
      const { policy } = answer;
      context.output.print(answer, () =>
        policy === null
          ? 'No policy matches: everyone who may review decides alone.'
          : `The policy "${policy.policy.name}" (${policy.id}) applies.`,
      );
    });
};
