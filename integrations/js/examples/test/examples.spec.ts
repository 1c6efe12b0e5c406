import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { block, needApproval, TestPlatform } from '@agentlens/sdk/testing';
import { served } from '../../conformance/src/http-test-server.ts';

const run = promisify(execFile);

interface ModelRequest {
  readonly messages: readonly unknown[];
}

/** What the model's API answers: a call of the tool, or text. */
interface Dialect {
  readonly file: string;
  readonly env: (url: string) => Record<string, string>;
  readonly call: object;
  readonly text: object;
}

const CALL = { name: 'refund', eur: { eur: 20 } };
const completion = (message: object) => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 0, model: 'gpt-4.1-mini' },
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 },
});
const message = (block: object) => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-haiku-4-5', stop_reason: 'end_turn' },
  content: [block],
  usage: { input_tokens: 11, output_tokens: 3 },
});

const DIALECTS: readonly Dialect[] = [
  {
    file: 'openai-agent.mjs',
    env: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'test' }),
    call: completion({
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: CALL.name, arguments: JSON.stringify(CALL.eur) } },
      ],
    }),
    text: completion({ content: 'Done.' }),
  },
  {
    file: 'anthropic-agent.mjs',
    env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'test' }),
    call: message({ type: 'tool_use', id: 'call_1', name: CALL.name, input: CALL.eur }),
    text: message({ type: 'text', text: 'Done.' }),
  },
];

/** The example as a user runs it, between a platform and a model that speak HTTP. */
async function played({ file, env }: Dialect, platform: TestPlatform, answers: (turn: number) => object) {
  const requests: ModelRequest[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      requests.push(body as ModelRequest);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answers(requests.length)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const model = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const agentlens = await served(platform);
  try {
    const flags = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];
    const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
    const { stdout } = await run(process.execPath, [...flags, path], {
      env: { PATH: '', AGENTLENS_URL: agentlens.url, AGENTLENS_API_KEY: 'test', ...env(model) },
    });
    return { stdout, requests };
  } finally {
    await agentlens.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

for (const dialect of DIALECTS)
  void describe(dialect.file, () => {
    const firstCallThenText = (turn: number) => (turn === 1 ? dialect.call : dialect.text);

    void it('calls its tool when a human has approved, and its tokens are counted', async () => {
      const platform = new TestPlatform();
      let asked = 0;
      platform.rule({
        tools: ['refund'],
        answer: () => {
          // The second question is that of an agent that waits: a person has decided by then.
          if (++asked === 2) platform.approvals.approve();
          return needApproval();
        },
      });
      const { stdout, requests } = await played(dialect, platform, firstCallThenText);
      assert.equal(stdout, 'Done.\n');
      assert.match(JSON.stringify(requests[1]?.messages), /refunded 20 EUR/);
      assert.deepEqual(
        platform.eventsOf('llm.result').map(({ data }) => (data.tokens as { in: number }).in),
        [11, 11],
      );
      assert.equal(platform.runs[0]?.status, 'success');
      assert.deepEqual([asked, platform.eventsOf('decision.bypassed')], [2, []]);
    });

    void it('does not call a tool that a rule forbids, and the model hears why', async () => {
      const platform = new TestPlatform().rule({ tools: ['refund'], answer: block('Not today.') });
      const { requests } = await played(dialect, platform, firstCallThenText);
      assert.match(JSON.stringify(requests[1]?.messages), /Not today\./);
      assert.equal(platform.eventsOf('tool.result').length, 0);
    });

    void it('is stopped by its breaker when the model goes on and on', async () => {
      const platform = new TestPlatform();
      const { stdout, requests } = await played(dialect, platform, () => dialect.call);
      assert.match(stdout, /stopped: The circuit breaker of this run is open \(iterations\)/);
      assert.equal(requests.length, 5);
      assert.equal(platform.runs[0]?.status, 'interrupted');
    });

    void it('is stopped by an operator between two model calls', async () => {
      const platform = new TestPlatform();
      const { stdout } = await played(dialect, platform, (turn) => {
        if (turn === 2) platform.control.kill(platform.runs[0]?.id ?? '');
        return dialect.call;
      });
      assert.match(stdout, /stopped: This run was stopped/);
      assert.equal(platform.runs[0]?.status, 'interrupted');
    });
  });
