import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { tool } from '../tools/tool.ts';
import { ToolRegistry } from '../tools/tool-registry.ts';
import { PermissionManager } from './permission-manager.ts';
import { PermissionRule, type RuleScope } from './rule.ts';

const who = { sessionId: 's1', agentType: 'coder' };
const editor = tool<{ path: string }>({
  ...{ name: 'edit', description: 'Edits.', category: 'write', input: { type: 'object' } },
  execute: () => null,
  pathsOf: ({ path }) => [path],
});
const reader = tool({
  ...{ name: 'read', description: 'Reads.', category: 'read', input: { type: 'object' }, requiresPermission: false },
  execute: () => null,
});
const tools = new ToolRegistry([editor, reader]);
const check = (rules: readonly PermissionRule[], name = 'edit', input: { path?: string } = { path: 'a.ts' }) =>
  new PermissionManager({ tools, rules }).check(name, input, who);

describe('permission rules', () => {
  it('ask if no rule matches, and allow if the tool needs no permission', () => {
    expect(check([]).decision).toBe('ask-user');
    expect(check([], 'read').decision).toBe('allow');
    expect(check([PermissionRule.askForTool('read')], 'read').decision).toBe('ask-user');
  });

  it('apply by scope, then by priority, then by specificity', () => {
    const session: RuleScope = { kind: 'session', sessionId: 's1' };
    expect(
      check([PermissionRule.allowTool('edit'), PermissionRule.askForTool('edit', { scope: session })]).decision,
    ).toBe('ask-user');
    expect(check([PermissionRule.allowTool('edit'), PermissionRule.askForTool('edit', { priority: 1 })]).decision).toBe(
      'ask-user',
    );
    expect(check([PermissionRule.all('ask-user'), PermissionRule.allowTool('edit')]).decision).toBe('allow');
    expect(
      check([
        PermissionRule.askForTool('edit', { scope: { kind: 'session', sessionId: 'other' } }),
        PermissionRule.allowCategory('write'),
      ]).decision,
    ).toBe('allow');
  });

  it('never let an allow override a deny, unless the deny is overridable', () => {
    const allow = PermissionRule.allowTool('edit', { scope: { kind: 'user' }, priority: 100 });
    expect(check([PermissionRule.denyCategory('write'), allow]).decision).toBe('deny');
    expect(check([PermissionRule.denyCategory('write', { overridable: true }), allow]).decision).toBe('allow');
  });

  it('keep a deny when any allows are added', () => {
    const scope = fc.constantFrom<RuleScope>(
      { kind: 'global' },
      { kind: 'agent', agentType: 'coder' },
      { kind: 'session', sessionId: 's1' },
      { kind: 'user' },
    );
    const matcher = fc.constantFrom(
      ...[
        PermissionRule.all('allow').matcher,
        PermissionRule.allowTool('edit').matcher,
        PermissionRule.allowTool('read').matcher,
      ],
      ...[
        PermissionRule.allowCategory('write').matcher,
        PermissionRule.allowPath('**').matcher,
        PermissionRule.denyMatching('a').matcher,
      ],
    );
    const rule = fc.record({
      id: fc.uuid(),
      scope,
      priority: fc.integer({ min: -5, max: 5 }),
      matcher,
      decision: fc.constantFrom('allow' as const, 'deny' as const, 'ask-user' as const),
    });
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 8 }), fc.array(rule, { maxLength: 8 }), (rules, more) => {
        fc.pre(check(rules).decision === 'deny');
        const allows = more.map((each) => ({ ...each, decision: 'allow' as const, id: `more ${each.id}` }));
        expect(check([...rules, ...allows]).decision).toBe('deny');
      }),
      { numRuns: 2_000 },
    );
  });

  it('recognise every spelling of a path', () => {
    const rules = [PermissionRule.allowPath('src/**'), PermissionRule.denyPath('**/secret.ts')];
    expect(check(rules, 'edit', { path: 'src/a/b.ts' }).decision).toBe('allow');
    expect(check(rules, 'edit', { path: './src/../src/b.ts' }).decision).toBe('allow');
    expect(check(rules, 'edit', { path: 'src/../other.ts' }).decision).toBe('ask-user');
    expect(check(rules, 'edit', { path: 'x/../src/./secret.ts' }).decision).toBe('deny');
  });

  it("pass only a parent's denies down", () => {
    const parent = new PermissionManager({
      tools,
      rules: [
        PermissionRule.denyTool('edit', { scope: { kind: 'session', sessionId: 'p' } }),
        PermissionRule.allowTool('read'),
      ],
    });
    const child = new PermissionManager({
      tools,
      rules: [PermissionRule.allowTool('edit'), PermissionRule.askForTool('read')],
    }).withFloorOf(parent, { sessionId: 'p', agentType: 'lead' });
    const grandchild = new PermissionManager({ tools, rules: [PermissionRule.all('allow')] }).withFloorOf(child, who);
    expect(child.check('edit', {}, who).decision).toBe('deny');
    expect(child.check('read', {}, who).decision).toBe('ask-user');
    expect(grandchild.check('edit', {}, { sessionId: 'g', agentType: 'x' }).decision).toBe('deny');
  });

  it('list tools that do not exist', () => {
    const permissions = new PermissionManager({
      rules: [PermissionRule.allowTool('Edit'), PermissionRule.denyCategory('network')],
    });
    expect(permissions.lint(tools)).toEqual([expect.stringContaining('"Edit"'), expect.stringContaining('"network"')]);
  });

  it('reject a pattern that cannot be compiled', () => {
    expect(() => check([PermissionRule.denyMatching('(?<=a)b')])).toThrow(
      expect.objectContaining({ code: 'invalid_config' }),
    );
  });
});
