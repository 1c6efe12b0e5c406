import { eventually } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './client.ts';
import { ConnectedClient, type Era, type Way } from './mcp-client.ts';
import type { PlatformUnderTest } from './platform-under-test.ts';

/** What an MCP client does with the platform, in any mode. */
export function describeMcp(mode: string, start: () => Promise<PlatformUnderTest>): void {
  describe(`the MCP server ${mode}`, () => {
    let platform: PlatformUnderTest;
    let adminKey: string;
    const open: ConnectedClient[] = [];
    beforeAll(async () => {
      platform = await start();
      adminKey = (await platform.keyOf('acme', 'admin')).key;
      await new Client(platform, adminKey).post('/api/guardrails', {
        name: 'Payments need a human',
        conditionType: 'tool_name',
        conditionConfig: { value: 'pay*' },
        actionType: 'require_approval',
        actionConfig: { title: 'May it pay?' },
      });
      await eventually(async () => expect((await platform.ruleCounts()).every((count) => count === 1)).toBe(true));
    });
    afterEach(async () => {
      await Promise.all(open.splice(0).map((client) => client.close()));
    });
    afterAll(() => platform?.stop());

    const connect = async (way: Way, era: Era, key: string, user?: (question: string) => boolean) => {
      const client = await ConnectedClient.connect({ platform, way, era, key, user });
      open.push(client);
      return client;
    };

    /** Lets an agent ask whether it may pay and wait for a person. Returns the id of the approval. */
    const askToPay = async (key: string, runId: string): Promise<string> => {
      const asked = await new Client(platform, key).post(`/v1/runs/${runId}/evaluate`, {
        ...{ phase: 'tool.before', agentId: 'payer', tool: { name: 'pay_invoice' }, args: { amount: 10 } },
        ...{ tags: {}, deadlineMs: 5_000 },
      });
      expect(asked.body).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'HITL_PENDING' } });
      const { body } = await new Client(platform, adminKey).get(`/api/alerts?kind=approval&runId=${runId}`);
      return body.alerts[0].id;
    };

    describe.each<[Way, Era]>([
      ['http', '2026'],
      ['stdio', '2026'],
      ['stdio', '2025'],
    ])('over %s with a client of %s that can ask its user', (way, era) => {
      it('lists tools, describes the rules, creates a shadow rule, and approves only what another user asked for and the user confirms', async () => {
        const questions: string[] = [];
        let answer = false;
        const client = await connect(way, era, adminKey, (question) => {
          questions.push(question);
          return answer;
        });

        const { tools } = await client.sdk.listTools();
        expect(tools.map(({ name }) => name)).toContain('agentlens_guardrails');
        const status = await client.call('guardrails');
        expect(status.data).toMatchObject({
          action: 'status',
          rules: expect.arrayContaining([expect.objectContaining({ name: 'Payments need a human', enabled: true })]),
          triggers: [],
        });

        const name = `No shell (${way}, ${era})`;
        const rule = { name, conditionType: 'tool_name', conditionConfig: { value: 'shell*' }, actionType: 'block' };
        const made = await client.call('guardrails', { action: 'create', rule });
        expect(made.data).toMatchObject({ rule: { name, mode: 'shadow' } });
        expect(questions).toEqual([]);
        const shortest = await client.call('guardrails', { limit: 1 });
        expect(shortest.data).toMatchObject({ action: 'status', rules: [{ name }] });

        const own = await askToPay(adminKey, `${way}-${era}-own`);
        const refused = await client.call('approvals', { action: 'approve', approvalId: own });
        expect(refused).toMatchObject({ isError: true, text: expect.stringMatching(/never approves its own call/) });
        expect(questions).toEqual([]);

        const others = await askToPay((await platform.keyOf('acme', 'ingest', 'decide')).key, `${way}-${era}-other`);
        const declined = await client.call('approvals', { action: 'approve', approvalId: others });
        expect(declined).toMatchObject({ isError: true, text: expect.stringMatching(/did not confirm/) });
        answer = true;
        const approved = await client.call('approvals', { action: 'approve', approvalId: others });
        expect(approved.data).toMatchObject({ approval: { status: 'approved' } });
        expect(questions).toHaveLength(2);
        expect(questions[0]).toMatch(/pay_invoice with \{"amount":10\}/);
      });
    });

    it('answers every action without parameters, with a link to the console and less than 32 kB', async () => {
      const client = await connect('http', '2026', (await platform.keyOf('acme', 'read')).key);
      const { tools } = await client.sdk.listTools();
      const calls = tools.flatMap(({ name, inputSchema: { properties = {} } }) => {
        const { enum: actions = [undefined] } = (properties.action ?? {}) as { enum?: readonly string[] };
        return actions.map((action) => ({ tool: name.replace('agentlens_', ''), args: action ? { action } : {} }));
      });
      expect(calls.length).toBeGreaterThan(25);
      for (const { tool, args } of calls) {
        const { isError, text, data } = await client.call(tool, args);
        if (isError)
          expect({ tool, args, text }).toMatchObject({ text: expect.stringMatching(/^"\w+" needs .+ Example: \{/) });
        else
          expect({ tool, args, data }).toMatchObject({
            data: { notice: expect.any(String), url: expect.stringMatching(/^http/) },
          });
        expect(text.length).toBeLessThan(32_000);
      }
    });

    it("counts a user's answer for its own question only, once", async () => {
      const sent: { readonly url: string; readonly init: RequestInit; readonly text: string }[] = [];
      const recorded: typeof fetch = (input, init = {}) => {
        const url = input instanceof Request ? input.url : input.toString();
        if (typeof init.body === 'string') sent.push({ url, init, text: init.body });
        return fetch(input, init);
      };
      const user = () => true;
      const client = await ConnectedClient.connect({
        ...{ platform, way: 'http', era: '2026', key: adminKey, user, fetch: recorded },
      });
      open.push(client);
      await client.call('control', { action: 'kill', scope: 'agent', id: 'confirmed' });
      const [asking, answering] = sent.slice(-2);
      const send = async (request = answering, changes: object = {}) => {
        const { id, params, ...rest } = JSON.parse(request?.text ?? '');
        const body = JSON.stringify({ ...rest, id: `${id}-again`, params: { ...params, ...changes } });
        const answer = await fetch(request?.url ?? '', { ...request?.init, body, signal: null });
        return answer.text();
      };
      const invalid = /belongs to another question, was used before/;
      expect(await send()).toMatch(invalid);
      const target = { action: 'kill', scope: 'agent', id: 'other' };
      const [, requestState] = /"requestState":"([^"]+)"/.exec(await send(asking)) ?? [];
      expect(await send(answering, { requestState, arguments: target })).toMatch(invalid);
      expect(await send(answering, { requestState: undefined })).toMatch(invalid);
      const { body } = await new Client(platform, adminKey).get('/api/control?state=killed');
      expect(JSON.stringify(body)).not.toContain('"other"');
      expect(await send(answering, { requestState })).toMatch(/killed/);
    });

    it('names the person of X-AgentLens-Actor in the audit log', async () => {
      const person = 'Zoë';
      const named: typeof fetch = (input, init = {}) => {
        const headers = new Headers(init.headers);
        headers.set('x-agentlens-actor', Buffer.from(person).toString('latin1'));
        return fetch(input, { ...init, headers });
      };
      const client = await ConnectedClient.connect({
        ...{ platform, way: 'http', era: '2026', key: adminKey, fetch: named },
      });
      open.push(client);
      const rule = { name: 'By a person', conditionType: 'tool_name', conditionConfig: { value: 'x' } };
      const made = await client.call('guardrails', { action: 'create', rule: { ...rule, actionType: 'block' } });
      const { body } = await new Client(platform, adminKey).get(`/api/audit?kind=rule.created`);
      const entry = body.entries.find(({ targetId }: { targetId: string }) => targetId === made.data.rule.id);
      expect(JSON.stringify(entry)).toContain(person);
    });

    it('names a missing scope, and does only what the key allows', async () => {
      const client = await connect('http', '2026', (await platform.keyOf('acme', 'read')).key);
      const refused = await client.call('guardrails', { action: 'delete', ruleId: 'x', confirm: 'yes' });
      expect(refused).toMatchObject({ isError: true, text: expect.stringMatching(/scope \\?"admin\\?"/) });
    });

    it('rejects keys that may not read, requests without a key, and web pages', async () => {
      const send = (headers: Record<string, string>) =>
        fetch(`${platform.addressFor('POST', '/mcp')}/mcp`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
        });
      const { key } = await platform.keyOf('acme', 'ingest');
      expect((await send({})).status).toBe(401);
      expect((await send({ authorization: `Bearer ${key}` })).status).toBe(403);
      const page = await send({ authorization: `Bearer ${adminKey}`, origin: 'https://evil.example' });
      expect({ status: page.status, body: await page.json() }).toMatchObject({
        status: 403,
        body: { error: 'This page may not use the MCP server' },
      });
      expect((await send({ authorization: `Bearer ${adminKey}` })).status).toBe(200);
    });

    it('explains a block, drafts a rule, and reads a run and a rule by their addresses', async () => {
      const client = await connect('http', '2026', adminKey);
      await askToPay((await platform.keyOf('acme', 'ingest', 'decide')).key, 'run-of-prompts');
      const textOf = async (name: string, args: Record<string, string>) => {
        const { messages } = await client.sdk.getPrompt({ name, arguments: args });
        const [message] = messages;
        return message?.content.type === 'text' ? message.content.text : '';
      };
      await eventually(async () =>
        expect(await textOf('explain_block', { runId: 'run-of-prompts' })).toMatch(/Payments need a human/),
      );
      expect(await textOf('draft_guardrail', { goal: 'no payments at night' })).toMatch(/tool_name/);
      const { data } = await client.call('guardrails');
      const address = `agentlens://rules/${data.rules[0].id}`;
      const { contents } = await client.sdk.readResource({ uri: address });
      expect(contents).toEqual([
        expect.objectContaining({ uri: address, text: expect.stringContaining(data.rules[0].id) }),
      ]);
      const { resourceTemplates } = await client.sdk.listResourceTemplates();
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
        'agentlens://rules/{id}',
        'agentlens://runs/{id}',
      ]);
    });

    describe.each<[Way, Era]>([
      ['http', '2026'],
      ['http', '2025'],
      ['stdio', '2026'],
      ['stdio', '2025'],
    ])('over %s with a client of %s that cannot ask its user', (way, era) => {
      it('points to the console for an approval, and accepts the caller’s confirmation of a deletion', async () => {
        const client = await connect(way, era, adminKey);
        const approvalId = await askToPay((await platform.keyOf('acme', 'ingest', 'decide')).key, `${way}-${era}-mute`);
        const refused = await client.call('approvals', { action: 'approve', approvalId, confirm: 'yes' });
        expect(refused).toMatchObject({ isError: true, text: expect.stringMatching(/http:\/\/.+\/approvals$/) });

        const rule = {
          name: 'Short-lived',
          conditionType: 'tool_name',
          conditionConfig: { value: 'x' },
          actionType: 'block',
        };
        const made = await client.call('guardrails', { action: 'create', rule });
        const gone = { action: 'delete', ruleId: made.data.rule.id };
        const { isError, text } = await client.call('guardrails', gone);
        const [, confirm] = /repeat the call with "confirm": "([^"]+)"/.exec(text) ?? [];
        expect({ isError, confirm }).toEqual({ isError: true, confirm: expect.any(String) });
        const other = await client.call('guardrails', { action: 'disable', ruleId: gone.ruleId, confirm });
        expect(other).toMatchObject({ isError: true, text: expect.stringMatching(/not valid for this question/) });
        expect((await client.call('guardrails', { ...gone, confirm })).data).toMatchObject({ deleted: gone.ruleId });
      });
    });
  });
}
