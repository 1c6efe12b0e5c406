import { agentEvents, guardrailTriggered, TOPICS } from '@agentlens/contracts';
import { aBatch, aTrigger } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { streamOf, subjectMatches } from './subject-matches.ts';

describe('subjects', () => {
  it.each([
    ['a.b', 'a.b', true],
    ['a.*', 'a.b', true],
    ['a.*', 'a.b.c', false],
    ['a.*', 'a', false],
    ['a.>', 'a.b.c', true],
    ['a.>', 'a', false],
    ['*.b', 'a.b', true],
    ['*.b', 'a.c', false],
    ['>', 'a', true],
  ])('%s against %s is %s', (pattern, subject, expected) => {
    expect(subjectMatches(pattern, subject)).toBe(expected);
  });

  it('of the catalog match their own patterns and streams', () => {
    expect(subjectMatches(agentEvents.pattern(), agentEvents.subject(aBatch()))).toBe(true);
    expect(subjectMatches(guardrailTriggered.pattern('acme'), guardrailTriggered.subject(aTrigger()))).toBe(true);
    for (const topic of TOPICS) expect(streamOf(topic.pattern('acme')) ?? null).toBe(topic.stream);
  });
});
