import type { Client } from '@agentlens/client';
import { ToolRefusal } from '../answer.ts';
import type { McpSession } from '../session.ts';
import type { Confirmation } from '../tool.ts';
import { AGENT, actionsWith, id, type McpTool, PAGE, RANGE, RUN, reason, USUAL_LIMIT, words } from '../tool.ts';

type Alert = Awaited<ReturnType<Client['getAlert']>>;

const PATH = '/approvals';

const fields = {
  ...AGENT,
  ...RUN,
  ...RANGE,
  ...PAGE,
  approvalId: id,
  status: words.describe('default pending,acknowledged'),
  reason,
};
const action = actionsWith(fields);

const deciding = { scope: 'review', needs: ['approvalId'], takes: ['reason'] } as const;

export const approvals: McpTool = {
  name: 'approvals',
  title: 'Approvals',
  description:
    'Tool calls that need approval. approve and deny ask the user of this client; a call asked for with the same key cannot be approved.',
  fields,
  actions: {
    list: action({
      scope: 'read',
      takes: ['status', 'agentId', 'runId', 'from', 'to', 'limit', 'cursor'],
      run: async (
        { client },
        { limit = USUAL_LIMIT, status = 'pending,acknowledged', agentId, runId, from, to, cursor },
      ) => ({
        ...{ list: 'approvals', limit, path: PATH },
        ask: async (most) => {
          const query = { kind: 'approval', status, agentId, runId, from, to, cursor, limit: most };
          const { alerts, ...page } = await client.listAlerts({ query });
          return { approvals: alerts, ...page };
        },
      }),
    }),
    get: action({
      scope: 'read',
      needs: ['approvalId'],
      run: async (session, { approvalId }) => ({
        value: { approval: await approvalOf(session, approvalId) },
        path: PATH,
      }),
    }),
    approve: action({
      ...deciding,
      confirm: async (session, { approvalId }) => {
        const approval = await approvalOf(session, approvalId);
        refuseOwn(approval, session);
        return asked('Approve this call, once?', approval);
      },
      run: async ({ client }, { approvalId, reason }) => ({
        value: { approval: await client.approveAlert({ params: { id: approvalId }, body: { reason } }) },
        path: PATH,
      }),
    }),
    deny: action({
      ...deciding,
      confirm: async (session, { approvalId }) => asked('Deny this call?', await approvalOf(session, approvalId)),
      run: async ({ client }, { approvalId, reason }) => ({
        value: { approval: await client.denyAlert({ params: { id: approvalId }, body: { reason } }) },
        path: PATH,
      }),
    }),
    cancel: action({
      ...deciding,
      confirm: async (session, { approvalId }) =>
        asked('Close this question without a decision? The call stays blocked.', await approvalOf(session, approvalId)),
      run: async ({ client }, { approvalId, reason }) => ({
        value: { approval: await client.cancelAlert({ params: { id: approvalId }, body: { reason } }) },
        path: PATH,
      }),
    }),
    acknowledge: action({
      ...deciding,
      run: async ({ client }, { approvalId, reason }) => ({
        value: { approval: await client.acknowledgeAlert({ params: { id: approvalId }, body: { reason } }) },
        path: PATH,
      }),
    }),
  },
};

function approvalOf({ client }: McpSession, approvalId: string): Promise<Alert> {
  return client.getAlert({ params: { id: approvalId } });
}

/** A key, even an admin key, cannot approve a call it asked for. */
function refuseOwn({ askedBy }: Alert, { keyId, consoleUrl }: McpSession): void {
  if (askedBy !== keyId) return;
  throw new ToolRefusal(
    'This call was asked for with the key of this client, and an agent never approves its own call. Nothing was changed. ' +
      `Another person can decide it: ${consoleUrl}${PATH}`,
  );
}

/** The exact call, as reviewers see it in the console. */
function asked(question: string, { message, runId, approval, ruleId, expiresAt }: Alert): Confirmation {
  const lines = [
    question,
    message,
    `Run: ${runId ?? 'none'}`,
    `Rule: ${ruleId ?? 'none'}`,
    ...(approval === undefined ? [] : [`SHA-256 of the arguments: ${approval.argsHash}`]),
    ...(expiresAt === undefined ? [] : [`Expires: ${expiresAt}`]),
  ];
  return { question: lines.join('\n'), onlyAsked: { path: PATH } };
}
