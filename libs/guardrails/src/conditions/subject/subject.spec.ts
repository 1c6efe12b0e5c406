import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

const about = { subjects: [{ subjectType: 'patient', value: '7', idSystem: 'nhs' }] };

describe('subject', () => {
  it.each([
    [{ subjectType: 'patient' }, true],
    [{ subjectType: 'patient', idSystem: 'nhs', value: '7' }, true],
    [{ subjectType: 'patient', idSystem: 'other' }, false],
    [{ subjectType: 'patient', role: 'payer' }, false],
    [{ subjectType: 'customer' }, false],
  ])('%j is %s', (config, answer) => expect(answerTo('subject', config, about)).toBe(answer));

  it('can be required', () => {
    const required = { condition: { type: 'subject', config: { subjectType: 'customer' } } };
    expect(answerTo('not', required, about)).toBe(true);
  });
});
