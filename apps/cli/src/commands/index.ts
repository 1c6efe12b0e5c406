import type { CommandTree } from '../command-file.ts';

/** Every command. A file is read when its command is used. */
export const COMMANDS: CommandTree = {
  rules: {
    summary: 'guardrail rules',
    alias: 'guardrails',
    commands: {
      list: { summary: 'rules, newest first', load: () => import('./rules/list.ts') },
      get: { summary: 'a rule, what it measures now and when it fired', load: () => import('./rules/get.ts') },
      create: { summary: 'make a rule from a file', load: () => import('./rules/create.ts') },
      validate: { summary: 'check a rule, or files of rules', load: () => import('./rules/validate.ts') },
      enable: { summary: 'switch a rule on', load: () => import('./rules/enable.ts') },
      disable: { summary: 'switch a rule off', load: () => import('./rules/disable.ts') },
      delete: { summary: 'delete a rule', load: () => import('./rules/delete.ts') },
      versions: { summary: 'what was changed of a rule, by whom and why', load: () => import('./rules/versions.ts') },
      revert: { summary: 'let a rule say again what an earlier version said', load: () => import('./rules/revert.ts') },
      history: { summary: 'when rules fired and what their actions did', load: () => import('./rules/history.ts') },
      pull: { summary: 'write rules of the platform as a file', load: () => import('./rules/pull.ts') },
      test: { summary: 'run tests of files of rules, without a platform', load: () => import('./rules/test.ts') },
      plan: { summary: 'what applying files of rules would change', load: () => import('./rules/plan.ts') },
      apply: { summary: 'make a ruleset what its files say', load: () => import('./rules/apply.ts') },
    },
  },
  runs: {
    summary: 'runs of agents',
    commands: {
      list: { summary: 'runs, newest first', load: () => import('./runs/list.ts') },
      show: { summary: 'a run and its story', load: () => import('./runs/show.ts') },
      tree: { summary: 'a run and the runs it started', load: () => import('./runs/tree.ts') },
      pause: { summary: 'block every call of a run until it is resumed', load: () => import('./runs/pause.ts') },
      resume: { summary: 'let a run go on', load: () => import('./runs/resume.ts') },
      kill: { summary: 'end a run', load: () => import('./runs/kill.ts') },
    },
  },
  tail: { summary: 'follow what happens, live', load: () => import('./tail.ts') },
  events: {
    summary: 'events of agents',
    commands: {
      list: { summary: 'events, newest first', load: () => import('./events/list.ts') },
      get: { summary: 'an event with its payload', load: () => import('./events/get.ts') },
    },
  },
  decisions: {
    summary: 'what was decided about calls',
    commands: { list: { summary: 'decisions, newest first', load: () => import('./decisions/list.ts') } },
  },
  approvals: {
    summary: 'calls that wait for a human',
    commands: {
      list: { summary: 'what waits now', load: () => import('./approvals/list.ts') },
      show: { summary: 'one of them', load: () => import('./alerts/show.ts') },
      approve: { summary: 'let exactly this call go ahead, once', load: () => import('./approvals/approve.ts') },
      deny: { summary: 'refuse the call', load: () => import('./approvals/deny.ts') },
      watch: { summary: 'follow approvals as they are asked and decided', load: () => import('./approvals/watch.ts') },
    },
  },
  alerts: {
    summary: 'what people should see',
    commands: {
      list: { summary: 'alerts, newest first', load: () => import('./alerts/list.ts') },
      show: { summary: 'one alert', load: () => import('./alerts/show.ts') },
      acknowledge: { summary: 'say that you have seen it', load: () => import('./alerts/acknowledge.ts') },
      cancel: { summary: 'close it without judging it', load: () => import('./alerts/cancel.ts') },
    },
  },
  agents: {
    summary: 'the agents of the tenant',
    commands: {
      list: { summary: 'agents, the one heard of last first', load: () => import('./agents/list.ts') },
      show: { summary: 'an agent and what stands against it', load: () => import('./agents/show.ts') },
      health: { summary: 'health scores, the worst first', load: () => import('./agents/health.ts') },
      unpause: { summary: 'end a pause that a rule made', load: () => import('./agents/unpause.ts') },
    },
  },
  kill: { summary: 'end a run, an agent, or all of the tenant', load: () => import('./kill.ts') },
  pause: { summary: 'pause a run, an agent, or all of the tenant', load: () => import('./pause.ts') },
  resume: { summary: 'resume a run, an agent, or all of the tenant', load: () => import('./resume.ts') },
  budgets: {
    summary: 'money that may be spent',
    commands: {
      list: { summary: 'budgets, newest first', load: () => import('./budgets/list.ts') },
      show: { summary: 'a budget and what is left of it', load: () => import('./budgets/show.ts') },
      create: { summary: 'make a budget', load: () => import('./budgets/create.ts') },
      delete: { summary: 'delete a budget', load: () => import('./budgets/delete.ts') },
    },
  },
  breakers: {
    summary: 'circuit breakers',
    commands: {
      list: { summary: 'breakers that ever opened', load: () => import('./breakers/list.ts') },
      limits: { summary: 'when they open', load: () => import('./breakers/limits.ts') },
      reset: { summary: 'close a breaker', load: () => import('./breakers/reset.ts') },
    },
  },
  spend: { summary: 'what agents and models cost', load: () => import('./spend.ts') },
  deliveries: {
    summary: 'how the actions of rules were carried out',
    commands: {
      list: { summary: 'deliveries, newest first', load: () => import('./deliveries/list.ts') },
      replay: { summary: 'carry an action out once more', load: () => import('./deliveries/replay.ts') },
    },
  },
  webhooks: {
    summary: 'addresses that are told of what happens',
    commands: {
      list: { summary: 'the webhooks of the tenant', load: () => import('./webhooks/list.ts') },
      create: { summary: 'have an address told', load: () => import('./webhooks/create.ts') },
      enable: { summary: 'send to it again', load: () => import('./webhooks/enable.ts') },
      disable: { summary: 'send nothing any more', load: () => import('./webhooks/disable.ts') },
      test: { summary: 'send a message that says it is a test', load: () => import('./webhooks/test.ts') },
      deliveries: { summary: 'what it was sent and what came of it', load: () => import('./webhooks/deliveries.ts') },
      'rotate-secret': { summary: 'make a new signing secret', load: () => import('./webhooks/rotate-secret.ts') },
      delete: { summary: 'delete a webhook', load: () => import('./webhooks/delete.ts') },
    },
  },
  tenants: {
    summary: 'tenants of the platform (needs a platform key)',
    commands: {
      list: { summary: 'tenants, newest first', load: () => import('./tenants/list.ts') },
      create: { summary: 'make a tenant and its first admin key', load: () => import('./tenants/create.ts') },
    },
  },
  keys: {
    summary: 'API keys of the tenant',
    commands: {
      list: { summary: 'every key, without its secret', load: () => import('./keys/list.ts') },
      create: { summary: 'make a key', load: () => import('./keys/create.ts') },
      rotate: { summary: 'replace a key by a new one', load: () => import('./keys/rotate.ts') },
      revoke: { summary: 'end a key', load: () => import('./keys/revoke.ts') },
    },
  },
  audit: { summary: 'who changed what, newest first', load: () => import('./audit.ts') },
  settings: {
    summary: 'what holds for the whole tenant',
    commands: {
      show: { summary: 'the settings', load: () => import('./settings/show.ts') },
      set: { summary: 'change settings', load: () => import('./settings/set.ts') },
    },
  },
  check: { summary: 'ask whether a call may happen', load: () => import('./check.ts') },
  login: { summary: 'keep an address and a key as a profile', load: () => import('./login.ts') },
  logout: { summary: 'remove a profile', load: () => import('./logout.ts') },
  profiles: {
    summary: 'kept addresses and keys',
    commands: {
      list: { summary: 'the profiles, without their keys', load: () => import('./profiles/list.ts') },
      use: { summary: 'choose the profile to use', load: () => import('./profiles/use.ts') },
    },
  },
  doctor: {
    summary: 'find out what is wrong with the connection, the key, the clock or a proxy',
    load: () => import('./doctor/index.ts'),
  },
  demo: { summary: 'watch an agent go wrong and be stopped', load: () => import('./demo/index.ts') },
  'dead-letters': {
    summary: 'messages that no consumer could handle (needs NATS)',
    usual: 'list',
    commands: {
      list: { summary: 'what consumer groups gave up on', load: () => import('./dead-letters/list.ts') },
      redrive: { summary: 'send one again to its group', load: () => import('./dead-letters/redrive.ts') },
    },
  },
  'nats-sub': {
    summary: 'print what is published on a subject (needs NATS)',
    load: () => import('./nats-sub.ts'),
  },
  mcp: { summary: 'serve MCP clients on stdin and stdout', load: () => import('./mcp.ts') },
  api: { summary: 'send any request to the API', load: () => import('./api.ts') },
  completion: {
    summary: 'print a script that completes commands in a shell',
    load: () => import('./completion/index.ts'),
  },
  complete: {
    summary: 'what may stand in the place of the last word',
    hidden: true,
    load: () => import('./completion/complete.ts'),
  },
};
