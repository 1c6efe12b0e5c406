import type { CommandTree } from '../context.ts';

/** Coding agents that `guard` has a command for. Written out, because loading the package would slow every start. */
const GUARDED = ['claude-code', 'codex', 'gemini-cli', 'qwen-code', 'copilot-cli', 'kimi-code', 'opencode'] as const;

/** The command tree. A module is loaded when one of its commands runs. */
export const COMMANDS: CommandTree = {
  rules: {
    summary: 'guardrail rules',
    alias: 'guardrails',
    commands: {
      list: { summary: 'list rules, newest first', load: async () => (await import('./rules.ts')).listRules },
      get: {
        summary: 'show a rule, its current measurement and its recent triggers',
        load: async () => (await import('./rules.ts')).getRule,
      },
      create: { summary: 'create a rule from a file', load: async () => (await import('./rules.ts')).createRule },
      validate: {
        summary: 'validate a rule, or rule files',
        load: async () => (await import('./rules-as-code.ts')).validateRules,
      },
      enable: { summary: 'enable a rule', load: async () => (await import('./rules.ts')).enableRule },
      disable: { summary: 'disable a rule', load: async () => (await import('./rules.ts')).disableRule },
      delete: { summary: 'delete a rule', load: async () => (await import('./rules.ts')).deleteRule },
      versions: {
        summary: 'show the versions of a rule: who changed what, and why',
        load: async () => (await import('./rules.ts')).ruleVersions,
      },
      revert: {
        summary: 'revert a rule to an earlier version',
        load: async () => (await import('./rules.ts')).revertRule,
      },
      history: {
        summary: 'show triggers and the results of their actions',
        load: async () => (await import('./rules.ts')).ruleHistory,
      },
      init: {
        summary: 'write a first rule file and its test',
        load: async () => (await import('./rule-files.ts')).initRules,
      },
      promote: {
        summary: 'make a rule of a file act, after showing what it would have stopped',
        load: async () => (await import('./rule-files.ts')).promoteRule,
      },
      pull: {
        summary: 'write rules of the platform to a file',
        load: async () => (await import('./rules-as-code.ts')).pullRules,
      },
      test: {
        summary: 'run rule tests locally, without a platform',
        load: async () => (await import('./rules-as-code.ts')).testRules,
      },
      backtest: {
        summary: 'show what the rules of files would have stopped',
        load: async () => (await import('./backtest.ts')).backtestRules,
      },
      plan: {
        summary: 'show what applying rule files would change',
        load: async () => (await import('./rules-as-code.ts')).planRules,
      },
      apply: {
        summary: 'make a ruleset match its files',
        load: async () => (await import('./rules-as-code.ts')).applyRules,
      },
    },
  },
  runs: {
    summary: 'inspect and control runs',
    commands: {
      list: {
        summary: 'list runs, newest or most expensive first',
        load: async () => (await import('./runs.ts')).listRuns,
      },
      search: {
        summary: 'find a text in prompts, answers, arguments, results and errors',
        load: async () => (await import('./runs.ts')).searchRuns,
      },
      show: { summary: 'show a run and its timeline', load: async () => (await import('./runs.ts')).showRun },
      tree: {
        summary: 'show a run and its sub-runs',
        load: async () => (await import('./runs.ts')).showRunTree,
      },
      limits: {
        summary: 'show or set the limits of run trees',
        load: async () => (await import('./runs.ts')).treeLimits,
      },
      pause: {
        summary: 'block every call of a run until you resume it',
        load: async () => (await import('./runs.ts')).pauseRun,
      },
      resume: { summary: 'resume a run', load: async () => (await import('./runs.ts')).resumeRun },
      kill: { summary: 'end a run', load: async () => (await import('./runs.ts')).killRun },
    },
  },
  labels: {
    summary: 'show or clear the data labels of a run tree',
    load: async () => (await import('./runs.ts')).runLabels,
  },
  tail: { summary: 'follow events, decisions and alerts live', load: async () => (await import('./tail.ts')).tail },
  events: {
    summary: 'events of agents',
    commands: {
      list: { summary: 'list events, newest first', load: async () => (await import('./events.ts')).listEvents },
      get: { summary: 'show an event with its payload', load: async () => (await import('./events.ts')).getEvent },
    },
  },
  decisions: {
    summary: 'decisions about calls',
    commands: {
      list: {
        summary: 'list decisions, newest first',
        load: async () => (await import('./events.ts')).listDecisions,
      },
      show: { summary: 'show a decision', load: async () => (await import('./events.ts')).showDecision },
      paths: {
        summary: 'show how many decisions gateways make, and why the evaluator is asked',
        load: async () => (await import('./events.ts')).decisionPaths,
      },
    },
  },
  incident: {
    summary: 'show the facts of a post-mortem as Markdown, or as JSON with --json',
    load: async () => (await import('./events.ts')).incident,
  },
  approvals: {
    summary: 'calls that need approval',
    commands: {
      list: { summary: 'list open approvals', load: async () => (await import('./alerts.ts')).listApprovals },
      show: { summary: 'show an approval', load: async () => (await import('./alerts.ts')).showAlert },
      approve: {
        summary: 'approve exactly this call, once',
        load: async () => (await import('./alerts.ts')).approveApproval,
      },
      deny: { summary: 'deny the call', load: async () => (await import('./alerts.ts')).denyApproval },
      watch: {
        summary: 'follow approval requests and decisions live',
        load: async () => (await import('./alerts.ts')).watchApprovals,
      },
    },
  },
  alerts: {
    summary: 'alerts for people',
    commands: {
      list: { summary: 'list alerts, newest first', load: async () => (await import('./alerts.ts')).listAlerts },
      show: { summary: 'one alert', load: async () => (await import('./alerts.ts')).showAlert },
      notices: {
        summary: 'who was notified of an alert or approval, and who was not',
        load: async () => (await import('./channels.ts')).alertNotices,
      },
      acknowledge: {
        summary: 'acknowledge an alert',
        load: async () => (await import('./alerts.ts')).acknowledgeAlert,
      },
      cancel: {
        summary: 'close an alert without a decision',
        load: async () => (await import('./alerts.ts')).cancelAlert,
      },
    },
  },
  agents: {
    summary: 'agents of the tenant',
    commands: {
      list: {
        summary: 'list agents, most recently active first',
        load: async () => (await import('./agents.ts')).listAgents,
      },
      show: {
        summary: 'show an agent and any pause, kill or breaker that holds it',
        load: async () => (await import('./agents.ts')).showAgent,
      },
      health: {
        summary: 'show health scores, lowest first',
        load: async () => (await import('./agents.ts')).agentHealth,
      },
      unpause: {
        summary: 'end a pause that a rule imposed',
        load: async () => (await import('./agents.ts')).unpauseAgent,
      },
    },
  },
  kill: {
    summary: 'kill a run, an agent or every agent of the tenant',
    load: async () => (await import('./orders.ts')).kill,
  },
  pause: {
    summary: 'pause a run, an agent or every agent of the tenant',
    load: async () => (await import('./orders.ts')).pause,
  },
  resume: {
    summary: 'resume a run, an agent or every agent of the tenant',
    load: async () => (await import('./orders.ts')).resume,
  },
  budgets: {
    summary: 'spending limits',
    commands: {
      list: { summary: 'list budgets, newest first', load: async () => (await import('./budgets.ts')).listBudgets },
      show: {
        summary: 'show a budget and its remaining amount',
        load: async () => (await import('./budgets.ts')).showBudget,
      },
      create: { summary: 'make a budget', load: async () => (await import('./budgets.ts')).createBudget },
      update: {
        summary: 'change the limit of a budget',
        load: async () => (await import('./budgets.ts')).updateBudget,
      },
      delete: { summary: 'delete a budget', load: async () => (await import('./budgets.ts')).deleteBudget },
    },
  },
  breakers: {
    summary: 'circuit breakers',
    commands: {
      list: {
        summary: 'list breakers that have opened',
        load: async () => (await import('./breakers.ts')).listBreakers,
      },
      limits: {
        summary: 'show the limits at which breakers open',
        load: async () => (await import('./breakers.ts')).breakerLimits,
      },
      reset: { summary: 'close a breaker', load: async () => (await import('./breakers.ts')).resetBreaker },
    },
  },
  spend: { summary: 'show the cost of agents and models', load: async () => (await import('./budgets.ts')).spend },
  prices: {
    summary: 'prices of models',
    usual: 'list',
    commands: {
      list: {
        summary: 'show the price table and own prices',
        load: async () => (await import('./prices.ts')).listPrices,
      },
      explain: {
        summary: 'show which price applies to a model, and why',
        load: async () => (await import('./prices.ts')).explainPrice,
      },
      set: { summary: 'set an own price', load: async () => (await import('./prices.ts')).setPrice },
      delete: { summary: 'delete an own price', load: async () => (await import('./prices.ts')).deletePrice },
      unpriced: {
        summary: 'list models without a known price',
        load: async () => (await import('./prices.ts')).unpricedModels,
      },
      update: {
        summary: 'load a newer price table (requires a platform key)',
        load: async () => (await import('./prices.ts')).updatePrices,
      },
    },
  },
  reprice: {
    summary: 'recalculate stored costs',
    load: async () => (await import('./prices.ts')).reprice,
  },
  log: {
    summary: 'the provable log',
    commands: {
      verify: {
        summary: 'compare the log with the database, and name the first difference',
        load: async () => (await import('./log.ts')).verifyLog,
      },
      checkpoint: {
        summary: 'print the newest signed checkpoint, to keep it',
        load: async () => (await import('./log.ts')).logCheckpoint,
      },
      key: {
        summary: 'print the key that verifies checkpoints and evidence',
        load: async () => (await import('./log.ts')).logKey,
      },
    },
  },
  evidence: {
    summary: 'print evidence for agentlens-verify',
    commands: {
      run: {
        summary: 'everything that the log has about a run',
        load: async () => (await import('./log.ts')).runEvidence,
      },
      decision: {
        summary: 'the entry of a decision',
        load: async () => (await import('./log.ts')).decisionEvidence,
      },
      approval: {
        summary: 'the entries of an approval and of the decisions about it',
        load: async () => (await import('./log.ts')).approvalEvidence,
      },
      order: {
        summary: 'an order, and which instances acknowledged it',
        load: async () => (await import('./log.ts')).orderEvidence,
      },
    },
  },
  witness: {
    summary: 'run a witness, which cosigns checkpoints of logs that only grow',
    load: async () => (await import('./witness.ts')).runWitness,
  },
  invoice: {
    summary: 'invoices of providers',
    commands: {
      check: {
        summary: 'compare an invoice with recorded costs',
        load: async () => (await import('./prices.ts')).checkInvoiceFile,
      },
    },
  },
  deploys: {
    summary: 'deploys, which charts show as markers',
    commands: {
      add: { summary: 'record a deploy', load: async () => (await import('./agents.ts')).addDeploy },
      list: { summary: 'list deploys, newest first', load: async () => (await import('./agents.ts')).listDeploys },
    },
  },
  deliveries: {
    summary: 'deliveries of rule actions',
    commands: {
      list: {
        summary: 'list deliveries, newest first',
        load: async () => (await import('./webhooks.ts')).listDeliveries,
      },
      replay: {
        summary: 'run an action again',
        load: async () => (await import('./webhooks.ts')).replayDelivery,
      },
    },
  },
  channels: {
    summary: 'where people are notified',
    commands: {
      list: {
        summary: 'list channels and their health',
        load: async () => (await import('./channels.ts')).listChannels,
      },
      show: { summary: 'show a channel', load: async () => (await import('./channels.ts')).showChannel },
      set: {
        summary: 'create or replace a channel from a file',
        load: async () => (await import('./channels.ts')).setChannel,
      },
      test: {
        summary: 'send a test and show what the receiver answered',
        load: async () => (await import('./channels.ts')).testChannel,
      },
      link: { summary: 'connect your account of a chat', load: async () => (await import('./channels.ts')).linkChat },
      delete: { summary: 'delete a channel', load: async () => (await import('./channels.ts')).deleteChannel },
    },
  },
  routes: {
    summary: 'which alerts go to which channels',
    commands: {
      show: { summary: 'show the routes', load: async () => (await import('./channels.ts')).showRoutes },
      explain: {
        summary: 'show where an alert with these labels goes, and why',
        load: async () => (await import('./channels.ts')).explainRoutes,
      },
      apply: {
        summary: 'replace the routes with those of a file',
        load: async () => (await import('./channels.ts')).applyRoutes,
      },
    },
  },
  silences: {
    summary: 'times without notices',
    commands: {
      list: { summary: 'list silences', load: async () => (await import('./channels.ts')).listSilences },
      create: {
        summary: 'stop notices about alerts that match',
        load: async () => (await import('./channels.ts')).createSilence,
      },
      end: { summary: 'end a silence now', load: async () => (await import('./channels.ts')).endSilence },
    },
  },
  webhooks: {
    summary: 'webhook endpoints',
    commands: {
      list: {
        summary: 'list webhooks',
        load: async () => (await import('./webhooks.ts')).listWebhooks,
      },
      create: {
        summary: 'create a webhook',
        load: async () => (await import('./webhooks.ts')).createWebhook,
      },
      enable: { summary: 'enable a webhook', load: async () => (await import('./webhooks.ts')).enableWebhook },
      disable: {
        summary: 'disable a webhook',
        load: async () => (await import('./webhooks.ts')).disableWebhook,
      },
      test: {
        summary: 'send a test message',
        load: async () => (await import('./webhooks.ts')).testWebhook,
      },
      deliveries: {
        summary: 'list the messages sent to a webhook and their results',
        load: async () => (await import('./webhooks.ts')).webhookDeliveries,
      },
      'rotate-secret': {
        summary: 'replace the signing secret',
        load: async () => (await import('./webhooks.ts')).rotateWebhookSecret,
      },
      delete: { summary: 'delete a webhook', load: async () => (await import('./webhooks.ts')).deleteWebhook },
    },
  },
  tenants: {
    summary: 'tenants of the platform (requires a platform key)',
    commands: {
      list: { summary: 'list tenants, newest first', load: async () => (await import('./tenants.ts')).listTenants },
      create: {
        summary: 'create a tenant and its first admin key',
        load: async () => (await import('./tenants.ts')).createTenant,
      },
    },
  },
  keys: {
    summary: 'API keys of the tenant',
    commands: {
      list: { summary: 'list keys, without their secrets', load: async () => (await import('./keys.ts')).listKeys },
      create: { summary: 'make a key', load: async () => (await import('./keys.ts')).createKey },
      rotate: { summary: 'replace a key with a new one', load: async () => (await import('./keys.ts')).rotateKey },
      revoke: { summary: 'end a key', load: async () => (await import('./keys.ts')).revokeKey },
    },
  },
  people: {
    summary: 'people who sign in with an identity provider',
    commands: {
      list: { summary: 'list people and their roles', load: async () => (await import('./people.ts')).listPeople },
      disable: {
        summary: 'end every session and key of a person',
        load: async () => (await import('./people.ts')).disablePerson,
      },
      enable: { summary: 'let a person sign in again', load: async () => (await import('./people.ts')).enablePerson },
      grant: {
        summary: 'give a role by hand, or take it away',
        load: async () => (await import('./people.ts')).grantRole,
      },
    },
  },
  deputies: {
    summary: 'people who decide approvals in your place',
    commands: {
      list: {
        summary: 'list your deputies, and those in whose place you decide',
        load: async () => (await import('./deputies.ts')).listDeputies,
      },
      set: { summary: 'name a deputy for some time', load: async () => (await import('./deputies.ts')).setDeputy },
      end: { summary: 'end the time of a deputy', load: async () => (await import('./deputies.ts')).endDeputy },
    },
  },
  'on-call': {
    summary: 'schedules of people on call',
    commands: {
      now: { summary: 'say who is on call and why', load: async () => (await import('./on-call.ts')).whoIsOnCall },
      list: { summary: 'list schedules and overrides', load: async () => (await import('./on-call.ts')).listOnCall },
      override: {
        summary: 'put a person on call for some time',
        load: async () => (await import('./on-call.ts')).overrideOnCall,
      },
    },
  },
  teams: {
    summary: 'teams, which own agents and decide approvals',
    commands: {
      list: { summary: 'list teams', load: async () => (await import('./people.ts')).listTeams },
    },
  },
  access: {
    summary: 'approval policies, mappings of providers and routes as code',
    commands: {
      plan: {
        summary: 'show what a file would change',
        load: async () => (await import('./access.ts')).planAccess,
      },
      apply: { summary: 'make the platform match a file', load: async () => (await import('./access.ts')).applyAccess },
    },
  },
  policies: {
    summary: 'approval policies: who decides which calls',
    commands: {
      list: { summary: 'list policies in order', load: async () => (await import('./people.ts')).listPolicies },
      explain: {
        summary: 'show which policy applies to a call',
        load: async () => (await import('./people.ts')).explainPolicy,
      },
    },
  },
  audit: { summary: 'show who changed what, newest first', load: async () => (await import('./events.ts')).audit },
  settings: {
    summary: 'settings of the tenant',
    commands: {
      show: { summary: 'the settings', load: async () => (await import('./tenants.ts')).showSettings },
      set: { summary: 'change settings', load: async () => (await import('./tenants.ts')).setSettings },
    },
  },
  check: { summary: 'evaluate a tool call against the rules', load: async () => (await import('./check.ts')).check },
  login: {
    summary: 'sign in, and save the address and key as a profile',
    load: async () => (await import('./profiles.ts')).login,
  },
  logout: {
    summary: 'revoke the personal key of a profile, and remove the profile',
    load: async () => (await import('./profiles.ts')).logout,
  },
  whoami: {
    summary: 'show who the platform takes you for',
    load: async () => (await import('./profiles.ts')).whoami,
  },
  profiles: {
    summary: 'saved profiles',
    commands: {
      list: {
        summary: 'list profiles, without their keys',
        load: async () => (await import('./profiles.ts')).listProfiles,
      },
      use: { summary: 'select the current profile', load: async () => (await import('./profiles.ts')).useProfile },
    },
  },
  doctor: {
    summary: 'diagnose the connection, the key, the clock and proxies',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  demo: {
    summary: 'watch an agent misbehave and get stopped',
    load: async () => (await import('./demo/index.ts')).demo,
  },
  'dead-letters': {
    summary: 'messages that no consumer could process (requires NATS)',
    usual: 'list',
    commands: {
      list: {
        summary: 'list dead letters',
        load: async () => (await import('./nats.ts')).listDeadLetters,
      },
      redrive: {
        summary: 'redeliver a dead letter to its group',
        load: async () => (await import('./nats.ts')).redriveDeadLetter,
      },
    },
  },
  backup: {
    summary: 'save database, streams and key of an installation',
    load: async () => (await import('./backup/backup.ts')).backup,
  },
  restore: {
    summary: 'replace the data of an installation with a backup',
    load: async () => (await import('./backup/backup.ts')).restore,
  },
  'streams-save': {
    summary: 'write all streams, for a backup (requires NATS)',
    hidden: true,
    load: async () => (await import('./backup/streams.ts')).saveStreams,
  },
  'streams-load': {
    summary: 'replace the streams by those of a backup (requires NATS)',
    hidden: true,
    load: async () => (await import('./backup/streams.ts')).loadStreams,
  },
  'nats-sub': {
    summary: 'print messages published on a subject (requires NATS)',
    load: async () => (await import('./nats.ts')).natsSub,
  },
  guard: {
    summary: 'coding agents under the rules of the platform',
    commands: {
      setup: {
        summary: 'prepare the platform: starter rules, limits, a key',
        load: async () => (await import('./guard/setup.ts')).setup,
      },
      ...Object.fromEntries(
        GUARDED.map((host) => [
          host,
          { summary: `guard ${host}`, load: async () => (await import('./guard/install.ts')).installOne(host) },
        ]),
      ),
      install: {
        summary: 'guard one or more coding agents',
        load: async () => (await import('./guard/install.ts')).install,
      },
      enforce: {
        summary: 'make the starter rules refuse calls and ask for approvals',
        load: async () => (await import('./guard/enforce.ts')).enforce,
      },
      off: {
        summary: 'remove the guard and restore every file',
        load: async () => (await import('./guard/install.ts')).off,
      },
      status: {
        summary: 'show what is guarded and whether it works',
        load: async () => (await import('./guard/status.ts')).status,
      },
      doctor: {
        summary: 'prove that the installed coding agent obeys',
        load: async () => (await import('./guard/prove.ts')).doctor,
      },
      audit: {
        summary: 'find calls that passed the guard',
        load: async () => (await import('./guard/prove.ts')).audit,
      },
      rules: { summary: 'print the starter rules', load: async () => (await import('./guard/setup.ts')).printRules },
      login: {
        summary: 'save a key where an administrator rolled out the rest',
        load: async () => (await import('./guard/setup.ts')).login,
      },
      stop: { summary: 'end the local process', load: async () => (await import('./guard/install.ts')).stop },
    },
  },
  gateway: {
    summary: 'model calls through the platform, without an SDK',
    commands: {
      connect: {
        summary: 'connect the gateway to a model provider',
        load: async () => (await import('./gateway/connections.ts')).connect,
      },
      list: {
        summary: 'list connections to providers',
        load: async () => (await import('./gateway/connections.ts')).listConnections,
      },
      enable: {
        summary: 'accept calls over a connection again',
        load: async () => (await import('./gateway/connections.ts')).enableConnection,
      },
      disable: {
        summary: 'refuse calls over a connection, and keep its key',
        load: async () => (await import('./gateway/connections.ts')).disableConnection,
      },
      disconnect: {
        summary: 'delete a connection and its key',
        load: async () => (await import('./gateway/connections.ts')).disconnect,
      },
      key: {
        summary: 'create the key that an agent calls models with',
        load: async () => (await import('./gateway/connections.ts')).createModelKey,
      },
      env: {
        summary: 'print the settings of a client',
        load: async () => (await import('./gateway/client-settings.ts')).printClientSettings,
      },
      doctor: {
        summary: 'send a short call over each connection',
        load: async () => (await import('./gateway/check-connections.ts')).checkConnections,
      },
      try: {
        summary: 'show a blocked call and a stopped stream, without a key of a provider',
        load: async () => (await import('./gateway/try-gateway.ts')).tryGateway,
      },
    },
  },
  mcp: { summary: 'run an MCP server on stdin and stdout', load: async () => (await import('./api.ts')).mcp },
  api: { summary: 'send any request to the API', load: async () => (await import('./api.ts')).api },
  completion: {
    summary: 'print a shell completion script',
    load: async () => (await import('./completion.ts')).completion,
  },
  complete: {
    summary: 'print completions for the last word',
    hidden: true,
    load: async () => (await import('./completion.ts')).complete,
  },
};
