/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface SheetProps {
  title: string
  closeLabel: string
  onClose(): void
  children: ComponentChildren
}

/** A sheet over the lower part of the screen, with the button that closes it at its foot. */
export function Sheet({ title, closeLabel, onClose, children }: SheetProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current!.showModal(), [])
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby="sheet-title" onCancel={onClose}>
      <h2 id="sheet-title">{title}</h2>
      {children}
      <button type="button" onClick={onClose}>
        {closeLabel}
      </button>
    </dialog>
  )
}
