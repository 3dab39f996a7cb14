/** @jsxImportSource preact */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { DoorGroup } from '../../../core/contract/schemas/scan-shapes.ts'
import type { Decision } from '../../engine/engine.ts'
import { type CameraControls, type UsedCamera, useControls } from '../camera/camera.ts'
import { CameraView } from '../camera/camera-view.tsx'
import { now, useDoor, useEngineState } from '../door-context.ts'
import { say } from '../language.ts'
import { MainArea } from '../main-area.tsx'
import { Problems } from '../problems.tsx'
import { DecisionAnnouncement, DecisionView, isEntry } from './decision-view.tsx'
import { Overview } from './overview.tsx'
import { GroupSheet, SearchSheet, Sheet } from './sheets.tsx'
import { type Scanning, useScanning } from './use-scanning.ts'
import { OwnZoneLine, ZoneAnnouncement } from './zone-line.tsx'
import { CountSheet, DirectionSheet, ZoneSheet } from './zone-sheets.tsx'

type Panel =
  | null
  | 'search'
  | 'overview'
  | 'lock'
  | 'direction'
  | 'count'
  | 'zone'
  | { undo: Decision }
  | { group: DoorGroup; canLetIn: boolean }

/**
 * The scan screen: the camera, with the buttons below it, within reach of the thumb. A decision covers the camera and
 * replaces the buttons.
 */
export function ScanScreen({ camera }: { camera: UsedCamera }) {
  const { words } = useDoor().language
  const [panel, setPanel] = useState<Panel>(() => (wasLocked() ? 'lock' : null))
  // Use a layout effect to store the lock before it is visible. Otherwise, a reload could lose the lock.
  useLayoutEffect(() => storeLock(panel === 'lock'), [panel])
  const scanning = useScanning()
  const controls = useControls(camera.camera)
  useWakeLock()
  const close = () => setPanel(null)
  const question = typeof panel === 'object' ? panel : null
  const { shown } = scanning
  // When there is a new decision, close the open sheet, because it would hide the decision. Keep the lock, which does
  // not hide it.
  useEffect(() => {
    if (shown) setPanel((open) => (open === 'lock' ? open : null))
  }, [shown])

  return (
    <>
      {/* Keep this outside the area that the lock hides from screen readers. */}
      <DecisionAnnouncement decision={shown} />
      <ZoneAnnouncement />
      {/* Make the area inert under the lock. For a sheet, the browser does this. */}
      <MainArea class="scan" label={words.door} inert={panel === 'lock'}>
        <h1 class="unseen">{words.door}</h1>
        {!shown && <StatusBar />}
        {camera.camera && (
          <CameraView
            camera={camera.camera}
            onCode={(payload) => void scanning.evaluate({ payload, method: 'camera' })}
          />
        )}
        {/* Show problems also above a decision, since an operator who scans without a pause sees only decisions. Omit a missing camera there: an operator without a camera scans with a scanner. */}
        <Problems {...(!shown && { camera })} />
        {shown ? (
          <DecisionView
            key={`${shown.externalRef} ${shown.readAt}`}
            decision={shown}
            scanning={scanning}
            onUndo={() => setPanel({ undo: shown })}
            onGroup={(group) => setPanel({ group, canLetIn: isEntry(shown) })}
          />
        ) : (
          <div class="foot">
            {scanning.isSlow ? (
              <p class="hint slow">{words.checking}</p>
            ) : (
              camera.camera && <p class="hint">{words.ready}</p>
            )}
            <Actions controls={controls} onOpen={setPanel} />
          </div>
        )}
      </MainArea>
      {panel === 'search' && <SearchSheet scanning={scanning} onClose={close} />}
      {panel === 'overview' && <Overview onClose={close} />}
      {panel === 'direction' && <DirectionSheet onClose={close} />}
      {panel === 'count' && <CountSheet onClose={close} />}
      {panel === 'zone' && <ZoneSheet onDone={close} onClose={close} />}
      {panel === 'lock' && <LockScreen onUnlock={close} />}
      {question && 'undo' in question && <UndoQuestion decision={question.undo} scanning={scanning} onClose={close} />}
      {question && 'group' in question && <GroupSheet {...question} scanning={scanning} onClose={close} />}
    </>
  )
}

/** The buttons of the screen, large enough for gloves: up to six, and up to two more in a zone. */
function Actions({ controls, onOpen }: { controls: CameraControls; onOpen(panel: Panel): void }) {
  const { words } = useDoor().language
  const { recent, door, problems } = useEngineState()
  const isExitDeleted = problems.some(({ code }) => code === 'exit_deleted')
  const { camera, isLit, zoom, switchLight, turnZoom } = controls
  const last = recent.find(({ result, isUndone }) => result === 'accepted' && !isUndone)

  return (
    <div class="actions">
      <button type="button" onClick={() => onOpen('search')}>
        {words.search}
      </button>
      {last && (
        <button type="button" onClick={() => onOpen({ undo: last })}>
          {words.undo}
        </button>
      )}
      <button type="button" onClick={() => onOpen('overview')}>
        {words.overview}
      </button>
      {isExitDeleted && (
        <button type="button" class="switch" onClick={() => onOpen('zone')}>
          {words.zones.change}
        </button>
      )}
      {door?.movement && !isExitDeleted && (
        <>
          <button type="button" onClick={() => onOpen('count')}>
            {words.zones.count}
          </button>
          <button type="button" class="switch" onClick={() => onOpen('direction')}>
            {door.movement.direction === 'in' ? words.zones.toOut : words.zones.toIn}
          </button>
        </>
      )}
      {camera?.hasTorch && (
        <button type="button" aria-pressed={isLit} onClick={switchLight}>
          {words.light}
        </button>
      )}
      {camera && camera.zooms.length > 1 && (
        <button type="button" onClick={turnZoom}>
          {words.zoom} ×{zoom}
        </button>
      )}
      <button type="button" onClick={() => onOpen('lock')}>
        {words.lock}
      </button>
    </div>
  )
}

function UndoQuestion({ decision, scanning, onClose }: { decision: Decision; scanning: Scanning; onClose(): void }) {
  const { words } = useDoor().language
  const name = decision.label ?? decision.externalPassId ?? decision.payload ?? ''
  const undo = async () => {
    onClose()
    await scanning.undo(decision)
  }
  return (
    <Sheet
      title={say(decision.direction === 'out' ? words.undoExitQuestion : words.undoQuestion, { name })}
      closeLabel={words.keep}
      onClose={onClose}
    >
      <button type="button" class="main" onClick={undo}>
        {words.undo}
      </button>
    </Sheet>
  )
}

const LOCKED = 'locked'

function wasLocked(): boolean {
  return localStorage.getItem(LOCKED) !== null
}

function storeLock(isLocked: boolean): void {
  try {
    if (isLocked) localStorage.setItem(LOCKED, 'yes')
    else localStorage.removeItem(LOCKED)
  } catch {
    // Ignore full storage: the lock works, but does not survive a reload.
  }
}

/** The time to hold the unlock button, in milliseconds. It is too long for an accidental touch. */
const HOLD_MS = 1200

/** Blocks everything except scanning. Holding the button down unlocks the page. */
function LockScreen({ onUnlock }: { onUnlock(): void }) {
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

function StatusBar() {
  const { words, number, clock, ago } = useDoor().language
  const state = useEngineState()
  const { door, connection, offlineSince, list, loading, pending, counts } = state
  const connections = {
    online: words.online,
    unknown: words.connecting,
    offline: say(words.offline, { time: offlineSince ? clock(offlineSince) : '' }),
  }
  return (
    <header class={`status ${connection}`}>
      <OwnZoneLine />
      <p class="place">
        <b>
          <bdi>{door?.gate || door?.name}</bdi>
        </b>{' '}
        <span class="state">{connections[connection]}</span>
      </p>
      <p>
        <span>
          ✔ {words.accepted} {number(counts.accepted)}
        </span>{' '}
        <span>
          ✘ {words.turnedAway} {number(counts.turnedAway)}
        </span>{' '}
        {counts.left > 0 && (
          <span>
            ↩ {words.letOut} {number(counts.left)}
          </span>
        )}{' '}
        {pending > 0 && <b>{say(words.pending, { count: number(pending) })}</b>}
      </p>
      <p>
        {loading !== null && say(words.loading, { count: number(loading) })}
        {loading === null && list === null && words.noList}
        {loading === null &&
          list !== null &&
          connection === 'offline' &&
          say(words.list, { count: number(list.size), age: ago(list.generatedAt, now(state)) })}
      </p>
    </header>
  )
}

function useWakeLock(): void {
  useEffect(() => {
    let lock: WakeLockSentinel | undefined
    let isOver = false
    const hold = async () => {
      if (document.visibilityState !== 'visible') return
      // Ignore a rejection: the phone can refuse the wake lock to save battery, and the door works without the lock.
      lock = await navigator.wakeLock?.request('screen').catch(() => undefined)
      if (isOver) await lock?.release()
    }
    // Request the wake lock again when the page is shown, because the phone releases it whenever the page is hidden.
    document.addEventListener('visibilitychange', hold)
    void hold()
    return () => {
      isOver = true
      document.removeEventListener('visibilitychange', hold)
      void lock?.release()
    }
  }, [])
}
