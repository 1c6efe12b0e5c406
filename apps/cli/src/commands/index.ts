import type { CommandTree } from '../context.ts';

/** Every command. A file is read when its command is used. */
export const COMMANDS: CommandTree = {
  rules: {
    summary: 'guardrail rules',
    alias: 'guardrails',
    commands: {
      list: { summary: 'rules, newest first', load: async () => (await import('./rules.ts')).listRules },
      get: {
        summary: 'a rule, what it measures now and when it fired',
        load: async () => (await import('./rules.ts')).getRule,
      },
      create: { summary: 'make a rule from a file', load: async () => (await import('./rules.ts')).createRule },
      validate: {
        summary: 'check a rule, or files of rules',
        load: async () => (await import('./rules-as-code.ts')).validateRules,
      },
      enable: { summary: 'switch a rule on', load: async () => (await import('./rules.ts')).enableRule },
      disable: { summary: 'switch a rule off', load: async () => (await import('./rules.ts')).disableRule },
      delete: { summary: 'delete a rule', load: async () => (await import('./rules.ts')).deleteRule },
      versions: {
        summary: 'what was changed of a rule, by whom and why',
        load: async () => (await import('./rules.ts')).ruleVersions,
      },
      revert: {
        summary: 'let a rule say again what an earlier version said',
        load: async () => (await import('./rules.ts')).revertRule,
      },
      history: {
        summary: 'when rules fired and what their actions did',
        load: async () => (await import('./rules.ts')).ruleHistory,
      },
      pull: {
        summary: 'write rules of the platform as a file',
        load: async () => (await import('./rules-as-code.ts')).pullRules,
      },
      test: {
        summary: 'run tests of files of rules, without a platform',
        load: async () => (await import('./rules-as-code.ts')).testRules,
      },
      plan: {
        summary: 'what applying files of rules would change',
        load: async () => (await import('./rules-as-code.ts')).planRules,
      },
      apply: {
        summary: 'make a ruleset what its files say',
        load: async () => (await import('./rules-as-code.ts')).applyRules,
      },
    },
  },
  runs: {
    summary: 'runs of agents',
    commands: {
      list: { summary: 'runs, newest first', load: async () => (await import('./runs.ts')).listRuns },
      show: { summary: 'a run and its story', load: async () => (await import('./runs.ts')).showRun },
      tree: {
        summary: 'a run and the runs it started',
        load: async () => (await import('./runs.ts')).showRunTree,
      },
      pause: {
        summary: 'block every call of a run until it is resumed',
        load: async () => (await import('./runs.ts')).pauseRun,
      },
      resume: { summary: 'let a run go on', load: async () => (await import('./runs.ts')).resumeRun },
      kill: { summary: 'end a run', load: async () => (await import('./runs.ts')).killRun },
    },
  },
  tail: { summary: 'follow what happens, live', load: async () => (await import('./tail.ts')).tail },
  events: {
    summary: 'events of agents',
    commands: {
      list: { summary: 'events, newest first', load: async () => (await import('./events.ts')).listEvents },
      get: { summary: 'an event with its payload', load: async () => (await import('./events.ts')).getEvent },
    },
  },
  decisions: {
    summary: 'what was decided about calls',
    commands: {
      list: {
        summary: 'decisions, newest first',
        load: async () => (await import('./events.ts')).listDecisions,
      },
    },
  },
  approvals: {
    summary: 'calls that wait for a human',
    commands: {
      list: { summary: 'what waits now', load: async () => (await import('./alerts.ts')).listApprovals },
      show: { summary: 'one of them', load: async () => (await import('./alerts.ts')).showAlert },
      approve: {
        summary: 'let exactly this call go ahead, once',
        load: async () => (await import('./alerts.ts')).approveApproval,
      },
      deny: { summary: 'refuse the call', load: async () => (await import('./alerts.ts')).denyApproval },
      watch: {
        summary: 'follow approvals as they are asked and decided',
        load: async () => (await import('./alerts.ts')).watchApprovals,
      },
    },
  },
  alerts: {
    summary: 'what people should see',
    commands: {
      list: { summary: 'alerts, newest first', load: async () => (await import('./alerts.ts')).listAlerts },
      show: { summary: 'one alert', load: async () => (await import('./alerts.ts')).showAlert },
      acknowledge: {
        summary: 'say that you have seen it',
        load: async () => (await import('./alerts.ts')).acknowledgeAlert,
      },
      cancel: {
        summary: 'close it without judging it',
        load: async () => (await import('./alerts.ts')).cancelAlert,
      },
    },
  },
  agents: {
    summary: 'the agents of the tenant',
    commands: {
      list: {
        summary: 'agents, the one heard of last first',
        load: async () => (await import('./agents.ts')).listAgents,
      },
      show: {
        summary: 'an agent and what stands against it',
        load: async () => (await import('./agents.ts')).showAgent,
      },
      health: {
        summary: 'health scores, the worst first',
        load: async () => (await import('./agents.ts')).agentHealth,
      },
      unpause: {
        summary: 'end a pause that a rule made',
        load: async () => (await import('./agents.ts')).unpauseAgent,
      },
    },
  },
  kill: { summary: 'end a run, an agent, or all of the tenant', load: async () => (await import('./orders.ts')).kill },
  pause: {
    summary: 'pause a run, an agent, or all of the tenant',
    load: async () => (await import('./orders.ts')).pause,
  },
  resume: {
    summary: 'resume a run, an agent, or all of the tenant',
    load: async () => (await import('./orders.ts')).resume,
  },
  budgets: {
    summary: 'money that may be spent',
    commands: {
      list: { summary: 'budgets, newest first', load: async () => (await import('./budgets.ts')).listBudgets },
      show: {
        summary: 'a budget and what is left of it',
        load: async () => (await import('./budgets.ts')).showBudget,
      },
      create: { summary: 'make a budget', load: async () => (await import('./budgets.ts')).createBudget },
      delete: { summary: 'delete a budget', load: async () => (await import('./budgets.ts')).deleteBudget },
    },
  },
  breakers: {
    summary: 'circuit breakers',
    commands: {
      list: {
        summary: 'breakers that ever opened',
        load: async () => (await import('./breakers.ts')).listBreakers,
      },
      limits: { summary: 'when they open', load: async () => (await import('./breakers.ts')).breakerLimits },
      reset: { summary: 'close a breaker', load: async () => (await import('./breakers.ts')).resetBreaker },
    },
  },
  spend: { summary: 'what agents and models cost', load: async () => (await import('./budgets.ts')).spend },
  deliveries: {
    summary: 'how the actions of rules were carried out',
    commands: {
      list: {
        summary: 'deliveries, newest first',
        load: async () => (await import('./webhooks.ts')).listDeliveries,
      },
      replay: {
        summary: 'carry an action out once more',
        load: async () => (await import('./webhooks.ts')).replayDelivery,
      },
    },
  },
  webhooks: {
    summary: 'addresses that are told of what happens',
    commands: {
      list: {
        summary: 'the webhooks of the tenant',
        load: async () => (await import('./webhooks.ts')).listWebhooks,
      },
      create: {
        summary: 'have an address told',
        load: async () => (await import('./webhooks.ts')).createWebhook,
      },
      enable: { summary: 'send to it again', load: async () => (await import('./webhooks.ts')).enableWebhook },
      disable: {
        summary: 'send nothing any more',
        load: async () => (await import('./webhooks.ts')).disableWebhook,
      },
      test: {
        summary: 'send a message that says it is a test',
        load: async () => (await import('./webhooks.ts')).testWebhook,
      },
      deliveries: {
        summary: 'what it was sent and what came of it',
        load: async () => (await import('./webhooks.ts')).webhookDeliveries,
      },
      'rotate-secret': {
        summary: 'make a new signing secret',
        load: async () => (await import('./webhooks.ts')).rotateWebhookSecret,
      },
      delete: { summary: 'delete a webhook', load: async () => (await import('./webhooks.ts')).deleteWebhook },
    },
  },
  tenants: {
    summary: 'tenants of the platform (needs a platform key)',
    commands: {
      list: { summary: 'tenants, newest first', load: async () => (await import('./tenants.ts')).listTenants },
      create: {
        summary: 'make a tenant and its first admin key',
        load: async () => (await import('./tenants.ts')).createTenant,
      },
    },
  },
  keys: {
    summary: 'API keys of the tenant',
    commands: {
      list: { summary: 'every key, without its secret', load: async () => (await import('./keys.ts')).listKeys },
      create: { summary: 'make a key', load: async () => (await import('./keys.ts')).createKey },
      rotate: { summary: 'replace a key by a new one', load: async () => (await import('./keys.ts')).rotateKey },
      revoke: { summary: 'end a key', load: async () => (await import('./keys.ts')).revokeKey },
    },
  },
  audit: { summary: 'who changed what, newest first', load: async () => (await import('./events.ts')).audit },
  settings: {
    summary: 'what holds for the whole tenant',
    commands: {
      show: { summary: 'the settings', load: async () => (await import('./tenants.ts')).showSettings },
      set: { summary: 'change settings', load: async () => (await import('./tenants.ts')).setSettings },
    },
  },
  check: { summary: 'ask whether a call may happen', load: async () => (await import('./check.ts')).check },
  login: { summary: 'keep an address and a key as a profile', load: async () => (await import('./profiles.ts')).login },
  logout: { summary: 'remove a profile', load: async () => (await import('./profiles.ts')).logout },
  profiles: {
    summary: 'kept addresses and keys',
    commands: {
      list: {
        summary: 'the profiles, without their keys',
        load: async () => (await import('./profiles.ts')).listProfiles,
      },
      use: { summary: 'choose the profile to use', load: async () => (await import('./profiles.ts')).useProfile },
    },
  },
  doctor: {
    summary: 'find out what is wrong with the connection, the key, the clock or a proxy',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  demo: { summary: 'watch an agent go wrong and be stopped', load: async () => (await import('./demo/index.ts')).demo },
  'dead-letters': {
    summary: 'messages that no consumer could handle (needs NATS)',
    usual: 'list',
    commands: {
      list: {
        summary: 'what consumer groups gave up on',
        load: async () => (await import('./nats.ts')).listDeadLetters,
      },
      redrive: {
        summary: 'send one again to its group',
        load: async () => (await import('./nats.ts')).redriveDeadLetter,
      },
    },
  },
  'nats-sub': {
    summary: 'print what is published on a subject (needs NATS)',
    load: async () => (await import('./nats.ts')).natsSub,
  },
  mcp: { summary: 'serve MCP clients on stdin and stdout', load: async () => (await import('./api.ts')).mcp },
  api: { summary: 'send any request to the API', load: async () => (await import('./api.ts')).api },
  completion: {
    summary: 'print a script that completes commands in a shell',
    load: async () => (await import('./completion.ts')).completion,
  },
  complete: {
    summary: 'what may stand in the place of the last word',
    hidden: true,
    load: async () => (await import('./completion.ts')).complete,
  },
};
