import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Alert } from '../api/model.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { ReasonField, useRejection } from '../ui/field.tsx';
import { Countdown } from '../ui/moment.tsx';
import { toast } from '../ui/toast.tsx';
import { LongText } from './call-part-view.tsx';
import type { CallToDecide } from './use-call.ts';

export type Verb = 'approve' | 'deny';

interface ConfirmProps {
  readonly verb: Verb;
  readonly alert: Alert;
  readonly call: CallToDecide;
  readonly onClose: () => void;
  readonly onDecided: () => void;
}

/** Confirmation that repeats the call. */
export function ConfirmDecision({ verb, alert, call, onClose, onDecided }: ConfirmProps) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const rejection = useRejection();
  const [isTried, setIsTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const tool = visibleName(alert.approval?.toolName ?? 'the call');
  const decide = async () => {
    setBusy(true);
    rejection.clear();
    try {
      const act = verb === 'approve' ? client.approveAlert : client.denyAlert;
      const { status } = await act({
        params: { id: alert.id },
        body: reason.trim() === '' ? {} : { reason: reason.trim() },
      });
      const isOpen = status === 'pending' || status === 'acknowledged';
      if (isOpen) toast('Your approval is recorded. The policy needs more.');
      else toast(`${tool} ${verb === 'approve' ? 'approved once' : 'denied'}`);
      if (!isOpen) onDecided();
      onClose();
      await queries.invalidateQueries();
    } catch (cause) {
      rejection.set(cause);
      setBusy(false);
    }
  };
  const noReason = verb === 'deny' && reason.trim() === '';
  return (
    <Dialog
      title={verb === 'approve' ? 'Approve this call once?' : 'Deny this call?'}
      open
      onClose={onClose}
      acts={
        <>
          {alert.expiresAt !== undefined && (
            <span className="t3 ml-auto num">
              <Countdown until={alert.expiresAt} /> left
            </span>
          )}
          <button type="button" className="b" onClick={onClose}>
            Back
          </button>
          <button
            type="button"
            className={`b ${verb === 'approve' ? 'pri' : 'danger solid'}`}
            aria-disabled={busy || noReason || undefined}
            onClick={() => {
              setIsTried(true);
              if (!busy && !noReason) void decide();
            }}
          >
            {verb === 'approve' ? 'Approve once' : `Deny ${tool}`}
          </button>
        </>
      }
    >
      <div className="kd">
        <LongText label="The call" text={`${tool} ${textOf(call)}`} />
        <ReasonField
          label={verb === 'approve' ? 'Note (optional)' : 'Reason; the agent reads this'}
          value={reason}
          focused={verb === 'deny'}
          hint={noReason && !isTried ? 'To deny the call, say why.' : undefined}
          wrong={isTried && noReason ? 'Enter a reason.' : rejection.at('reason')}
          onChange={setReason}
        />
        <FailureLine>{rejection.besides('reason')}</FailureLine>
      </div>
    </Dialog>
  );
}

/** One line per argument with quoted values, so that a value cannot look like another argument. */
function textOf({ args: { value, text } }: CallToDecide): string {
  return value === undefined ? (text ?? '') : JSON.stringify(value, null, 2);
}
