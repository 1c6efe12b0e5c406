import type { AnswerOf, CommandContext, DefineCommand } from '../context.ts';
import { CommandError, EXIT, usageError } from '../errors.ts';
import { plainText } from '../output/table.ts';
import { documentOf } from '../parse.ts';

type Client = Awaited<ReturnType<CommandContext['connect']>>;
type Provider = AnswerOf<'listIdentityProviders'>['providers'][number];

interface AccessFile {
  readonly policies: readonly { readonly id: string; readonly policy: object }[];
  readonly mapping: readonly { readonly provider: string; readonly lines: readonly object[] }[];
  readonly routes: object | undefined;
}

/** One difference between the file and the platform. */
interface Step {
  readonly text: string;
  apply(client: Client): Promise<unknown>;
}

export const planAccess: DefineCommand = (command, context) => {
  command
    .argument('<file>', 'approval policies, mappings of providers and routes as YAML or JSON; "-" for stdin')
    .option('--detailed-exitcode', `exit with ${EXIT.changes} if there are changes`)
    .action(async (file, { detailedExitcode }) => {
      const { steps, left } = await compare(file, context, await context.connect());
      context.output.print(
        steps.map(({ text }) => text),
        () => describe(steps, left),
      );
      if (detailedExitcode === true && steps.length > 0)
        throw new CommandError('There are changes.', { exitCode: EXIT.changes });
    });
};

export const applyAccess: DefineCommand = (command, context) => {
  command
    .argument('<file>', 'approval policies, mappings of providers and routes as YAML or JSON; "-" for stdin')
    .action(async (file) => {
      const client = await context.connect();
      const { steps, left } = await compare(file, context, client);
      context.output.note(describe(steps, left));
      if (steps.length > 0) await context.confirm('Apply these changes?');
      // Each names the version that the plan has seen, so a change by others is refused and not overwritten.
      for (const step of steps) await step.apply(client);
      context.output.print({ applied: steps.length }, () => `Applied ${steps.length} changes.`);
    });
};

function describe(steps: readonly Step[], left: readonly string[]): string {
  const unlisted = left.length === 0 ? [] : [`Not in the file, left unchanged: ${left.join(', ')}`];
  const sum = steps.length === 0 ? 'No changes.' : `${steps.length} changes.`;
  return [...steps.map(({ text }) => text), ...unlisted, sum].map(plainText).join('\n');
}

async function compare(file: string, { host }: CommandContext, client: Client) {
  const wanted = await readAccess(file, await documentOf(file, host));
  const [stored, { providers }, routes] = await Promise.all([
    client.listApprovalPolicies(),
    wanted.mapping.length === 0 ? { providers: [] } : client.listIdentityProviders(),
    client.getRoutes(),
  ]);
  const named = new Set(wanted.policies.map(({ id }) => id));
  return {
    steps: [
      ...wanted.policies.flatMap((one, n) => comparePolicy(one, n + 1, stored.policies)),
      ...wanted.mapping.flatMap((one) => compareMapping(one, providers)),
      ...compareRoutes(wanted.routes, routes),
    ],
    left: stored.policies.filter(({ id }) => !named.has(id)).map(({ id }) => `policy ${id}`),
  };
}

type StoredPolicies = AnswerOf<'listApprovalPolicies'>['policies'];

function comparePolicy({ id, policy }: AccessFile['policies'][number], place: number, stored: StoredPolicies): Step[] {
  const before = stored.find((one) => one.id === id);
  const fields = before === undefined ? [] : findChanged(before.policy, policy);
  if (before !== undefined && before.place !== place) fields.push('place');
  if (before !== undefined && fields.length === 0) return [];
  const body = { policy, place } as { policy: StoredPolicies[number]['policy']; place: number };
  return [
    {
      text: before === undefined ? `+ policy ${id}` : `~ policy ${id}: ${fields.join(', ')}`,
      apply: (client) => client.setApprovalPolicy({ params: { id }, body, ifMatch: before?.version ?? 0 }),
    },
  ];
}

function compareMapping(
  { provider: id, lines }: AccessFile['mapping'][number],
  providers: readonly Provider[],
): Step[] {
  const before = providers.find((one) => one.id === id);
  if (before === undefined)
    throw usageError(`There is no sign-in provider "${id}"`, 'Create it first, in the console.');
  if (isEqual(before.mapping, lines)) return [];
  const { id: _, hasSecret: _h, readOnly: _r, redirectUri: _u, version, ...settings } = before;
  const body = { ...settings, mapping: lines as unknown as Provider['mapping'] };
  return [
    {
      text: `~ mapping of ${before.name}: ${before.mapping.length} lines become ${lines.length}`,
      apply: (client) => client.updateIdentityProvider({ params: { id }, body, ifMatch: version }),
    },
  ];
}

function compareRoutes(wanted: object | undefined, { document, version }: AnswerOf<'getRoutes'>): Step[] {
  if (wanted === undefined || (document !== null && isEqual(document, wanted))) return [];
  return [
    {
      text: document === null ? '+ routes' : `~ routes: ${findChanged(document, wanted).join(', ')}`,
      apply: (client) => client.setRoutes({ body: wanted as { routes: [] }, ifMatch: version }),
    },
  ];
}

/** Names of members that differ. */
function findChanged(before: object, after: object): string[] {
  const [old, next] = [before as Record<string, unknown>, after as Record<string, unknown>];
  return [...new Set([...Object.keys(old), ...Object.keys(next)])].filter((name) => !isEqual(old[name], next[name]));
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}

/** Reads the file with the schemas of the platform, so that what it leaves out has the defaults. */
async function readAccess(file: string, document: unknown): Promise<AccessFile> {
  const { ApprovalPolicy, RoutingDocument } = await import('@agentlens/contracts/schemas');
  const problems: string[] = [];
  const root = objectAt(document, file);
  const { apiVersion, policies = [], mapping = [], routes, ...unknown } = root;
  if (apiVersion !== 'agentlens/v1') problems.push('apiVersion: must be agentlens/v1');
  problems.push(...Object.keys(unknown).map((name) => `${name}: is unknown; known are policies, mapping and routes`));
  const read = <T>(
    at: string,
    schema: {
      safeParse(value: unknown): { data?: T; error?: { issues: readonly { path: PropertyKey[]; message: string }[] } };
    },
    value: unknown,
  ): T[] => {
    const { data, error } = schema.safeParse(value);
    problems.push(...(error?.issues ?? []).map(({ path, message }) => `${[at, ...path].join('.')}: ${message}`));
    return data === undefined ? [] : [data];
  };
  const found = {
    policies: listAt(policies, 'policies').flatMap((one, n) => {
      const { id, ...policy } = objectAt(one, `policies.${n}`);
      if (typeof id !== 'string') problems.push(`policies.${n}.id: is required`);
      return read(`policies.${n}`, ApprovalPolicy, policy).map((valid) => ({ id: String(id), policy: valid }));
    }),
    mapping: listAt(mapping, 'mapping').map((one, n) => {
      const { provider, lines } = objectAt(one, `mapping.${n}`);
      if (typeof provider !== 'string') problems.push(`mapping.${n}.provider: is required`);
      const all = listAt(lines, `mapping.${n}.lines`).map((line, at) => objectAt(line, `mapping.${n}.lines.${at}`));
      return { provider: String(provider), lines: all };
    }),
    routes: routes === undefined ? undefined : read('routes', RoutingDocument, routes)[0],
  };
  if (problems.length > 0) throw new CommandError(`${file} is invalid`, { details: problems });
  return found;
}

function objectAt(value: unknown, at: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw usageError(`${at} must be a mapping with members`);
}

function listAt(value: unknown, at: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw usageError(`${at} must be a list`);
}
