/** @jsxImportSource preact */
import { useEffect, useState } from 'preact/hooks'
import type { Verdict } from '../../engine/engine.ts'
import { CameraView } from '../camera/camera-view.tsx'
import type { UsedCamera } from '../camera/use-camera.ts'
import { useDoor, useEngineState } from '../context.ts'
import { say } from '../language.ts'
import { Problems } from '../problems.tsx'
import { LockScreen } from './lock-screen.tsx'
import { Overview } from './overview.tsx'
import { SearchSheet } from './search-sheet.tsx'
import { Sheet } from './sheet.tsx'
import { StatusBar } from './status-bar.tsx'
import { type Scanning, useScanning } from './use-scanning.ts'
import { useWakeLock } from './use-wake-lock.ts'
import { VerdictAnnouncement, VerdictView } from './verdict-view.tsx'

type Panel = null | 'search' | 'overview' | 'lock' | { undo: Verdict }

/** Scan after scan: the picture of the camera, above it the verdict, and below it, for the thumb, everything to press. */
export function ScanScreen({ camera }: { camera: UsedCamera }) {
  const { words } = useDoor().language
  const [panel, setPanel] = useState<Panel>(null)
  const scanning = useScanning()
  useWakeLock()
  const close = () => setPanel(null)
  const { shown } = scanning
  // A sheet would hide the verdict; under the lock it is seen, and only that.
  useEffect(() => {
    if (shown) setPanel((open) => (open === 'lock' ? open : null))
  }, [shown])

  return (
    <>
      <main class="scan" inert={panel !== null}>
        <h1 class="unseen">{words.door}</h1>
        {!shown && <StatusBar />}
        {camera.camera && (
          <CameraView camera={camera.camera} onCode={(payload) => void scanning.judge({ payload, method: 'camera' })} />
        )}
        <VerdictAnnouncement verdict={shown} />
        {/* Above a verdict, too: who scans without a pause sees nothing else. That there is no camera bothers no keyboard scanner then. */}
        <Problems {...(!shown && { camera })} />
        {shown ? (
          <VerdictView verdict={shown} scanning={scanning} onUndo={() => setPanel({ undo: shown })} />
        ) : (
          <div class="foot">
            {camera.camera && <p class="hint">{words.ready}</p>}
            <Actions camera={camera} onOpen={setPanel} />
          </div>
        )}
      </main>
      {panel === 'search' && <SearchSheet scanning={scanning} onClose={close} />}
      {panel === 'overview' && <Overview onClose={close} />}
      {panel === 'lock' && <LockScreen onUnlock={close} />}
      {panel !== null && typeof panel === 'object' && (
        <UndoQuestion verdict={panel.undo} scanning={scanning} onClose={close} />
      )}
    </>
  )
}

/** Six buttons that a thumb in a glove meets. */
function Actions({ camera: { camera }, onOpen }: { camera: UsedCamera; onOpen(panel: Panel): void }) {
  const { words } = useDoor().language
  const { recent } = useEngineState()
  const [isLit, setLit] = useState(false)
  const [zoom, setZoom] = useState(1)
  const last = recent.find(({ result, isUndone }) => result === 'accepted' && !isUndone)

  async function switchLight(): Promise<void> {
    await camera?.setTorch(!isLit)
    setLit(!isLit)
  }

  async function turnZoom(): Promise<void> {
    const zooms = camera?.zooms ?? []
    const factor = zooms[(zooms.indexOf(zoom) + 1) % zooms.length] ?? 1
    await camera?.setZoom(factor)
    setZoom(factor)
  }

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

/** Asks before a scan is taken back: a thumb slips. */
function UndoQuestion({ verdict, scanning, onClose }: { verdict: Verdict; scanning: Scanning; onClose(): void }) {
  const { words } = useDoor().language
  const name = verdict.label ?? verdict.externalPassId ?? verdict.payload ?? ''
  const undo = async () => {
    onClose()
    await scanning.undo(verdict)
  }
  return (
    <Sheet title={say(words.undoQuestion, { name })} closeLabel={words.keep} onClose={onClose}>
      <button type="button" class="main" onClick={undo}>
        {words.undo}
      </button>
    </Sheet>
  )
}
