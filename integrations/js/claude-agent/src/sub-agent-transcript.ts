import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { LlmResponse } from '@agentlens/sdk';
import { responseOf } from './model-response.ts';
import type { ContentBlock, Usage } from './shapes.ts';

interface Answer {
  readonly model: string;
  readonly usage: Usage;
  readonly blocks: ContentBlock[];
}

/**
 * The model's answers in a sub-agent's transcript. The framework's messages contain only some of them, with the usage of
 * the beginning; the transcript has their exact usage as soon as their tools have run.
 */
export class SubAgentTranscript {
  /** False where the framework runs on another machine, or keeps no transcript. */
  readonly isHere: boolean;
  readonly #path: string | undefined;
  readonly #seen = new Set<string>();
  #offset = 0;
  #rest = '';

  /** `transcript` is the path of the main agent's. */
  constructor(transcript: string | undefined, agentId: string) {
    const folder = transcript?.replace(/\.jsonl$/, '');
    this.#path =
      folder === undefined || !/^[\w-]+$/.test(agentId) ? undefined : `${folder}/subagents/agent-${agentId}.jsonl`;
    this.isHere = this.#path !== undefined && transcript !== undefined && existsSync(dirname(transcript));
  }

  /** The answers since the last time; none where the framework runs on another machine. */
  async read(): Promise<readonly LlmResponse[]> {
    const answers = new Map<string, Answer>();
    for (const line of await this.#lines()) {
      const message = messageOf(line);
      if (message?.id === undefined || message.usage === undefined || this.#seen.has(message.id)) continue;
      const blocks = answers.get(message.id)?.blocks ?? [];
      if (Array.isArray(message.content)) blocks.push(...(message.content as ContentBlock[]));
      answers.set(message.id, { model: message.model ?? 'unknown', usage: message.usage, blocks });
    }
    for (const id of answers.keys()) this.#seen.add(id);
    return [...answers.values()].map(({ model, usage, blocks }) => responseOf(model, usage, blocks));
  }

  async #lines(): Promise<readonly string[]> {
    if (this.#path === undefined) return [];
    let text: string;
    try {
      await using file = await open(this.#path);
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, size - this.#offset)), {
        position: this.#offset,
      });
      this.#offset += bytesRead;
      text = buffer.toString('utf8', 0, bytesRead);
    } catch {
      // Not on this machine: what it would tell is part of the usage at the end of the turn.
      return [];
    }
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}

interface TranscriptMessage {
  readonly id?: string;
  readonly model?: string;
  readonly content?: unknown;
  readonly usage?: Usage;
}

function messageOf(line: string): TranscriptMessage | undefined {
  try {
    const { type, message } = JSON.parse(line) as { readonly type?: string; readonly message?: { role?: string } };
    return type === 'assistant' && message?.role === 'assistant' ? (message as TranscriptMessage) : undefined;
  } catch {
    return undefined;
  }
}
