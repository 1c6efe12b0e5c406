import { useQueryClient } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import type { Breaker } from '../api/model.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { useRejection } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';
import { runOfBreaker } from './reasons.ts';

function nameOf(breaker: Pick<Breaker, 'scope' | 'scopeId'>): string {
  if (breaker.scope === 'agent') return breaker.scopeId;
  return `${breaker.scope === 'tree' ? 'the ' : ''}${runOfBreaker(breaker)}`;
}

/** Closes an open breaker, after asking. */
export function ResetDialog({
  breaker,
  onClose,
}: {
  breaker: Pick<Breaker, 'scope' | 'scopeId'>;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const rejection = useRejection();
  const name = nameOf(breaker);
  const reset = async () => {
    rejection.clear();
    try {
      await client.resetBreaker({ params: { scope: breaker.scope, id: breaker.scopeId } });
      await queries.invalidateQueries();
      toast(`The breaker of ${name} is closed`);
      onClose();
    } catch (cause) {
      rejection.set(cause);
    }
  };
  return (
    <Dialog
      title={`Reset the breaker of ${name}?`}
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Keep it open
          </button>
          <button type="button" className="b pri" onClick={() => void reset()}>
            Reset breaker
          </button>
        </>
      }
    >
      <p>Its calls are allowed again and its counts start at zero. If the agent still loops, it opens again.</p>
      <FailureLine>{rejection.besides()}</FailureLine>
    </Dialog>
  );
}
