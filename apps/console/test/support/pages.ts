import { call, type Target } from './traffic.ts';

export interface PageAddress {
  readonly name: string;
  readonly path: string;
}

/** Every page, with ids of what the platform holds. */
export async function pagesOf(target: Target): Promise<PageAddress[]> {
  const { runs } = await call(target, 'GET', '/api/runs?agentId=research-agent&limit=1');
  const { runs: two } = await call(target, 'GET', '/api/runs?agentId=support-bot&limit=2');
  const { rules } = await call(target, 'GET', '/api/guardrails');
  const rule = rules.find(({ conditionType }: { conditionType: string }) => conditionType === 'all') ?? rules[0];
  const run = runs[0] === undefined ? [] : [{ name: 'run', path: `/runs/${runs[0].id}` }];
  return [
    { name: 'now', path: '/' },
    { name: 'runs', path: '/runs' },
    ...run,
    { name: 'live', path: '/live' },
    ...(two.length < 2 ? [] : [{ name: 'compare', path: `/runs/compare?a=${two[1].id}&b=${two[0].id}` }]),
    { name: 'decisions', path: '/decisions' },
    { name: 'rules', path: '/guardrails' },
    ...(rule === undefined
      ? []
      : [
          { name: 'rule', path: `/guardrails/${rule.id}` },
          { name: 'rule-edit', path: `/guardrails/${rule.id}?tab=edit` },
        ]),
    { name: 'rule-new', path: '/guardrails/new' },
    { name: 'approvals', path: '/approvals' },
    { name: 'alerts', path: '/alerts' },
    { name: 'agents', path: '/agents' },
    { name: 'agent', path: '/agents/research-agent' },
    { name: 'spend', path: '/spend' },
    { name: 'breakers', path: '/breakers' },
    { name: 'deliveries', path: '/deliveries' },
    { name: 'channels', path: '/channels' },
    { name: 'audit', path: '/audit' },
    { name: 'system', path: '/system' },
    { name: 'settings', path: '/settings' },
    { name: 'people', path: '/settings/people' },
    { name: 'teams', path: '/settings/teams' },
    { name: 'providers', path: '/settings/providers' },
    { name: 'policies', path: '/settings/policies' },
    { name: 'connections', path: '/settings/connections' },
    { name: 'log', path: '/settings/log' },
    { name: 'model-calls', path: '/model-calls' },
    { name: 'you', path: '/you' },
    { name: 'connect', path: '/connect' },
    { name: 'more', path: '/more' },
    { name: 'gallery', path: '/gallery' },
  ];
}
