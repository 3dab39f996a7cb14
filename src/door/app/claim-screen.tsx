/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import type { ClaimFailure } from '../engine/engine.ts'
import { useDoor } from './door-context.ts'
import { say } from './language.ts'
import { MainArea } from './main-area.tsx'
import { Problems } from './problems.tsx'

interface ClaimScreenProps {
  /** The invitation code that the page was opened with. */
  invitation: string | null
  onDone(): void
  /** Whether the phone already is a door and can remain this door. */
  canKeep: boolean
}

/** A screen that turns the phone into a door with one button. Without an invitation, it explains how to get one. */
export function ClaimScreen({ invitation, onDone, canKeep }: ClaimScreenProps) {
  const { engine, language } = useDoor()
  const { words } = language
  const [name, setName] = useState(() => `${words.claim.phone} ${10 + Math.floor(Math.random() * 90)}`)
  const [typed, setTyped] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<ClaimFailure | null>(null)
  const [dead, setDead] = useState<string | null>(null)
  // Ignore an invitation that turned out to be invalid. The operator can open or enter another one.
  const opened = invitation === dead ? null : invitation
  const code = opened ?? codeOf(typed)

  async function claim(event: Event): Promise<void> {
    event.preventDefault()
    if (code === null || isBusy) return
    setBusy(true)
    setFailure(null)
    const failed = await engine.claim(code, name.trim() || words.claim.phone)
    setBusy(false)
    setFailure(failed)
    if (failed && isDead(failed)) setDead(invitation)
    if (!failed) onDone()
  }

  return (
    <MainArea class="screen" label={words.claim.title}>
      <h1>{words.claim.title}</h1>
      <p>{opened === null ? words.claim.noCode : words.claim.hint}</p>
      <form class="foot" onSubmit={claim}>
        <Problems />
        <div role="alert">
          {failure && (
            <p class="problem">{say(words.claim.failures[failure.code], { message: failure.message ?? null })}</p>
          )}
        </div>
        {opened === null && (
          <label>
            {words.claim.code}
            <input value={typed} onInput={({ currentTarget }) => setTyped(currentTarget.value)} autocomplete="off" />
          </label>
        )}
        <label>
          {words.claim.phoneName}
          <input value={name} maxLength={100} onInput={({ currentTarget }) => setName(currentTarget.value)} />
        </label>
        {/* Never disable this button, because users would not know the reason. */}
        <button type="submit" class="main" aria-busy={isBusy}>
          {words.claim.submit}
        </button>
        {canKeep && (
          <button type="button" onClick={onDone}>
            {words.close}
          </button>
        )}
      </form>
    </MainArea>
  )
}

/** Whether this phone can never use the invitation. */
function isDead({ code }: ClaimFailure): boolean {
  return code === 'used_up' || code === 'ended' || code === 'unknown_code'
}

/**
 * Returns the code of the invitation that the page was opened with, or `null`. Removes the code from the address
 * immediately, so that neither the history nor bystanders see it.
 */
export function takeInvitation(): string | null {
  const code = codeOf(location.hash)
  if (location.hash !== '') history.replaceState(history.state, '', location.pathname + location.search)
  return code
}

/** Returns the code in an invitation link, or the code itself. Returns `null` if there is none. */
function codeOf(text: string): string | null {
  const code = text.slice(text.indexOf('#') + 1).trim()
  return code === '' ? null : code
}
