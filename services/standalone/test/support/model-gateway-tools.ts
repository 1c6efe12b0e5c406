import { eventually, SAID, say } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { Client } from './client.ts';
import { DIALECTS, type Dialect, type GatewayWorld, question, REFUSED } from './model-gateway-world.ts';

const TOOLS: Readonly<Record<Dialect, (name: string) => object>> = {
  anthropic: (name) => ({ name, input_schema: { type: 'object' } }),
  openai: (name) => ({ type: 'function', function: { name, parameters: {} } }),
  responses: (name) => ({ type: 'function', name, parameters: {} }),
  gemini: (name) => ({ functionDeclarations: [{ name }] }),
};

/** The next request of an agent that ran the tool. */
function withResult(dialect: Dialect, result: string): object {
  const [id, name, args] = ['call-1', 'read_mail', { folder: 'inbox' }];
  const asked = question(dialect) as { readonly messages?: object[]; readonly contents?: object[] };
  if (dialect === 'anthropic') {
    const used = { role: 'assistant', content: [{ type: 'tool_use', id, name, input: args }] };
    const told = { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: result }] };
    return { messages: [...(asked.messages ?? []), used, told] };
  }
  if (dialect === 'openai') {
    const called = [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }];
    const used = { role: 'assistant', content: null, tool_calls: called };
    return { messages: [...(asked.messages ?? []), used, { role: 'tool', tool_call_id: id, content: result }] };
  }
  if (dialect === 'responses') {
    return {
      input: [
        { role: 'user', content: 'What is it?' },
        { type: 'function_call', call_id: id, name, arguments: JSON.stringify(args) },
        { type: 'function_call_output', call_id: id, output: result },
      ],
    };
  }
  const used = { role: 'model', parts: [{ functionCall: { id, name, args } }] };
  const told = { role: 'user', parts: [{ functionResponse: { id, name, response: { text: result } } }] };
  return { contents: [...(asked.contents ?? []), used, told] };
}

/** Tool calls inside answers, and their results in the next request. */
export function describeToolCalls(world: GatewayWorld): void {
  const { newTenant, call } = world;

  /** Creates a rule about tools and waits until it applies. */
  const addRule = async (admin: Client, rule: object) => {
    const created = await admin.post('/api/guardrails', { mode: 'enforce', ...rule });
    expect({ ...created.body, status: created.status }).toMatchObject({ status: 201 });
    return created.body as { readonly id: string };
  };
  const deny = (name: string) => ({
    ...{ name: `No ${name}`, conditionType: 'tool_name', actionType: 'block' },
    ...{ conditionConfig: { value: name }, actionConfig: { message: 'Not today' } },
    selector: { phases: ['tool.before'], tools: [name] },
  });
  const decisionsOf = async (admin: Client) =>
    (await admin.get('/api/decisions?agentId=bot')).body.decisions as {
      readonly phase: string;
      readonly toolName?: string;
      readonly callId?: string;
      readonly verdict: string;
    }[];

  describe.each(DIALECTS)('a tool call in an answer of %s', (dialect) => {
    const tools = [
      { id: 'call-1', name: 'send_money', args: { amount: 7 } },
      { id: 'call-2', name: 'get_weather', args: { city: 'Bern' } },
    ];
    const body = { tools: ['send_money', 'get_weather'].map(TOOLS[dialect]) };

    it.each([true, false])('is blocked before the agent sees it, streamed: %s', async (stream) => {
      const { admin, key } = await newTenant();
      await addRule(admin, deny('send_money'));
      world.provider.answer(say({ ...SAID, tools }));
      const headers = { 'x-agentlens-run': `run-tools-${stream}` };
      await eventually(async () => {
        const text = await (await call(dialect, key, { body: { ...body, stream }, headers })).text();
        expect(text).toContain('Tool send_money was blocked: Not today. Decision ');
        expect(text).not.toContain('amount');
        expect(text).toContain('get_weather');
        expect(text).toContain('Bern');
      });
      await eventually(async () => {
        const decisions = await decisionsOf(admin);
        const told = decisions.map(({ phase, toolName, verdict }) => [phase, toolName, verdict].join(' '));
        expect(told).toContain('tool.before send_money BLOCK');
        expect(told).toContain('tool.before get_weather ALLOW');
      });
    });

    it.each([true, false])(
      'ends its answer and its run for a while if a rule says so, streamed: %s',
      async (stream) => {
        const { admin, key } = await newTenant();
        await addRule(admin, { ...deny('send_money'), name: 'End it', actionType: 'terminate_run' });
        world.provider.answer(say({ ...SAID, tools }));
        const headers = { 'x-agentlens-run': `run-ended-${stream}` };
        await eventually(async () => {
          const text = await (await call(dialect, key, { body: { ...body, stream }, headers })).text();
          expect(text).toContain('AgentLens stopped this answer at the tool send_money: Not today. Decision ');
          expect(text).not.toContain('amou');
        });
        const asked = world.provider.requests.length;
        const next = await call(dialect, key, { headers });
        expect(next.status).toBe(REFUSED[dialect].policy);
        expect(await next.text()).toContain('Not today');
        expect(world.provider.requests.length).toBe(asked);
      },
    );

    it('gets the arguments that a rule sets', async () => {
      const { admin, key } = await newTenant();
      await addRule(admin, {
        ...{ name: 'Small amounts', conditionType: 'tool_name', actionType: 'modify_arguments' },
        ...{ conditionConfig: { value: 'send_money' }, actionConfig: { set: { amount: 1 } } },
        selector: { phases: ['tool.before'], tools: ['send_money'] },
      });
      world.provider.answer(say({ ...SAID, tools }));
      await eventually(async () => {
        const text = await (await call(dialect, key, { body: { ...body, stream: true } })).text();
        expect(text.replaceAll('\\', '')).toMatch(/"amount":1\D/);
        expect(text.replaceAll('\\', '')).not.toContain('"amount":7');
      });
    });

    it('waits inside the stream until a person approves it', async () => {
      const { admin, key } = await newTenant();
      await addRule(admin, {
        ...{ name: 'Ask first', conditionType: 'tool_name', actionType: 'require_approval' },
        ...{ conditionConfig: { value: 'send_money' }, actionConfig: {} },
        selector: { phases: ['tool.before'], tools: ['send_money'] },
      });
      world.provider.answer(say({ ...SAID, tools: tools.slice(0, 1) }));
      let text = Promise.resolve('');
      const findApproval = async () => {
        const { alerts } = (await admin.get('/api/alerts?kind=approval')).body;
        expect(alerts).toHaveLength(1);
        return alerts[0] as { readonly id: string };
      };
      const approval = await eventually(async () => {
        text = call(dialect, key, { body: { ...body, stream: true } }).then((answer) => answer.text());
        // Until the rule applies, the answer passes.
        const found = await Promise.race([text.then(() => undefined), eventually(findApproval)]);
        if (found === undefined) throw new Error('the rule does not apply yet');
        return found;
      });
      expect((await admin.post(`/api/alerts/${approval.id}/approve`, {})).status).toBeLessThan(300);
      expect(await text).toContain('send_money');
      expect((await text).replaceAll('\\', '')).toContain('nt":7');
    });

    it('has a result that is decided before the model reads it', async () => {
      const { admin, key } = await newTenant();
      await addRule(admin, {
        ...{ name: 'No secrets', conditionType: 'expression', actionType: 'block' },
        conditionConfig: { expression: `${dialect === 'gemini' ? 'result.text' : 'result'}.contains("hunter2")` },
        actionConfig: { message: 'The result has a secret' },
        selector: { phases: ['tool.after'], tools: ['read_mail'] },
      });
      const headers = { 'x-agentlens-run': 'run-results' };
      const sent = { tools: [TOOLS[dialect]('read_mail')] };
      await eventually(async () => {
        const asked = world.provider.requests.length;
        const answer = await call(dialect, key, { body: { ...sent, ...withResult(dialect, 'hunter2') }, headers });
        expect(answer.status).toBe(REFUSED[dialect].policy);
        expect(await answer.text()).toContain('The result has a secret');
        expect(world.provider.requests.length).toBe(asked);
      });
      expect((await call(dialect, key, { body: { ...sent, ...withResult(dialect, 'fine') }, headers })).status).toBe(
        200,
      );
      await eventually(async () => {
        const after = (await decisionsOf(admin)).find(
          ({ phase, verdict }) => phase === 'tool.after' && verdict === 'ALLOW',
        );
        expect(after).toMatchObject({ toolName: 'read_mail', callId: 'call-1' });
      });
    });
  });
}
