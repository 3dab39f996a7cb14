/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface MainAreaProps {
  class: string
  label: string
  inert?: boolean
  children: ComponentChildren
}

/** The main area of a screen. It takes the focus if the focused element is removed, so that the focus is never lost. */
export function MainArea({ class: name, label, inert = false, children }: MainAreaProps) {
  const main = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    if (document.activeElement === document.body) main.current!.focus({ preventScroll: true })
  })
  return (
    <main ref={main} class={name} aria-label={label} tabIndex={-1} inert={inert}>
      {children}
    </main>
  )
}
