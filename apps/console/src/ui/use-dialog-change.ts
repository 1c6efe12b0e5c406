import { useQueryClient } from '@tanstack/react-query';
import { useRejection } from './field.tsx';
import { toast } from './toast.tsx';

/** Makes the change of a dialog: it closes and everything is refetched, or its fields say what was rejected. */
export function useDialogChange(onClose: () => void) {
  const queries = useQueryClient();
  const rejection = useRejection();
  const act = async (done: string, change: () => Promise<unknown>): Promise<void> => {
    rejection.clear();
    try {
      await change();
      toast(done);
      onClose();
      await queries.invalidateQueries();
    } catch (error) {
      rejection.set(error);
    }
  };
  return { act, rejection };
}
