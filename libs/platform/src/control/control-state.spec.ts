import type { ControlOrder, Directive } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { controlStateOf } from './control-state.ts';

const AT = '2026-03-01T12:00:00.000Z';

const order = (scope: ControlOrder['scope'], state: ControlOrder['state']): ControlOrder => ({
  id: `${scope}-${state}`,
  tenantId: 'acme',
  scope,
  scopeId: 'x',
  state,
  reason: 'because',
  by: 'ops',
  version: 1,
  issuedAt: AT,
});
const directive = (fields: Partial<Directive>): Directive => ({
  id: 'd1',
  tenantId: 'acme',
  agentId: 'a',
  version: 1,
  paused: null,
  modelOverride: null,
  issuedAt: AT,
  ...fields,
});
const model = { model: 'small', at: AT, reason: 'cost' };

describe('the control state', () => {
  it('is `none` without orders', () => {
    expect(controlStateOf([undefined], undefined)).toEqual({ kind: 'none', modelOverride: null });
  });

  it.each([
    [['tenant', 'paused'], ['run', 'killed'], 'killed'],
    [['tenant', 'killed'], ['run', 'paused'], 'killed'],
    [['agent', 'paused'], ['run', 'running'], 'paused'],
    [['tenant', 'running'], ['run', 'running'], 'none'],
  ] as const)(
    'of %j and %j is %s: the most severe order wins, regardless of its scope',
    ([scope, state], [otherScope, otherState], kind) => {
      expect(controlStateOf([order(scope, state), order(otherScope, otherState)], undefined).kind).toBe(kind);
    },
  );

  it('is paused by a directive, with its reason and time', () => {
    expect(controlStateOf([], directive({ paused: { at: AT, reason: 'too many errors' } }))).toEqual({
      kind: 'paused',
      because: { id: 'd1', scope: 'agent', reason: 'too many errors', since: AT },
      modelOverride: null,
    });
  });

  it('keeps the model override in every state', () => {
    expect(controlStateOf([order('run', 'killed')], directive({ modelOverride: model }))).toMatchObject({
      kind: 'killed',
      modelOverride: { model: 'small' },
    });
    expect(controlStateOf([], directive({ modelOverride: model })).kind).toBe('none');
  });
});
