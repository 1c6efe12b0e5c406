import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as contracts from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';

const { BUS_ACCESS, COMMANDS, TOPICS } = contracts;
const root = join(import.meta.dirname, '..');

/** Names under which the topics are exported. */
const topicNames = new Map(Object.entries(contracts).filter(([, value]) => TOPICS.some((topic) => topic === value)));
const commandNames = new Map(Object.entries(COMMANDS));

/** What libs do for a service: evict keys and report their use, follow orders, publish decisions, give up messages. */
const IN_LIBS = new Set<object>([
  contracts.keysChanged,
  contracts.keyUsed,
  contracts.controlOrdered,
  contracts.directiveIssued,
  contracts.deadLetters,
  contracts.pricesChanged,
  contracts.decisionDecided,
  // What a gateway that decides itself follows and asks.
  ...[contracts.breakerChanged, contracts.breakersDue, contracts.rulesChanged, COMMANDS.decide, COMMANDS.tenantBook],
]);

describe.each(Object.entries<contracts.BusAccess>(BUS_ACCESS))('what %s may do on the bus', (service, access) => {
  const code = globSync(`services/${service}/src/**/*.ts`, { cwd: root })
    .filter((file) => !/\.(spec|testing)\.ts$/.test(file))
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n');
  const worked = /\bCONSUMERS\b/.test(code) ? contracts.CONSUMERS.map(({ topic }): object => topic) : [];
  const topics = [...topicNames].filter(
    ([name, topic]) => new RegExp(`\\b${name}\\b`).test(code) || worked.some((one) => one === topic),
  );
  const commands = [...commandNames].filter(([name]) => new RegExp(`\\bCOMMANDS\\.${name}\\b`).test(code));

  it('is every topic its code names', () => {
    const allowed = new Set<unknown>([...access.publishes, ...access.reads]);
    expect(topics.filter(([, topic]) => !allowed.has(topic)).map(([name]) => name)).toEqual([]);
  });

  it('is every command its code names', () => {
    const allowed = new Set<unknown>([...access.asks, ...access.answers]);
    expect(commands.filter(([, command]) => !allowed.has(command)).map(([name]) => name)).toEqual([]);
  });

  it('is nothing that its code does not name', () => {
    const named = new Set<unknown>([...topics, ...commands].map(([, value]) => value));
    const all: { name?: string; subject: unknown }[] = [
      ...access.publishes,
      ...access.reads,
      ...access.asks,
      ...access.answers,
    ];
    const unused = all.filter((one) => !named.has(one) && !IN_LIBS.has(one));
    expect(unused.map(({ name, subject }) => name ?? subject)).toEqual([]);
  });
});

it('every consumer group of the services is in the list that the lag is shown of', () => {
  const code = globSync('services/*/src/**/*.ts', { cwd: root })
    .filter((file) => !/\.(spec|testing)\.ts$/.test(file))
    .map((file) => readFileSync(join(root, file), 'utf8'));
  const named = new Set(code.flatMap((text) => [...text.matchAll(/\bGROUPS\.(\w+)/g)].map(([, name = '']) => name)));
  expect([...named].sort()).toEqual(Object.keys(contracts.GROUPS).sort());
  expect(contracts.CONSUMERS.map(({ group }) => group).sort()).toEqual(Object.values(contracts.GROUPS).sort());
  // A group spelled at the place where it is joined would be missing above.
  expect(code.filter((text) => /\bgroup: ['"`]/.test(text))).toEqual([]);
});

it('every command has one owner', () => {
  const owned = Object.values<contracts.BusAccess>(BUS_ACCESS).flatMap(({ answers }) =>
    answers.map((one) => one.subject),
  );
  const commands = Object.values(COMMANDS).map((one): string => one.subject);
  const inOrder = (subjects: readonly string[]) => subjects.toSorted((a, b) => (a < b ? -1 : 1));
  expect(inOrder(owned)).toEqual(inOrder(commands));
});
