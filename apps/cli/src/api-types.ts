import type { Client } from '@agentlens/client';

/** What an operation answers, by the operation's id. */
export type AnswerOf<Id extends keyof Client> = Awaited<ReturnType<Client[Id]>>;

export type RuleAnswer = AnswerOf<'getRule'>;
export type RunAnswer = AnswerOf<'listRuns'>['runs'][number];
export type AlertAnswer = AnswerOf<'getAlert'>;
export type DecisionAnswer = AnswerOf<'listDecisions'>['decisions'][number];
export type KeyAnswer = AnswerOf<'listKeys'>['keys'][number];
