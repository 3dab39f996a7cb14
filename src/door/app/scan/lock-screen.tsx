/** @jsxImportSource preact */
import { useEffect, useRef, useState } from 'preact/hooks'
import { useDoor } from '../context.ts'

/** Long enough that nobody does it in passing. */
const HOLD_MS = 1200

/** Keeps hands that pass by from everything but scanning; held down, the button gives it back. */
export function LockScreen({ onUnlock }: { onUnlock(): void }) {
  const { words } = useDoor().language
  const [isHeld, setHeld] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => button.current!.focus(), [])
  useEffect(() => {
    if (!isHeld) return
    const timer = setTimeout(onUnlock, HOLD_MS)
    return () => clearTimeout(timer)
  }, [isHeld, onUnlock])
  const release = () => setHeld(false)
  const onKey = (isDown: boolean) => (event: KeyboardEvent) => {
    if (event.key === ' ' || event.key === 'Enter') setHeld(isDown)
  }
  return (
    <div class="lock">
      <button
        ref={button}
        type="button"
        class={isHeld ? 'held' : ''}
        onPointerDown={() => setHeld(true)}
        onPointerUp={release}
        onPointerLeave={release}
        onPointerCancel={release}
        onKeyDown={onKey(true)}
        onKeyUp={onKey(false)}
        onContextMenu={(event) => event.preventDefault()}
      >
        {words.unlock}
      </button>
    </div>
  )
}
