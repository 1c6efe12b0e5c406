// Reads release notes over HTTP, keeps what concerns the API, and summarises: two tools in one run.
//
//   node libs/agent/examples/two-tools.mjs
//
// The notes come from a local server; the host lets the agent reach that address only.
import { createServer } from 'node:http';
import { Agent, AgentRuntime, PermissionRule } from '@agentlens/agent';
import { httpConnector, kvConnector } from '@agentlens/agent/connectors';
import { localHost, secret } from '@agentlens/agent/host';
import { ScriptedModel } from '@agentlens/agent/testing';

const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ version: '2.0', changes: ['the v1 API is removed'], key: request.headers['x-key'] }));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${server.address().port}/notes`;

process.env.NOTES_KEY = 'only the host knows this';
const host = localHost({ root: '.', network: { allow: ['127.0.0.1'], networks: ['127.0.0.1/32'] } });
const agent = new Agent({
  id: 'release-notes',
  taskPrompt: 'Summarise the changes of the newest release that concern the API.',
  tools: [httpConnector({ headers: { 'x-key': secret('NOTES_KEY') } }), kvConnector()],
  permissions: [PermissionRule.allowTool('http')],
  modelProviders: [
    new ScriptedModel([
      { text: 'I fetch the notes.', toolCalls: [{ name: 'http', input: { url } }] },
      {
        toolCalls: [
          { name: 'kv', input: { op: 'set', key: 'notes', value: 'v1 API removed' } },
          { name: 'http', input: { url: 'http://example.com/' } },
        ],
      },
      { text: 'Version 2.0 removes the v1 API.' },
    ]),
  ],
  runtime: new AgentRuntime({ host }),
});
const result = await agent.run();
for (const { toolId, output } of result.actions) console.log(toolId, JSON.stringify(output));
console.log(result.result);
await host.close();
server.close();
