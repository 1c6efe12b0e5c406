import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Rule } from '../api/model.ts';
import { Act } from '../ui/act.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { ReasonField, useRejection } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';

interface RuleChangeDialogProps {
  readonly rule: Rule;
  readonly title: string;
  /** Word of the button. */
  readonly verb: string;
  readonly kind?: string;
  readonly done: string;
  readonly children?: ReactNode;
  /** Sends the change. `headers` override the ruleset of the rule, with the reason. */
  readonly change: (reason: string | undefined, headers: Readonly<Record<string, string>>) => Promise<unknown>;
  readonly onClose: () => void;
  readonly onDone?: () => void;
}

/** Asks for a reason and changes a rule. A rule of a ruleset is overridden, which needs the reason. */
export function RuleChangeDialog({ rule, title, verb, done, change, onClose, ...rest }: RuleChangeDialogProps) {
  const { kind = 'pri', children, onDone } = rest;
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const rejection = useRejection();
  const given = reason.trim();
  const submit = async () => {
    setBusy(true);
    rejection.clear();
    try {
      await change(given === '' ? undefined : given, overrideHeaders(rule, given));
      await queries.invalidateQueries();
      toast(done);
      onClose();
      onDone?.();
    } catch (error) {
      rejection.set(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Cancel
          </button>
          <Act
            scope="admin"
            kind={kind}
            disabled={busy || (rule.ruleset !== undefined && given === '')}
            onPress={() => void submit()}
          >
            {verb}
          </Act>
        </>
      }
    >
      <div className="kd">
        {children}
        {rule.ruleset !== undefined && (
          <p>
            The files of the ruleset <b>{rule.ruleset}</b> manage this rule. The change overrides them until they are
            applied again; <code>agentlens rules plan</code> shows the difference.
          </p>
        )}
        <ReasonField
          label={rule.ruleset === undefined ? 'Reason (optional)' : 'Reason'}
          value={reason}
          wrong={rejection.at('reason') ?? rejection.at('x-agentlens-override')}
          onChange={setReason}
        />
        <FailureLine>{rejection.besides('reason', 'x-agentlens-override')}</FailureLine>
      </div>
    </Dialog>
  );
}

/** Headers that override the ruleset of a rule. They carry ASCII; other letters take the extended form of RFC 8187. */
function overrideHeaders({ ruleset }: Rule, reason: string): Readonly<Record<string, string>> {
  if (ruleset === undefined) return {};
  const isPlain = /^[\x20-\x7e]*$/.test(reason);
  return { 'x-agentlens-override': isPlain ? reason : `UTF-8''${encodeURIComponent(reason)}` };
}
