import { describe, expect, it } from '@jest/globals';
import { outputText, RunMessageLog, textOf } from './message-log.ts';

const user = (content: unknown) => ({ role: 'user', content });

describe('the message log', () => {
  it('finds new messages in a growing history', () => {
    const log = new RunMessageLog();
    expect(log.newOnes([user('a')])).toEqual([0]);
    expect(log.newOnes([user('a'), user('b')])).toEqual([1]);
    expect(log.newOnes([user('a'), user('b')])).toEqual([]);
  });

  it('finds them when the history was pruned or reordered', () => {
    const log = new RunMessageLog();
    log.newOnes([user('a'), user('b'), user('c')]);
    expect(log.newOnes([user('c'), user('d'), user('a')])).toEqual([1]);
  });

  it('counts the same text sent twice as two messages', () => {
    const log = new RunMessageLog();
    expect(log.newOnes([user('yes')])).toEqual([0]);
    expect(log.newOnes([user('yes'), user('yes')])).toEqual([1]);
    expect(log.newOnes([user('yes'), user('yes')])).toEqual([]);
  });

  it('counts every message as new if only new ones are passed', () => {
    const log = new RunMessageLog();
    expect(log.newOnes([user('yes')], 'delta')).toEqual([0]);
    expect(log.newOnes([user('yes')], 'delta')).toEqual([0]);
    expect(log.newOnes([user('yes'), user('yes')])).toEqual([]);
  });

  it('distinguishes roles', () => {
    const log = new RunMessageLog();
    expect(log.newOnes([user('a'), { role: 'system', content: 'a' }])).toEqual([0, 1]);
  });

  it('detects that a message object was changed', () => {
    const log = new RunMessageLog();
    const message = { role: 'user', content: 'a' };
    log.newOnes([message]);
    message.content = 'b';
    expect(log.newOnes([message])).toEqual([0]);
  });

  it("recognises the model's answer in the framework's format", () => {
    const log = new RunMessageLog();
    log.remember({ role: 'assistant', content: [{ type: 'tool_call', toolCallId: 'c1', toolName: 't' }] });
    log.remember({ role: 'assistant', content: [{ type: 'text', text: 'hello' }] });
    const history = [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 't', input: {} }] },
      { role: 'assistant', content: 'hello' },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', output: 1 }] },
    ];
    expect(log.newOnes(history)).toEqual([2]);
  });
});

describe('text', () => {
  it('takes text parts as text and writes others as JSON', () => {
    expect(textOf('a')).toBe('a');
    expect(
      textOf([
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ]),
    ).toBe('ab');
    expect(textOf([{ type: 'image', url: 'x' }])).toBe('[{"type":"image","url":"x"}]');
    expect(outputText([{ type: 'tool_call', toolName: 't' }])).toBe('[{"type":"tool_call","toolName":"t"}]');
    expect(outputText([])).toBe('');
  });
});
