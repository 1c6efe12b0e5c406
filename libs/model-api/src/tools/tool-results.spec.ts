import { describe, expect, it } from '@jest/globals';
import type { ModelApi } from '../model-dialect.ts';
import { scanObject } from '../scan-object.ts';
import { readToolResults } from './tool-results.ts';

function read(api: ModelApi, body: object) {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  return readToolResults(api, bytes, scanObject(bytes));
}

const CALL = { name: 'search', args: { q: 'a' } };
const text = JSON.stringify(CALL.args);

/** A conversation with one earlier result and a new one. */
const CONVERSATIONS: readonly (readonly [ModelApi, object])[] = [
  [
    'messages',
    {
      messages: [
        { role: 'user', content: 'Find it' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c0', name: 'search', input: CALL.args }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c0', content: 'earlier' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'search', input: CALL.args }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'new' }] }],
        },
        { role: 'user', content: 'Go on' },
      ],
    },
  ],
  [
    'chat',
    {
      messages: [
        { role: 'user', content: 'Find it' },
        { role: 'assistant', tool_calls: [{ id: 'c0', function: { name: 'search', arguments: text } }] },
        { role: 'tool', tool_call_id: 'c0', content: 'earlier' },
        { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'search', arguments: text } }] },
        { role: 'tool', tool_call_id: 'c1', content: 'new' },
      ],
    },
  ],
  [
    'responses',
    {
      input: [
        { role: 'user', content: 'Find it' },
        { type: 'function_call', call_id: 'c0', name: 'search', arguments: text },
        { type: 'function_call_output', call_id: 'c0', output: 'earlier' },
        { type: 'message', role: 'assistant', content: [] },
        { type: 'function_call', call_id: 'c1', name: 'search', arguments: text },
        { type: 'function_call_output', call_id: 'c1', output: 'new' },
      ],
    },
  ],
  [
    'generate',
    {
      contents: [
        { role: 'user', parts: [{ text: 'Find it' }] },
        { role: 'model', parts: [{ functionCall: { id: 'c0', ...CALL } }] },
        { role: 'user', parts: [{ functionResponse: { id: 'c0', name: 'search', response: 'earlier' } }] },
        { role: 'model', parts: [{ functionCall: { id: 'c1', ...CALL } }] },
        { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'search', response: 'new' } }] },
      ],
    },
  ],
];

describe('tool results in a request', () => {
  it.each(CONVERSATIONS)('of %s are those after the last answer, with their calls', (api, body) => {
    expect(read(api, body)).toEqual([{ callId: 'c1', call: CALL, result: 'new' }]);
  });

  it('of Responses alternate with their calls, and may refer to an earlier response', () => {
    const pair = (id: string) => [
      { type: 'function_call', call_id: id, name: 'search', arguments: text },
      { type: 'function_call_output', call_id: id, output: id },
    ];
    const input = [{ role: 'user', content: 'Go' }, ...pair('c1'), ...pair('c2')];
    expect(read('responses', { input }).map(({ callId }) => callId)).toEqual(['c1', 'c2']);
    const alone = { input: [{ type: 'custom_tool_call_output', call_id: 'c3', output: 'x' }] };
    expect(read('responses', alone)).toEqual([{ callId: 'c3', call: undefined, result: 'x' }]);
  });

  it('of Gemini may have no id', () => {
    const contents = [
      { role: 'model', parts: [{ function_call: { name: 'search', args: { q: 1 } } }] },
      { role: 'function', parts: [{ function_response: { name: 'search', response: { a: 1 } } }] },
    ];
    expect(read('generate', { contents })).toEqual([
      { callId: 'search', call: { name: 'search', args: { q: 1 } }, result: { a: 1 } },
    ]);
  });

  it('are not found in plain conversations and in other APIs', () => {
    expect(read('messages', { messages: [{ role: 'user', content: 'tool_result' }] })).toEqual([]);
    expect(read('responses', { input: 'a_output"' })).toEqual([]);
    expect(read('embeddings', { input: 'x' })).toEqual([]);
  });

  it('have a limit', () => {
    const one = { role: 'tool', tool_call_id: 'c', content: '' };
    const messages = Array.from({ length: 257 }, () => one);
    expect(() => read('chat', { messages })).toThrow(expect.objectContaining({ member: 'messages' }));
  });
});
