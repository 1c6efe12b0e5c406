import { useQueryClient } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import type { Breaker } from '../api/model.ts';
import { shortId } from '../figures/figures.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { useRejection } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';

function nameOf({ scope, scopeId }: Pick<Breaker, 'scope' | 'scopeId'>): string {
  if (scope === 'agent') return scopeId;
  return scope === 'tree' ? `the tree of run ${shortId(scopeId)}` : `run ${shortId(scopeId)}`;
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
