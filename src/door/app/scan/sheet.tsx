/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface SheetProps {
  title: string
  closeLabel: string
  onClose(): void
  children: ComponentChildren
}

/** A sheet over the lower part of the screen, with a close button at its end. */
export function Sheet({ title, closeLabel, onClose, children }: SheetProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  const isReplaced = useRef(false)
  useLayoutEffect(() => {
    const element = dialog.current!
    element.showModal()
    return () => {
      isReplaced.current = true
      // Returns the focus to the element that opened the sheet.
      element.close()
    }
  }, [])
  // The button that opened other contents no longer exists.
  useLayoutEffect(() => {
    if (!dialog.current!.contains(document.activeElement)) heading.current!.focus()
  })
  // Not `cancel`: a browser can close a sheet without that event, for example with a phone's back button. The close
  // event of a replaced sheet arrives later and must not close its successor.
  const close = () => !isReplaced.current && onClose()
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby="sheet-title" onClose={close}>
      <h2 id="sheet-title" ref={heading} tabIndex={-1}>
        {title}
      </h2>
      {children}
      <button type="button" onClick={onClose}>
        {closeLabel}
      </button>
    </dialog>
  )
}
