/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { DoorGroup } from '../../../core/contract/schemas/scan-shapes.ts'
import { MAX_GROUP_SHOWN } from '../../../core/rules/door/group-at-door.ts'
import type { Candidate } from '../../../core/rules/door/outcome.ts'
import type { GateFailure } from '../../engine/engine.ts'
import { useDoor } from '../door-context.ts'
import { type AppLanguage, say } from '../language.ts'
import type { Scanning } from './use-scanning.ts'

interface SheetProps {
  title: string
  /** The text of the button that closes the sheet; "Close" by default. */
  closeLabel?: string
  onClose(): void
  children: ComponentChildren
}

export function Sheet({ title, closeLabel, onClose, children }: SheetProps) {
  const { words } = useDoor().language
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  const isReplaced = useRef(false)
  useLayoutEffect(() => {
    const element = dialog.current!
    element.showModal()
    return () => {
      isReplaced.current = true
      // Close the dialog, so that the focus returns to the element that opened the sheet.
      element.close()
    }
  }, [])
  // If the focused element was removed with the previous contents, move the focus to the heading.
  useLayoutEffect(() => {
    if (!dialog.current!.contains(document.activeElement)) heading.current!.focus()
  })
  // Listen to `close` instead of `cancel`, because the back button of a phone can close a sheet without a `cancel`
  // event. Ignore the event of a replaced sheet: it arrives later, and would close the next sheet.
  const close = () => !isReplaced.current && onClose()
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby="sheet-title" onClose={close}>
      <h2 id="sheet-title" ref={heading} tabIndex={-1}>
        {title}
      </h2>
      {children}
      <button type="button" onClick={onClose}>
        {closeLabel ?? words.close}
      </button>
    </dialog>
  )
}

/** Moves this door to another gate. This needs the server. */
export function GateSheet({ gate, onDone, onClose }: { gate: string; onDone(): void; onClose(): void }) {
  const { engine, language } = useDoor()
  const { words } = language
  const [text, setText] = useState(gate)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<GateFailure | null>(null)

  async function save(event: Event): Promise<void> {
    event.preventDefault()
    const wanted = text.trim()
    if (wanted === '' || isBusy) return
    setBusy(true)
    const failed = await engine.moveTo(wanted)
    setBusy(false)
    setFailure(failed)
    if (!failed) onDone()
  }

  return (
    <Sheet title={words.changeGate} onClose={onClose}>
      <div role="alert">
        {failure && (
          <p class="problem">{say(words.claim.failures[failure.code], { message: failure.message ?? null })}</p>
        )}
      </div>
      <form onSubmit={save}>
        <label>
          {words.gate}
          <input autofocus value={text} maxLength={100} onInput={({ currentTarget }) => setText(currentTarget.value)} />
        </label>
        <button type="submit" class="main" aria-busy={isBusy}>
          {words.save}
        </button>
      </form>
    </Sheet>
  )
}

interface GroupSheetProps {
  group: DoorGroup
  /** Whether other members can be admitted. Always false after an exit. */
  canLetIn: boolean
  scanning: Scanning
  onClose(): void
}

/** Returns the state of a group: the number of members inside or, without a zone, the number of admitted members. */
export function groupText({ used, size, inside }: DoorGroup, words: AppLanguage['words']): string {
  if (!inside) return say(words.group, { used, size })
  // Show a + if the list of members has reached its maximum length, because more members can be inside.
  const isCut = inside.length === MAX_GROUP_SHOWN && size > MAX_GROUP_SHOWN
  return say(`${words.zones.inside}: {count}`, { count: `${inside.length}${isCut ? '+' : ''} / ${size}` })
}

/**
 * The members of a group who are inside, and those who can still be admitted: one by one, or all of them after a
 * confirmation that lists them.
 */
export function GroupSheet({ group, canLetIn, scanning, onClose }: GroupSheetProps) {
  const { inside = [] } = group
  const open = canLetIn ? group.open : []
  const { words } = useDoor().language
  const [isConfirming, setConfirming] = useState(false)
  const letIn = (members: DoorGroup['open']) => {
    onClose()
    void scanning.letIn(members)
  }
  const all = say(words.letInAll, { count: open.length })

  if (isConfirming) {
    return (
      <Sheet title={say(words.letInAllQuestion, { count: open.length })} onClose={onClose}>
        <Names label={words.letInOthers} people={open} />
        <button type="button" class="main" onClick={() => letIn(open)}>
          {all}
        </button>
      </Sheet>
    )
  }
  return (
    <Sheet title={groupText(group, words)} onClose={onClose}>
      {inside.length > 0 && <Names label={words.zones.inside} people={inside} />}
      {inside.length > 0 && open.length > 0 && <h3>{words.letInOthers}</h3>}
      <Candidates candidates={open} onChoose={(passId) => letIn(open.filter((member) => member.passId === passId))} />
      {open.length > 1 && (
        <button type="button" onClick={() => setConfirming(true)}>
          {all}
        </button>
      )}
    </Sheet>
  )
}

/** The maximum number of results, which is about as many as a screen with a keyboard shows. */
const MOST = 20

/** Finds a person in the stored list of passes by name, or evaluates a typed code. */
export function SearchSheet({ scanning, onClose }: { scanning: Scanning; onClose(): void }) {
  const { engine, language } = useDoor()
  const { words } = language
  const [text, setText] = useState('')
  const [found, setFound] = useState<Candidate[] | null>(null)

  useEffect(() => {
    let isOver = false
    const wanted = text.trim()
    const search = wanted === '' ? Promise.resolve(null) : engine.search(wanted, MOST)
    search.then((candidates) => {
      if (!isOver) setFound(candidates)
    })
    return () => {
      isOver = true
    }
  }, [engine, text])

  async function check(event: Event): Promise<void> {
    event.preventDefault()
    const payload = text.trim()
    if (payload === '') return
    onClose()
    await scanning.evaluate({ payload, method: 'typed' })
  }

  async function choose(passId: string): Promise<void> {
    onClose()
    await scanning.evaluate({ passId, method: 'chosen' })
  }

  return (
    <Sheet title={words.search} onClose={onClose}>
      <div role="status">{found?.length === 0 && <p>{words.nobody}</p>}</div>
      {found && found.length > 0 && <Candidates candidates={found} onChoose={choose} />}
      <form onSubmit={check}>
        <label>
          {words.searchField}
          <input
            value={text}
            // Move the focus here: with the focus on the heading, a typed name would be taken for a scanned code.
            autofocus
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            enterkeyhint="go"
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <button type="submit" class="main">
          {words.check}
        </button>
      </form>
    </Sheet>
  )
}

export function Candidates({
  candidates,
  onChoose,
}: {
  candidates: readonly (Pick<Candidate, 'passId' | 'label' | 'externalPassId'> & Partial<Candidate>)[]
  onChoose(passId: string): void
}) {
  return (
    <ul class="candidates">
      {candidates.map(({ passId, label, externalPassId, templateName }) => (
        <li key={passId}>
          <button type="button" onClick={() => onChoose(passId)}>
            <bdi>{label}</bdi>
            <small>
              <bdi>{[templateName, externalPassId].filter(Boolean).join(' · ')}</bdi>
            </small>
          </button>
        </li>
      ))}
    </ul>
  )
}

function Names({ label, people }: { label: string; people: DoorGroup['open'] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <ul class="scrolls names" tabIndex={0} aria-label={label}>
      {people.map(({ passId, label: name }) => (
        <li key={passId}>
          <bdi>{name}</bdi>
        </li>
      ))}
    </ul>
  )
}
