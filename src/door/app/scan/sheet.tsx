/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface SheetProps {
  title: string
  closeLabel: string
  onClose(): void
  children: ComponentChildren
}

/** A sheet over the lower part of the screen, with the button that closes it at its foot. */
export function Sheet({ title, closeLabel, onClose, children }: SheetProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  const isReplaced = useRef(false)
  useLayoutEffect(() => {
    const element = dialog.current!
    element.showModal()
    return () => {
      isReplaced.current = true
      // The focus goes back to what opened it.
      element.close()
    }
  }, [])
  // The button that led to other contents is gone.
  useLayoutEffect(() => {
    if (!dialog.current!.contains(document.activeElement)) heading.current!.focus()
  })
  // Not cancel: a browser may close a sheet, such as by the way back of a phone, without asking first. One that another sheet
  // has replaced is told of its end later, and must not close that.
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
