import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { Prompt } from './prompt.ts';

function terminal(signal = new AbortController().signal) {
  const input = new PassThrough();
  const shown: string[] = [];
  const prompt = new Prompt(input, { write: (text) => shown.push(text) }, signal);
  return { input, prompt, shown: () => shown.join('') };
}

describe('a prompt', () => {
  it('shows the question and the typed text', async () => {
    const { input, prompt, shown } = terminal();
    const answer = prompt.ask('Go on? ');
    input.write('yes\r');
    expect(await answer).toBe('yes');
    expect(shown()).toContain('Go on? ');
    expect(shown()).toContain('yes');
  });

  it('shows the question but not a typed secret', async () => {
    const { input, prompt, shown } = terminal();
    const answer = prompt.askSecret('Key: ');
    input.write('agk_live_secret\r');
    expect(await answer).toBe('agk_live_secret');
    expect(shown()).toContain('Key: ');
    expect(shown()).not.toContain('secret');
  });

  it('ends without an answer if the question is withdrawn or the program is interrupted', async () => {
    const answered = new AbortController();
    const waiting = terminal().prompt.ask('Or here? ', answered.signal);
    answered.abort();
    await expect(waiting).rejects.toThrow('aborted');
    const interrupted = new AbortController();
    const asking = terminal(interrupted.signal).prompt.ask('Go on? ');
    interrupted.abort();
    await expect(asking).rejects.toThrow('aborted');
  });
});
