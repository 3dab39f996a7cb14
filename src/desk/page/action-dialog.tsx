/** @jsxImportSource preact */
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { DeskWords } from '../../locales/desk-texts.ts'
import {
  type Action,
  type ActionName,
  actions,
  type Field,
  isPermitted,
  normalizeInput,
  type Outcome,
  type TargetOf,
} from '../live/actions.ts'
import { ApiRejection, type HistoryEntry } from '../live/desk-api.ts'
import { problemOf } from '../live/problems.ts'
import { signInAddress } from '../live/session.ts'
import { type OpenAction, useDesk } from './desk-context.ts'
import { Command, Foreign, Moment } from './parts.tsx'

interface ActionButtonProps<N extends ActionName> {
  name: N
  target: TargetOf<N>
  /** The name of the action's target, which the dialog shows. */
  of: string
  projectId: string | null
}

/** Returns a function that checks whether an action is permitted. Without a session, no action is permitted. */
export function useCanAct(): (name: ActionName, projectId: string | null) => boolean {
  const { acting } = useDesk()
  return (name, projectId) => acting !== null && isPermitted(name, acting.grants, projectId)
}

/** A button that opens the dialog of an action, if the roles of the person permit the action. */
export function ActionButton<N extends ActionName>({ name, target, of, projectId }: ActionButtonProps<N>) {
  const { acting, language } = useDesk()
  const button = useRef<HTMLButtonElement>(null)
  // If this button is removed while it has the focus, move the focus, so that the page keeps a focused element.
  useLayoutEffect(() => () => void (document.activeElement === button.current && focusView()), [])
  if (!useCanAct()(name, projectId)) return null
  const text = language.words.actions[name].name
  return (
    <button ref={button} type="button" aria-label={`${text}: ${of}`} onClick={() => acting!.open({ name, target, of })}>
      {text}
    </button>
  )
}

function focusView(): void {
  const view = document.querySelector<HTMLElement>('h2.pass') ?? document.querySelector('main')
  view?.focus()
}

/** Moves the focus to the first field of a dialog, or to its main button. */
function focusNext(dialog: HTMLDialogElement): void {
  const control = dialog.querySelector<HTMLElement>('input, textarea') ?? dialog.querySelector<HTMLElement>('.main')
  control?.focus()
}

type State =
  | { is: 'open' | 'undone' }
  | { is: 'done'; outcome: Outcome }
  | { is: 'conflict'; changes: { field: Field; now: string }[]; by: HistoryEntry[] }

export function ActionDialog({ opened, onClose }: { opened: OpenAction; onClose(): void }) {
  const { acting, api, feed, language, onTokenRejected } = useDesk()
  const { words } = language
  // The cast is safe, because the name of an action determines the type of its target.
  const action = actions[opened.name] as Action<unknown>
  const texts = words.actions[opened.name]
  const [target, setTarget] = useState(opened.target)
  const [state, setState] = useState<State>({ is: 'open' })
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<{ text: string; detail: string; isSignedOut: boolean } | null>(null)
  const [requestId] = useState(() => crypto.randomUUID())
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const fields = action.fields?.(target, words) ?? []
  const isEnded = state.is === 'done' || state.is === 'undone'

  useLayoutEffect(() => dialog.current!.showModal(), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: each of these changes can remove or disable the focused control.
  useLayoutEffect(() => {
    if (!isBusy && !dialog.current!.contains(document.activeElement)) focusNext(dialog.current!)
  }, [isBusy, state])

  function close(): void {
    // If the action removed the button that opened the dialog, the browser cannot return the focus, so move the focus.
    const focused = document.activeElement
    if (focused === document.body || dialog.current?.contains(focused)) focusView()
    onClose()
  }

  async function attempt(work: () => Promise<State>): Promise<void> {
    setProblem(null)
    setBusy(true)
    try {
      await acting!.renew()
      setState(await work())
    } catch (error) {
      const isSignedOut = error instanceof ApiRejection && error.status === 401
      if (isSignedOut) onTokenRejected()
      setProblem({ ...problemOf(error, words), isSignedOut })
    }
    setBusy(false)
    feed.reload()
  }

  async function run(values: Record<string, string>): Promise<State> {
    try {
      return { is: 'done', outcome: (await action.run({ api, target, values, requestId })) ?? {} }
    } catch (error) {
      if (!(error instanceof ApiRejection && error.code === 'PRECONDITION_FAILED' && action.reload)) throw error
      const reloaded = await action.reload(api, target)
      const now = action.fields!(reloaded.target, words)
      setTarget(reloaded.target)
      const before = new Map(fields.map((field) => [field.name, field.value]))
      const changes = now
        .filter(({ name, value }) => before.get(name) !== value)
        .map((field) => ({ field: { ...field, value: before.get(field.name) ?? '' }, now: field.value ?? '' }))
      return { is: 'conflict', changes, by: reloaded.by }
    }
  }

  function submit(event: SubmitEvent): void {
    event.preventDefault()
    const data = new FormData(event.currentTarget as HTMLFormElement)
    void attempt(() => run(Object.fromEntries([...data].map(([name, value]) => [name, normalizeInput(String(value))]))))
  }

  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      aria-describedby={state.is === 'open' ? `${id}-ask` : undefined}
      onClose={close}
      onCancel={(event) => isBusy && event.preventDefault()}
    >
      <h2 id={id}>
        {texts.name}: <Foreign>{opened.of}</Foreign>
      </h2>
      <div role="status">
        {state.is === 'done' && <p>{texts.done}</p>}
        {state.is === 'undone' && <p>{words.undone}</p>}
      </div>
      <div role="alert">
        {problem !== null && (
          <>
            <p class="problem">{problem.text}</p>
            {problem.detail !== '' && (
              <p class="muted" lang="en" dir="ltr">
                {problem.detail}
              </p>
            )}
            {problem.isSignedOut && (
              <a href={signInAddress()} target="_blank" rel="noopener" class="button">
                {words.signIn}
              </a>
            )}
          </>
        )}
        {state.is === 'conflict' && <Conflict {...state} words={words} />}
      </div>
      {state.is === 'done' && state.outcome.link && (
        <>
          <Command text={state.outcome.link} />
          <QrCode text={state.outcome.link} />
        </>
      )}
      {state.is === 'conflict' && (
        <div class="choices">
          <button type="button" onClick={() => dialog.current!.close()}>
            {words.cancel}
          </button>
          <button type="button" class="main" onClick={() => setState({ is: 'open' })}>
            {words.reload}
          </button>
        </div>
      )}
      {state.is === 'open' && (
        <form class="fields" onSubmit={submit}>
          <p id={`${id}-ask`}>{texts.ask}</p>
          {fields.map((field) => (
            <Input key={field.name} field={field} />
          ))}
          <div class="choices">
            <button type="button" onClick={() => dialog.current!.close()} disabled={isBusy}>
              {words.cancel}
            </button>
            <button type="submit" class="main" disabled={isBusy} aria-busy={isBusy}>
              {texts.name}
            </button>
          </div>
        </form>
      )}
      {isEnded && (
        <div class="choices">
          {state.is === 'done' && state.outcome.undo && (
            <button
              type="button"
              disabled={isBusy}
              onClick={() => attempt(() => state.outcome.undo!().then(() => ({ is: 'undone' })))}
            >
              {words.undo}
            </button>
          )}
          <button type="button" class="main" onClick={() => dialog.current!.close()}>
            {words.close}
          </button>
        </div>
      )}
    </dialog>
  )
}

/** The QR code of a link, for the camera of a phone next to the screen. */
function QrCode({ text }: { text: string }) {
  const { api } = useDesk()
  const [svg, setSvg] = useState<string | null>(null)
  useEffect(() => {
    // Show only the link if the code cannot be drawn.
    api.drawQr(text).then(
      (drawn) => setSvg(drawn.svg),
      () => undefined,
    )
  }, [api, text])
  return svg && <img class="qr" alt="QR" src={`data:image/svg+xml,${encodeURIComponent(svg)}`} />
}

function Input({ field: { name, label, kind, value = '', isRequired, ...bounds } }: { field: Field }) {
  const id = useId()
  return (
    <div>
      <label for={id}>
        <Foreign>{label}</Foreign>
      </label>
      {kind === 'text' ? (
        <textarea id={id} name={name} rows={4} dir="auto" required={isRequired}>
          {value}
        </textarea>
      ) : (
        <input
          id={id}
          name={name}
          type={kind === 'number' ? 'number' : 'text'}
          step="any"
          {...bounds}
          dir="auto"
          defaultValue={value}
          required={isRequired || kind === 'number'}
          autocomplete="off"
        />
      )}
    </div>
  )
}

interface ConflictProps {
  changes: { field: Field; now: string }[]
  by: HistoryEntry[]
  words: DeskWords
}

/** Shows who changed the target since the dialog was opened, and the fields that changed. */
function Conflict({ changes, by, words }: ConflictProps) {
  return (
    <>
      <p class="problem">{words.changedMeanwhile}</p>
      <dl class="facts">
        {changes.map(({ field: { name, label, value }, now }) => (
          <div key={name}>
            <dt>
              <Foreign>{label}</Foreign>
            </dt>
            <dd>
              <del>
                <Foreign>{value}</Foreign>
              </del>{' '}
              <ins>
                <Foreign>{now}</Foreign>
              </ins>
            </dd>
          </div>
        ))}
      </dl>
      {by.map(({ id, actor, at }) => (
        <p key={id} class="muted">
          <Foreign>{actor}</Foreign> · <Moment at={at} />
        </p>
      ))}
    </>
  )
}
