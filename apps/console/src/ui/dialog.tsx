import type { ReactNode } from 'react';
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components';

interface DialogProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Buttons: the safe action first. */
  readonly acts: ReactNode;
  readonly wide?: boolean;
}

/** Confirmation dialog. */
export function Dialog({ title, open, onClose, children, acts, wide = false }: DialogProps) {
  return (
    <ModalOverlay className="scrim" isOpen={open} onOpenChange={(isOpen) => !isOpen && onClose()} isDismissable>
      <Modal className={`dlg ${wide ? 'wide' : ''}`}>
        <AriaDialog className="dlg-in">
          <header>
            <Heading slot="title" level={3}>
              {title}
            </Heading>
          </header>
          <div>{children}</div>
          <footer>{acts}</footer>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Buttons of a dialog that creates or changes something: delete, if there is something to delete, cancel and save. */
export function EditActs({
  save,
  isReady = true,
  onSave,
  onClose,
  remove,
}: {
  /** Text of the button, such as "Save team". */
  save: string;
  isReady?: boolean;
  onSave: () => void;
  onClose: () => void;
  remove?: { readonly text: string; readonly title?: string; readonly onPress: () => void } | undefined;
}) {
  return (
    <>
      {remove !== undefined && (
        <>
          <button type="button" className="b danger" title={remove.title} onClick={remove.onPress}>
            {remove.text}
          </button>
          <span className="grow" />
        </>
      )}
      <button type="button" className="b" onClick={onClose}>
        Cancel
      </button>
      <button type="button" className="b pri" aria-disabled={!isReady || undefined} onClick={() => isReady && onSave()}>
        {save}
      </button>
    </>
  );
}
