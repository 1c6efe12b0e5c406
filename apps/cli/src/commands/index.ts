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
      validate: { summary: 'ask whether a rule would be accepted', load: () => import('./rules/validate.ts') },
      enable: { summary: 'switch a rule on', load: () => import('./rules/enable.ts') },
      disable: { summary: 'switch a rule off', load: () => import('./rules/disable.ts') },
      delete: { summary: 'delete a rule', load: () => import('./rules/delete.ts') },
      history: { summary: 'when rules fired and what their actions did', load: () => import('./rules/history.ts') },
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
  kill: { summary: 'end a run, an agent, or all of the tenant', load: () => import('./kill.ts') },
  pause: { summary: 'pause a run, an agent, or all of the tenant', load: () => import('./pause.ts') },
  resume: { summary: 'resume a run, an agent, or all of the tenant', load: () => import('./resume.ts') },
  login: { summary: 'keep an address and a key as a profile', load: () => import('./login.ts') },
  logout: { summary: 'remove a profile', load: () => import('./logout.ts') },
  profiles: {
    summary: 'kept addresses and keys',
    commands: {
      list: { summary: 'the profiles, without their keys', load: () => import('./profiles/list.ts') },
      use: { summary: 'choose the profile to use', load: () => import('./profiles/use.ts') },
    },
  },
  api: { summary: 'send any request to the API', load: () => import('./api.ts') },
};
