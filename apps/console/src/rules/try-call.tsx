import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { client } from '../api/client.ts';
import { problemOf } from '../api/problem.ts';
import { State, VERDICTS } from '../ui/marks.tsx';
import { bodyOf, type Draft } from './draft.ts';

/** A call a draft is tried on. */
export interface TrialCall {
  readonly agentId: string;
  readonly toolName?: string | undefined;
  readonly args: unknown;
  /** The run whose earlier calls count as history. */
  readonly runId?: string | undefined;
  readonly before?: string | undefined;
}

const WORDS = {
  allow: VERDICTS.allow,
  block: VERDICTS.block,
  ask: VERDICTS.ask,
  terminate: VERDICTS.terminate,
  modify: VERDICTS.modify,
};

/** What the draft as typed would say of one call; nothing is stored or counted. */
export function TryCall({ draft, call, valid }: { draft: Draft; call: TrialCall | undefined; valid: boolean }) {
  const [agentId, setAgentId] = useState(call?.agentId ?? draft.agentId ?? 'my-agent');
  const [toolName, setToolName] = useState(call?.toolName ?? draft.toolNames?.[0] ?? 'my_tool');
  const [args, setArgs] = useState(JSON.stringify(call?.args ?? {}, null, 2));
  const test = useMutation({
    mutationFn: () =>
      client.testRule({
        body: {
          draft: bodyOf({ ...draft, name: draft.name.trim() || 'unnamed' }, 'shadow'),
          call: {
            agentId,
            toolName,
            args: JSON.parse(args) as unknown,
            ...(call?.runId === undefined ? {} : { runId: call.runId, before: call.before }),
          },
        },
      }),
  });
  const { mutate } = test;
  const key = JSON.stringify(draft);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a real step is tried again whenever the draft changes
  useEffect(() => {
    if (call !== undefined && valid) mutate();
  }, [key, valid]);
  const answer = test.data;
  return (
    <div className="bt tryc">
      {call?.runId !== undefined && (
        <p className="hint">A real step: the calls of its run before it count as its history.</p>
      )}
      <label className="field">
        <span className="lab">Agent</span>
        <input className="in" value={agentId} onChange={(event) => setAgentId(event.target.value)} />
      </label>
      <label className="field">
        <span className="lab">Tool</span>
        <input className="in mono" value={toolName} onChange={(event) => setToolName(event.target.value)} />
      </label>
      <label className="field">
        <span className="lab">Arguments, as JSON</span>
        <textarea
          className={`in mono ${isJson(args) ? '' : 'err'}`}
          rows={7}
          spellCheck={false}
          value={args}
          onChange={(event) => setArgs(event.target.value)}
        />
        {!isJson(args) && <span className="hint bad">This is not JSON yet.</span>}
      </label>
      <div className="btns">
        <button
          type="button"
          className="b"
          aria-disabled={!valid || !isJson(args) || undefined}
          onClick={() => valid && isJson(args) && mutate()}
        >
          Try it
        </button>
      </div>
      <div role="status" className="trial">
        {test.error !== null && <p className="hint bad">{problemOf(test.error).message}</p>}
        {answer?.asked === false && <p className="t2">{answer.why}</p>}
        {answer?.asked === true && (
          <>
            <State mark={WORDS[answer.effect ?? 'allow']} fill />
            <p className="plain">
              {answer.matched
                ? `The agent would receive: “${answer.message}”`
                : answer.bypass === undefined
                  ? 'The condition does not hold for this call.'
                  : `It could not be evaluated (${answer.bypass.why}); its setting is to ${answer.bypass.did}.`}
            </p>
          </>
        )}
      </div>
    </div>
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The field says so.
    return false;
  }
}
