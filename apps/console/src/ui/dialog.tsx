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
