import type { Json } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import type { ToolResult } from '../core/tool-result.ts';

export const SCHEMA_VERSION = 1;

export type EntryBody =
  | { readonly type: 'message'; readonly message: Message }
  /** A call is about to run: from here on it may have happened. */
  | { readonly type: 'tool-started'; readonly toolUseId: string; readonly name: string; readonly inputHash: string }
  | { readonly type: 'tool-ended'; readonly toolUseId: string; readonly name: string; readonly result: ToolResult }
  | {
      readonly type: 'permission';
      readonly toolUseId: string;
      readonly toolName: string;
      readonly inputHash: string;
      readonly decision: 'allow' | 'deny' | 'ask-user';
      readonly by: string;
    }
  | { readonly type: 'child'; readonly sessionId: string }
  | { readonly type: 'turn-started' | 'turn-ended'; readonly turn: number }
  | { readonly type: 'history-replaced'; readonly messages: readonly Message[] }
  | { readonly type: 'metadata'; readonly key: string; readonly value: Json };

/** One line of a session's history: `seq` counts from 1 without gaps, `at` is an ISO instant. */
export type SessionEntry = { readonly v: 1; readonly seq: number; readonly at: string } & EntryBody;
